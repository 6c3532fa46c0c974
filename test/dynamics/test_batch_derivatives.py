"""Derivatives of batches: against CasADi's own, central differences, and through JAX."""

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.batch import BatchSimulator, DifferentiableStep, jax_step
from rolling_dynamics.compiled import compiler
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.plugin import plugins
from rolling_dynamics.simulation.guards import in_mode, projection
from rolling_dynamics.simulation.stepper import runge_kutta
from rolling_robotics.named_system import named_system

QUICK = ('point_mass_disk', 'spin_rolling_sphere')  # for the compiler
SYSTEMS = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
    for name, plugin in sorted(plugins().items())
    if plugin.example
]
H = 1e-3
pytestmark = pytest.mark.skipif(compiler() is None, reason='no C compiler')


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    monkeypatch.setenv('ROLLING_COMPILE', 'now')


def lanes_of(name, size):
    """Return a system, and states, controls and parameters near those of its example."""
    system, p, x = named_system(name)[:3]
    rng = np.random.default_rng(len(name))
    scale = 0.02 * np.concatenate([np.full(e.size, e.scale) for e in system.tangent.entries])
    moves = scale[:, None] * rng.normal(size=(scale.size, size))
    x = np.array(system.retract.map(size)(np.tile(x, (size, 1)).T, moves)).T
    p = p * rng.uniform(0.98, 1.02, (size, p.size))
    return system, x, 0.5 * rng.normal(size=(size, system.control.size)), p


def casadi_step(system):
    """Return a step of CasADi, ``(x, u, t, p) -> x``."""
    mode = next(iter(system.modes))
    dynamics = system.modes[mode].dynamics
    x, u, t, p = dynamics.mx_in()
    end = runge_kutta(dynamics, x, u, t, ca.MX(H), p)[1]
    return ca.Function('step', [x, u, t, p], [projection(in_mode(system, mode))(end, p)])


@pytest.mark.parametrize('name', SYSTEMS)
def test_adjoints_are_those_of_casadi(name):
    size, steps = 3, 4
    system, x, u, p = lanes_of(name, size)
    times = np.linspace(0, 1, size)
    weights = np.random.default_rng(1).normal(size=x.shape)
    step = casadi_step(system)
    state, *rest = given = step.mx_in()
    for k in range(steps):
        state = step(state, rest[0], rest[1] + k * H, rest[2])
    w = ca.MX.sym('w', system.state.size)
    pulled = ca.jtimes(state, ca.vertcat(*given), w, True)
    truth = ca.Function('truth', [*given, w], [state, pulled])
    batch = DifferentiableStep(system, steps * H)
    found = batch.vjp(x, u, p, weights, times)
    rows = np.column_stack([found.x, found.u, found.t, found.p])
    for k, end in enumerate(batch.step(x, u, p, times)):
        expected, adjoint = (
            np.array(a).ravel() for a in truth(x[k], u[k], times[k], p[k], weights[k])
        )
        np.testing.assert_allclose(end, expected, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(rows[k], adjoint, rtol=1e-9, atol=1e-12 * abs(adjoint).max())


def test_jacobians_are_central_differences_of_the_batch_simulator():
    system, x, u, p = lanes_of('point_mass_disk', 2)
    a, b = DifferentiableStep(system, 0.01).linearise(x, u, p)
    unwatched = dict.fromkeys(next(iter(system.modes.values())).guards, 'ignore')

    def ends(given):
        batch = BatchSimulator(system, len(given), 0.01, events=unwatched)
        batch.reset(states=given[:, : x.shape[1]], parameters=p[1])
        batch.step(given[:, x.shape[1] :])
        return batch.states.copy()

    given = np.concatenate([x[1], u[1]])
    off = 1e-5 * np.eye(given.size)
    difference = (ends(given + off) - ends(given - off)).T / 2e-5
    np.testing.assert_allclose(np.hstack([a[1], b[1]]), difference, atol=1e-8)


def test_size_place_and_threads_change_no_bit():
    system, x, u, p = lanes_of('point_mass_disk', 150)
    weights = np.ones(system.state.size)
    all_ = DifferentiableStep(system, 5e-3, threads=2).vjp(x, u, p, weights)
    some = DifferentiableStep(system, 5e-3, threads=1).vjp(x[77:80], u[77:80], p[77:80], weights)
    for many, few in zip(all_, some, strict=True):
        np.testing.assert_array_equal(many[77:80], few)


@pytest.mark.parametrize(
    ('misuse', 'text'),
    [
        (lambda s: DifferentiableStep(s, 0.0), 'dt must be positive'),
        (lambda s: DifferentiableStep(s, 1.0, mode='roling'), 'mode: none .*rolling'),
        (lambda s: DifferentiableStep(s, 1e-3).step([1.0], [1.0], [1.0]), r'x takes shape .*11'),
    ],
)
def test_misuse_is_told(misuse, text):
    with pytest.raises(ParameterError, match=text):
        misuse(named_system('point_mass_disk').system)


@pytest.fixture
def jax():
    """Double precision, as it was before afterwards."""
    module = pytest.importorskip('jax')
    with module.enable_x64(True):
        yield module


@pytest.mark.slow  # CasADi's part takes seconds
def test_gradient_by_jax_through_1000_steps(jax):
    """Against forward sensitivities of CasADi to 1e-9 and central differences to 1e-6."""
    steps, name = 1000, 'point_mass_disk'
    system, (x,), (u,), (p,) = lanes_of(name, 1)
    weights = np.random.default_rng(2).normal(size=system.state.size)
    step = jax_step(system, H)

    def loss(x, u, p):
        end = jax.lax.scan(lambda x, _: (step(x, u, p), None), x, length=steps)[0]
        return weights @ end

    found = np.concatenate(jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(x, u, p))
    one = casadi_step(system)
    given = np.concatenate([x, u, p])
    v = ca.MX.sym('v', given.size)
    held = ca.vertsplit(v, np.cumsum([0, x.size, u.size, p.size]).tolist())
    chain = one.mapaccum(steps)(held[0], ca.repmat(held[1], 1, steps), 0, held[2])
    end = ca.Function('end', [v], [ca.DM(weights).T @ chain[:, -1]])
    sensitivity = end.forward(given.size)
    truth = np.array(sensitivity(given, end(given), np.eye(given.size))).ravel()
    np.testing.assert_allclose(found, truth, rtol=1e-9, atol=1e-9 * abs(truth).max())
    off = 1e-6 * np.diag(np.maximum(abs(given), 0.1))
    difference = [float(end(given + d) - end(given - d)) / (2 * d.max()) for d in off]
    np.testing.assert_allclose(found, difference, atol=1e-6 * abs(truth).max())


def test_jax_maps_motions_and_names_other_shapes(jax):
    system, x, u, p = lanes_of('spin_rolling_sphere', 13)
    step, batch = jax_step(system, 5e-3), DifferentiableStep(system, 5e-3)
    many = jax.jit(jax.vmap(step))(x, u, p, np.arange(13.0))
    np.testing.assert_array_equal(many, batch.step(x, u, p, np.arange(13.0)))
    a = jax.vmap(jax.jacrev(step))(x, u, p)
    np.testing.assert_array_equal(a, batch.linearise(x, u, p)[0])
    with pytest.raises(ParameterError, match=r'u takes shape .*, got \(13'):
        step(x[0], u, p[0])


def test_jax_in_single_precision_is_refused(jax):
    with jax.enable_x64(False), pytest.raises(ParameterError, match='double precision'):
        jax_step(named_system('spin_rolling_sphere').system, 1e-3)
