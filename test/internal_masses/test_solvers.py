"""The solvers on the heavy top and on Suslov's problem, and the DAE form of the rolling ball."""

from types import SimpleNamespace

from ball_dae import simulate_dae
import casadi as ca
from evidence.papers import disk_and_ball
import numpy as np
import pytest
from rolling_dynamics.contract.rolling_system import Layout, Mode, vector_entry
from rolling_dynamics.errors import SimulationError
from rolling_dynamics.simulation import simulate


class Equations:
    """The least that the integrator needs of a system."""

    name, independent_variable = 'test', 'time'

    def __init__(self, names, rate):
        self.state = Layout(tuple(vector_entry(n, '') for n in names))
        self.control, self.parameters = Layout(()), Layout(())
        x, t = ca.SX.sym('x', self.state.size), ca.SX.sym('t')
        u, p = ca.SX.sym('u', 0), ca.SX.sym('p', 0)
        parts = ca.vertsplit(x, 3)
        f = ca.Function('dynamics', [x, u, t, p], [ca.densify(rate(t, *parts))])
        self.modes = {'only': Mode(dynamics=f)}


INERTIA = np.array([0.8, 0.8, 0.5])


def heavy_top(inertia, mgl):
    """Eq. (A.16)."""
    J, chi = ca.DM(inertia), ca.DM([0, 0, 1.0])

    def rate(_, w, G):
        return ca.vertcat((ca.cross(J * w, w) + mgl * ca.cross(G, chi)) / J, ca.cross(G, w))

    return Equations(('Omega', 'Gamma'), rate)


@pytest.mark.parametrize(
    'method', ['DOP853', pytest.param('Radau', marks=pytest.mark.slow), 'LSODA']
)
def test_heavy_top(method):
    """Lagrange's top keeps energy, I.Gamma momentum, spin and |Gamma|."""
    top, mgl = heavy_top(INERTIA, 1.7), 1.7
    x0 = np.array([0.5, -0.2, 6.0, 0.3, 0.1, np.sqrt(1 - 0.1)])
    tr = simulate(top, [], x0, None, 10.0, method=method, rtol=1e-11, atol=1e-12)
    w, G = tr.states[:, :3], tr.states[:, 3:]
    kept = np.column_stack(
        [
            (INERTIA * w * w).sum(1) / 2 + mgl * G[:, 2],
            (INERTIA * w * G).sum(1),
            w[:, 2],
            (G * G).sum(1),
        ]
    )
    assert np.abs(kept - kept[0]).max() < 2e-8


def test_steady_precession():
    """A Lagrange top in steady precession: I1 a^2 cos - I3 w3 a + mgl = 0, tilt constant."""
    I1, _, I3 = INERTIA
    mgl, tilt, a = 1.7, 0.4, 0.9
    w3 = (I1 * a * a * np.cos(tilt) + mgl) / (I3 * a)
    x0 = np.array([a * np.sin(tilt), 0, w3, np.sin(tilt), 0, np.cos(tilt)])
    tr = simulate(heavy_top(INERTIA, mgl), [], x0, None, 20.0)
    assert np.abs(tr.states[:, 5] - np.cos(tilt)).max() < 1e-12


def test_suslov():
    """Eq. (A.36) with xi fixed along E3 of a full inertia, against the closed solution (tanh)."""
    J = np.array([[1.0, 0.0, 0.25], [0.0, 1.2, 0.0], [0.25, 0.0, 0.9]])
    xi = ca.DM([0, 0, 1.0])
    Ji = ca.DM(np.linalg.inv(J))

    def rate(_, w):
        turn = ca.cross(ca.DM(J) @ w, w)
        lam = -ca.dot(turn, Ji @ xi) / ca.dot(xi, Ji @ xi)  # (A.37), xi constant
        return Ji @ (turn + lam * xi)

    start = np.array([0.6, -1.1, 0.0])
    tr = simulate(Equations(('Omega',), rate), [], start, None, 15.0)
    # I11 w1' = -I13 w1 w2, I22 w2' = I13 w1^2: w1^2 I11 + w2^2 I22 = 2E
    I11, I22, I13 = J[0, 0], J[1, 1], J[0, 2]
    E2 = I11 * start[0] ** 2 + I22 * start[1] ** 2
    top = np.sqrt(E2 / I22)
    rate2 = I13 * top / I11
    shift = np.arctanh(start[1] / top)
    w2 = top * np.tanh(rate2 * tr.times + shift)
    w1 = np.sqrt(E2 / I11) / np.cosh(rate2 * tr.times + shift)
    assert np.abs(tr.states[:, 1] - w2).max() < 1e-10
    assert np.abs(tr.states[:, 0] - w1).max() < 1e-10
    assert np.abs(tr.states[:, 2]).max() < 1e-12


def test_suslov_with_a_moving_axis():
    """Eq. (A.38), xi(t): the constraint <Omega, xi> = 0 stays."""
    J = ca.DM(np.diag([1.0, 1.2, 0.9]))

    def axis(t):
        return ca.vertcat(0.3 * ca.sin(t), 0.2, 1.0)

    def rate(t, w):
        xi, Ji = axis(t), ca.inv(J)
        turn = ca.cross(J @ w, w)
        lam = -(ca.dot(w, ca.jacobian(xi, t)) + ca.dot(turn, Ji @ xi)) / ca.dot(xi, Ji @ xi)
        return Ji @ (turn + lam * xi)

    tr = simulate(Equations(('Omega',), rate), [], [0.6, -1.0, 0.2], None, 20.0)
    miss = [x @ [0.3 * np.sin(t), 0.2, 1.0] for t, x in zip(tr.times, tr.states, strict=True)]
    assert np.abs(miss).max() < 1e-10


@pytest.fixture(scope='module')
def runs():
    ex = disk_and_ball.ball()
    given = ex.system, ex.p, ex.x0, ex.control.simplest
    ode = simulate(*given, 20.0, events={}, rtol=1e-12, atol=1e-13)
    return SimpleNamespace(given=given, ode=ode, dae=simulate_dae(*given, 20.0, tolerance=1e-11))


def test_dae_agrees_with_the_ode(runs):
    """Eq. (6.5) with the largest component algebraic against Eq. (6.4), over 20 s."""
    apart = runs.dae.states - runs.ode.state_at(runs.dae.times)
    assert np.abs(apart).max() < 2e-7
    q = runs.dae.states[:, runs.given[0].state.slice('q_WB')]
    assert np.abs(np.linalg.norm(q, axis=1) - 1).max() < 1e-9
    assert len(set(runs.dae.algebraic.tolist())) >= 3  # it is changed on the way
    largest = np.abs(q[:-1]).argmax(axis=1)
    assert np.array_equal(largest, runs.dae.algebraic)


@pytest.mark.slow
def test_printed_dae_fails_where_q0_vanishes(runs):
    """q0 of the paper's own ball changes its sign; (6.5) as printed does not get past it."""
    t = np.linspace(0, 20, 4001)
    q0 = runs.ode.state_at(t)[:, 6]
    zero = t[np.flatnonzero(np.diff(np.sign(q0)))[0]]
    assert zero == pytest.approx(9.2066, abs=2e-3)
    with pytest.raises(SimulationError, match=r'q_0 as its algebraic component fails after t = 9'):
        simulate_dae(*runs.given, 20.0, tolerance=1e-10, algebraic=0)
