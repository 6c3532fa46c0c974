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
from rolling_dynamics.inertia import inertia_matrix
from rolling_dynamics.internal_masses.system import MassDrivenSystem
from rolling_dynamics.rotations import solve_3x3


@dataclass(frozen=True, eq=False)
class MovingPoint:
    """Mass; place in the body and derivatives there (3)."""

    mass: ca.SX
    place: ca.SX
    rate: ca.SX
    acceleration: ca.SX


@dataclass(frozen=True, eq=False)
class BallState:
    """What the equations of motion of a ball depend on; the first point is the shell."""

    points: Sequence[MovingPoint]
    inertia: ca.SX
    radius: ca.SX
    R_WB: ca.SX
    Omega: ca.SX
    gravity_W: ca.SX
    force_W: ca.SX

    @property
    def total_mass(self) -> ca.SX:
        return sum((p.mass for p in self.points), ca.SX(0))

    @property
    def Gamma(self) -> ca.SX:
        return self.R_WB[2, :].T

    @property
    def gravity(self) -> ca.SX:
        return self.R_WB.T @ self.gravity_W


def ball_state(system: MassDrivenSystem) -> BallState:
    """Return the state of a ball or a disk on which no external force acts."""
    p, machine, zero = system.symbols.params, system.machine, ca.SX(3, 1)
    points = [MovingPoint(p['mass'], system.spatial(p['centre_of_mass']), zero, zero)]
    for name, body in machine.bodies.items():
        if name != 'shell':
            at = body.joint
            points.append(MovingPoint(body.mass.mass, at.place, at.rate, at.acceleration))
    shell = machine.links['shell']
    return BallState(
        points=points,
        inertia=inertia_matrix(p['inertia']) if 'inertia' in p else ca.SX(3, 3),
        radius=p['radius'],
        R_WB=shell.R_WB,
        Omega=shell.w,
        gravity_W=machine.gravity_W,
        force_W=zero,
    )


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
        matrix += p.mass * ca.skew(s) @ ca.skew(s)
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
        matrix -= p.mass * ca.skew(p.place) @ ca.skew(p.place)
        right -= p.mass * ca.cross(p.place, bias(state, p))
    # the double sums of (B.15) with m_j / M - delta_ij, carried out
    matrix += ca.skew(first) @ ca.skew(first) / M
    right -= ca.cross(first, state.R_WB.T @ state.force_W - weighted) / M
    Omega_dot = solve_3x3(matrix, right)
    inner = ca.cross(Omega_dot, first) + weighted
    return Omega_dot, state.force_W / M + state.gravity_W - state.R_WB @ inner / M  # (B.6)


def ball_response(state: BallState, force_W: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the answer of a ball to a force at its contact point, in W."""
    M, first, matrix = state.total_mass, ca.SX.zeros(3), state.inertia
    for p in state.points:
        first += p.mass * p.place
        matrix -= p.mass * ca.skew(p.place) @ ca.skew(p.place)
    matrix += ca.skew(first) @ ca.skew(first) / M
    force = state.R_WB.T @ force_W
    torque = -ca.cross(state.radius * state.Gamma, force)
    turn = solve_3x3(matrix, torque - ca.cross(first, force) / M)
    return turn, state.R_WB @ (force + ca.cross(first, turn)) / M
