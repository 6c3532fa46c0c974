"""No masses: the printed special cases (2.21)-(2.23), (4.5)-(4.7), (B.16), (B.20)."""

from mass_driven_newton_euler import rotation
import numpy as np
import pytest
from rolling_dynamics.internal_masses.ball import PointMassBall, PointMassDisk
from rolling_dynamics.internal_masses.masses import RailMass
from rolling_dynamics.internal_masses.rails import Circle, Spline
from rolling_dynamics.simulation import simulate

m, r, g = 1.4, 0.8, 9.81
FORCE = np.array([0.7, -0.4, 0.9])


def hat(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


@pytest.mark.parametrize('seed', range(5))
def test_ball(seed):
    """(2.21), (2.22), (2.23) in rolling, (B.16) in flight, as printed."""
    rng = np.random.default_rng(seed)
    d, chi = np.array([0.5, 0.6, 0.7]), rng.uniform(-0.3, 0.3, 3)
    q, w = rng.normal(size=4), rng.normal(size=3)
    q /= np.linalg.norm(q)
    L = rotation(q)
    Gamma, F = L.T @ [0, 0, 1], L.T @ FORCE
    s0, spin = r * Gamma + chi, np.cross(w, d * w)
    twice = np.cross(w, np.cross(w, chi))
    turn = np.linalg.solve(
        m * hat(s0) @ hat(s0) - np.diag(d),
        spin + r * np.cross(F, Gamma) + m * np.cross(s0, g * Gamma + twice),
    )  # (2.21)
    inner = np.cross(turn, s0) + twice
    N = m * (g + inner @ Gamma) - FORCE[2]  # (2.22)
    friction = (m * L @ inner - FORCE)[:2]  # (2.23)
    ball = PointMassBall(force=FORCE.tolist(), unilateral=True)
    p = ball.pack_parameters(mass=m, inertia=d, radius=r, centre_of_mass=chi)
    x = ball.state.pack(q_WB=q, w_WB_B=w, p_WB=[0, 0, r], v_WB_W=np.cross(L @ w, [0, 0, r]))
    rate = ball.state.unpack(np.array(ball.modes['rolling'].dynamics(x, [], 0, p)).ravel())
    force = np.array(ball.modes['rolling'].wrench(x, [], 0, p)).ravel()[3:]
    assert rate['w_WB_B'] == pytest.approx(turn, rel=1e-12, abs=1e-12)
    assert force == pytest.approx([*friction, N], rel=1e-12, abs=1e-12)
    flying = (-spin + np.cross(F, chi)) / d  # (B.16)
    centre = FORCE / m - [0, 0, g] - L @ (np.cross(flying, chi) + twice)
    rate = ball.state.unpack(np.array(ball.modes['separated'].dynamics(x, [], 0, p)).ravel())
    assert rate['w_WB_B'] == pytest.approx(flying, rel=1e-12, abs=1e-12)
    assert rate['v_WB_W'] == pytest.approx(centre, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize('seed', range(5))
def test_disk(seed):
    """(4.5), (4.6), (4.7) in rolling, (B.20) in flight, as printed."""
    rng = np.random.default_rng(seed)
    d2, (z1, z3), phi, w = 0.5, rng.uniform(-0.3, 0.3, 2), rng.uniform(-3, 3), rng.normal()
    s, c, (F1, _, F3) = np.sin(phi), np.cos(phi), FORCE
    a = (m * (g + r * w * w) * (z3 * s - z1 * c) - r * F1) / (
        d2 + m * ((r * s + z1) ** 2 + (r * c + z3) ** 2)
    )  # (4.5)
    N = m * (g - (a * z3 + w * w * z1) * s + (a * z1 - w * w * z3) * c) - F3  # (4.6)
    f = -(m * (r * a + (a * z3 + w * w * z1) * c + (a * z1 - w * w * z3) * s) + F1)  # (4.7)
    disk = PointMassDisk(force=FORCE.tolist(), unilateral=True)
    p = disk.pack_parameters(mass=m, polar_inertia=d2, radius=r, centre_of_mass=[z1, z3])
    x = disk.state.pack(phi=phi, phi_rate=w, p_WB=[0, r], v_WB_W=[-r * w, 0])
    rate = disk.state.unpack(np.array(disk.modes['rolling'].dynamics(x, [], 0, p)).ravel())
    force = np.array(disk.modes['rolling'].wrench(x, [], 0, p)).ravel()[3:]
    assert rate['phi_rate'] == pytest.approx(a, rel=1e-12)
    assert force == pytest.approx([f, 0, N], rel=1e-12)
    a = (F1 * m * (z1 * s + z3 * c) - F3 * m * (z1 * c - z3 * s)) / (m * d2)  # (B.20)
    x1 = F1 / m + c * (a * z3 + w * w * z1) + s * (a * z1 - w * w * z3)
    x3 = F3 / m - g + s * (a * z3 + w * w * z1) - c * (a * z1 - w * w * z3)
    rate = disk.state.unpack(np.array(disk.modes['separated'].dynamics(x, [], 0, p)).ravel())
    assert rate['phi_rate'] == pytest.approx(a, rel=1e-12)
    assert rate['v_WB_W'] == pytest.approx([x1, x3], rel=1e-12)


@pytest.mark.slow
def test_spline_rail_moves_as_the_circle():
    """A ball with a mass on a spline through a circle rolls as with the circle itself."""
    theta, ends = np.linspace(0, 2 * np.pi, 97), []
    circle = Circle(0.5, (0.05, 0, 0.02))
    for rail in (circle, Spline(circle.points(theta[:-1]), closed=True, theta=theta)):
        ball = PointMassBall([RailMass(1.0, rail)])
        p = ball.pack_parameters(mass=1.0, inertia=[0.3, 0.35, 0.4], radius=0.8)
        x0 = ball.state.pack(
            theta=[-1.2],
            theta_rate=[2.0],
            q_WB=[0.8, 0.6, 0, 0],
            w_WB_B=[0.3, 0.5, -0.2],
            p=[0, 0],
        )
        ends.append(simulate(ball, p, x0, np.array([0.5]), 3.0, rtol=1e-10, atol=1e-12).states[-1])
    assert ends[1] == pytest.approx(ends[0], abs=1e-7)
