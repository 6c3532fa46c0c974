"""What controls can move and what they cannot, and the linearisation about an equilibrium."""

import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_controller.balance.hold import BalanceLqr
from rolling_controller.balance.kalman_decomposition import kalman_decomposition
from rolling_controller.time_varying_lqr import LqrWeights
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.equilibrium import linear_model
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.surfaces import Ellipsoid, Plane, Sphere
from rolling_planner.laboratory.laboratory import FLAT, Laboratory, UPRIGHT
from scipy.linalg import expm

WEIGHTS = LqrWeights(
    tracking={
        'd_WH': 10,
        'p_WH': 100,
        'd_HO': 100,
        'contact_h': 1000,
        'w_WH_H': 0.1,
        'v_WH_H': 1,
        'w_HO_H': 1,
    },
    terminal={},
    control=[0.1] * 3 + [1.0] * 3,
)


def hidden_blocks(seed, controlled=5, rest=3):
    """Return A, B of a known controllable size, in random coordinates, and the rest's rates."""
    rng = np.random.default_rng(seed)
    n = controlled + rest
    A = rng.normal(size=(n, n))
    A[controlled:, :controlled] = 0
    B = np.zeros((n, 2))
    B[:controlled] = rng.normal(size=(controlled, 2))
    rates = np.linalg.eigvals(A[controlled:, controlled:])
    T = rng.normal(size=(n, n))
    return T @ A @ np.linalg.inv(T), T @ B, rates


@pytest.mark.parametrize('seed', range(4))
def test_hidden_blocks_are_found(seed):
    A, B, rates = hidden_blocks(seed)
    d = kalman_decomposition(A, B, [f'x{k}' for k in range(8)])
    assert d.V.shape == (8, 5)
    assert_allclose(np.sort_complex(d.rest_rates), np.sort_complex(rates), atol=1e-8)
    assert d.coupling == 0
    # w' = A_rest w whatever the control, and z' = A z + B e: nothing leaks
    assert_allclose(d.take_W @ B, 0, atol=1e-10)
    assert_allclose(d.take_W @ A, d.A_rest @ d.take_W, atol=1e-8)
    assert_allclose(d.take_V @ A, d.A @ d.take_V, atol=1e-8)
    assert_allclose(d.V @ d.take_V + d.W @ d.take_W, np.eye(8), atol=1e-9)


def test_everything_controllable():
    A, B = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]])
    d = kalman_decomposition(A, B, ['x', 'v'])
    assert d.describe() == []
    assert d.is_stabilizable


def test_in_the_plane_the_rolled_length_is_kept():
    """du_h = R dbeta with R the radius of curvature of the ellipse at the contact."""
    lab = Laboratory.of_paper()
    system, p = lab.model()
    a, b = lab.semi_axes
    for beta, radius in ((UPRIGHT, b * b / a), (FLAT, a * a / b)):
        linear = linear_model(system, p, lab.rest(beta), np.zeros(3))
        d = kalman_decomposition(linear.A, linear.B, system.tangent.names)
        assert d.describe() == [f'-{radius:.4g} d_HO_y + u_h']
        assert_allclose(d.rest_rates, 0, atol=1e-9)
        rates = np.linalg.eigvals(d.A)
        known = lab.equilibrium_rate(upright=beta == UPRIGHT)
        found = rates.real.max() if beta == UPRIGHT else np.abs(rates.imag).max()
        assert_allclose(found, known, rtol=1e-6)


def at_rest(system, q_HO=(1, 0, 0, 0)):
    zero = np.zeros(3)
    return system.state.pack(
        q_WH=[1, 0, 0, 0],
        p_WH=zero,
        q_HO=q_HO,
        contact_h=[0, 0],
        w_WH_H=zero,
        v_WH_H=zero,
        w_HO_H=zero,
    )


@pytest.mark.parametrize('body', ['ball', 'ellipsoid'])
def test_in_space_spin_and_rolled_lengths_are_taken_out(body):
    radius = 0.05
    if body == 'ball':
        system = ContactSystem(Sphere(radius), Plane())
        p = system.pack_parameters(mass=0.2, inertia=0.4 * 0.2 * radius**2)
        radii = radius, radius
    else:
        system = ContactSystem(Ellipsoid(0.05, 0.06, 0.08), Plane())
        p = system.pack_parameters(mass=0.3, inertia=[3e-4, 4e-4, 5e-4])
        radii = 0.05**2 / 0.08, 0.06**2 / 0.08  # of curvature below, along x and y
    linear = linear_model(system, p, at_rest(system), np.zeros(6))
    d = kalman_decomposition(linear.A, linear.B, system.tangent.names)
    assert sorted(d.describe()) == sorted(
        [
            'w_WH_H_z + w_HO_H_z',  # the object's spin in the world: no torque reaches it
            'd_WH_z + d_HO_z',
            f'{radii[1]:.4g} d_HO_x + v_h',
            f'-{radii[0]:.4g} d_HO_y + u_h',
        ]
    )
    assert d.V.shape == (20, 16)
    assert d.is_stabilizable


def test_linear_model_against_differences_of_the_motion():
    """expm of (A, B) against finite differences of a fixed-step simulation."""
    lab = Laboratory.of_paper()
    system, p = lab.model()
    x, h, step = lab.rest(UPRIGHT, 0.01), 2e-3, 1e-5
    linear = linear_model(system, p, x, np.zeros(3))
    n = system.tangent.size
    exact = expm(np.block([[linear.A, linear.B], [np.zeros((3, n + 3))]]) * h)
    stepper = Stepper(system, p)
    for k in range(n + 3):
        d, u = np.zeros(n), np.zeros(3)
        (d if k < n else u)[k % n if k < n else k - n] = step
        starts = (np.array(system.retract(x, s * d)).ravel() for s in (1, -1))
        ends = [stepper.step(y, s * u, h) for y, s in zip(starts, (1, -1), strict=True)]
        slope = np.array(system.difference(*ends)).ravel() / (2 * step)
        assert_allclose(slope, exact[:n, k], atol=1e-8)


def test_what_cannot_be_balanced_is_refused_by_name():
    system = ContactSystem(Ellipsoid(0.05, 0.06, 0.08), Plane())
    p = system.pack_parameters(mass=0.3, inertia=[3e-4, 4e-4, 5e-4])
    with pytest.raises(ParameterError, match=r'cannot be balanced.*grows.*w_HO_H_x'):
        # motions in the plane x-z alone do not keep it from falling sideways
        BalanceLqr(
            system,
            p,
            at_rest(system),
            weights=WEIGHTS,
            active_controls=('alpha_WH_H_y', 'a_WH_H_x', 'a_WH_H_z'),
        )
    lab = Laboratory.of_paper()
    model, q = lab.model()
    with pytest.raises(ParameterError, match='no equilibrium: the rate of w_HO_H_y'):
        BalanceLqr(model, q, lab.rest(0.3))
    with pytest.raises(ParameterError, match='weight'):
        BalanceLqr(model, q, lab.rest(UPRIGHT), weights=LqrWeights(tracking={}, terminal={}))
