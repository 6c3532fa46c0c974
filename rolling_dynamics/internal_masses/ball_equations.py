"""
Equations of a ball with internal point masses: rolling, flight, contact force.

Source: Putkaradze & Rogers (normal force), Sections 2, 3 and Appendix B. Vectors are in the body
frame unless named otherwise; the body's origin is the geometric centre, and the first mass point
is the shell with its centre of mass at chi_0. Gravity is a vector: Lambda^-1 gravity stands for
-g Gamma of the paper, so that the plane may be inclined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
from rolling_dynamics.internal_masses.masses import MassPoint
from rolling_dynamics.rotations import skew
from rolling_dynamics.small_matrices import solve_3x3


@dataclass(frozen=True, eq=False)
class BallState:
    """
    What the equations of motion of a ball depend on.

    Attributes
    ----------
    points
        The shell (chi_0, at rest in the body) and the masses.
    inertia
        Inertia of the shell about its centre of mass, 3x3 [kg m^2].
    radius
        r [m].
    R_WB
        Lambda, attitude.
    Omega
        Body angular velocity [rad/s].
    gravity_W, force_W
        Gravity [m/s^2] and external force at the geometric centre [N], in W.

    """

    points: Sequence[MassPoint]
    inertia: ca.SX
    radius: ca.SX
    R_WB: ca.SX
    Omega: ca.SX
    gravity_W: ca.SX
    force_W: ca.SX

    @property
    def total_mass(self) -> ca.SX:
        """M [kg]."""
        return sum((p.mass for p in self.points), ca.SX(0))

    @property
    def Gamma(self) -> ca.SX:
        """The vertical in the body, Lambda^-1 e3."""
        return self.R_WB[2, :].T

    @property
    def gravity(self) -> ca.SX:
        """Gravity in the body."""
        return self.R_WB.T @ self.gravity_W


def bias(state: BallState, point: MassPoint) -> ca.SX:
    """Return Omega x (Omega x chi + 2 chi') + chi'', the acceleration that needs no unknown."""
    inner = ca.cross(state.Omega, point.chi) + 2 * point.chi_dot
    return ca.cross(state.Omega, inner) + point.chi_ddot


def rolling_acceleration(state: BallState) -> ca.SX:
    """Return dOmega/dt of rolling without slipping, Eqs. (2.20), (3.2); (2.21) without masses."""
    rGamma = state.radius * state.Gamma
    matrix = -state.inertia
    right = ca.cross(state.Omega, state.inertia @ state.Omega)
    right += ca.cross(state.R_WB.T @ state.force_W, rGamma)
    for p in state.points:
        s = rGamma + p.chi
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
        s = state.radius * state.Gamma + p.chi
        total += p.mass * (ca.cross(Omega_dot, s) + bias(state, p))
    return state.R_WB @ total - state.total_mass * state.gravity_W - state.force_W


def flight_acceleration(state: BallState) -> tuple[ca.SX, ca.SX]:
    """Return dOmega/dt and the acceleration of the centre in W, Eqs. (B.6), (B.15), (B.17)."""
    M = state.total_mass
    first = ca.SX.zeros(3)  # sum of m chi
    weighted = ca.SX.zeros(3)  # sum of m bias
    matrix, right = state.inertia, -ca.cross(state.Omega, state.inertia @ state.Omega)
    for p in state.points:
        first += p.mass * p.chi
        weighted += p.mass * bias(state, p)
        matrix -= p.mass * skew(p.chi) @ skew(p.chi)
        right -= p.mass * ca.cross(p.chi, bias(state, p))
    # the double sums of (B.15) with m_j / M - delta_ij, carried out
    matrix += skew(first) @ skew(first) / M
    right -= ca.cross(first, state.R_WB.T @ state.force_W - weighted) / M
    Omega_dot = solve_3x3(matrix, right)
    inner = ca.cross(Omega_dot, first) + weighted
    return Omega_dot, state.force_W / M + state.gravity_W - state.R_WB @ inner / M  # (B.6)
