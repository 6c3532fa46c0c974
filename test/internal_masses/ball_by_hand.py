"""
Equations of a ball with internal point masses: rolling, flight, contact force.

Source: Putkaradze & Rogers (normal force), Sections 2, 3 and Appendix B. Vectors are in the body
frame unless named otherwise; the body's origin is the geometric centre, and the first mass point
is the shell with its centre of mass at chi_0. Gravity is a vector: Lambda^-1 gravity stands for
-g Gamma of the paper, so that the plane may be inclined.
"""

from __future__ import annotations

import casadi as ca
from rolling_dynamics.internal_masses.equations import BallState
from rolling_dynamics.mechanism.mass import MovingPoint
from rolling_dynamics.rotations import skew, solve_3x3


def bias(state: BallState, point: MovingPoint) -> ca.SX:
    """Return Omega x (Omega x chi + 2 chi') + chi'', the acceleration that needs no unknown."""
    inner = ca.cross(state.Omega, point.place) + 2 * point.rate
    return ca.cross(state.Omega, inner) + point.acceleration


def rolling_acceleration(state: BallState) -> ca.SX:
    """Return dOmega/dt of rolling without slipping, Eqs. (2.20), (3.2); (2.21) without masses."""
    rGamma = state.radius * state.Gamma
    matrix = -state.inertia
    right = ca.cross(state.Omega, state.inertia @ state.Omega)
    right += ca.cross(state.R_WB.T @ state.force_W, rGamma)
    for p in state.points:
        s = rGamma + p.place
        matrix += p.mass * skew(s) @ skew(s)
        right += p.mass * ca.cross(s, bias(state, p) - state.gravity)
    return solve_3x3(matrix, right)


def contact_force(state: BallState, Omega_dot: ca.SX) -> ca.SX:
    """
    Return the force of the ground on a rolling ball in W [N]: friction, friction, N.

    Eqs. (2.10), (2.11), (2.16), (3.3), (3.4); (2.22), (2.23) without masses.
    """
    total = ca.SX.zeros(3)
    for p in state.points:
        s = state.radius * state.Gamma + p.place
        total += p.mass * (ca.cross(Omega_dot, s) + bias(state, p))
    return state.R_WB @ total - state.total_mass * state.gravity_W - state.force_W


def flight_acceleration(state: BallState) -> tuple[ca.SX, ca.SX]:
    """Return dOmega/dt and the acceleration of the centre in W, Eqs. (B.6), (B.15), (B.17)."""
    M = state.total_mass
    first = ca.SX.zeros(3)  # sum of m chi
    weighted = ca.SX.zeros(3)  # sum of m bias
    matrix, right = state.inertia, -ca.cross(state.Omega, state.inertia @ state.Omega)
    for p in state.points:
        first += p.mass * p.place
        weighted += p.mass * bias(state, p)
        matrix -= p.mass * skew(p.place) @ skew(p.place)
        right -= p.mass * ca.cross(p.place, bias(state, p))
    # the double sums of (B.15) with m_j / M - delta_ij, carried out
    matrix += skew(first) @ skew(first) / M
    right -= ca.cross(first, state.R_WB.T @ state.force_W - weighted) / M
    Omega_dot = solve_3x3(matrix, right)
    inner = ca.cross(Omega_dot, first) + weighted
    return Omega_dot, state.force_W / M + state.gravity_W - state.R_WB @ inner / M  # (B.6)


def ball_response(state: BallState, force_W: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the answer of a ball to a force at its contact point, in W."""
    M, first, matrix = state.total_mass, ca.SX.zeros(3), state.inertia
    for p in state.points:
        first += p.mass * p.place
        matrix -= p.mass * skew(p.place) @ skew(p.place)
    matrix += skew(first) @ skew(first) / M
    force = state.R_WB.T @ force_W
    torque = -ca.cross(state.radius * state.Gamma, force)
    turn = solve_3x3(matrix, torque - ca.cross(first, force) / M)
    return turn, state.R_WB @ (force + ca.cross(first, turn)) / M
