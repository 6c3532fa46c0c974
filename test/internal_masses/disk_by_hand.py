"""
Equations of a disk with internal point masses: rolling, flight, contact force.

Source: Putkaradze & Rogers (normal force), Section 4 and Appendix B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ball_by_hand import ball_state
import casadi as ca
from rolling_dynamics.internal_masses.ball import PointMassDisk


@dataclass(frozen=True, eq=False)
class PlanarPoint:
    """A mass with zeta_1, zeta_3 and their derivatives as seen from the body, shapes (2,)."""

    mass: ca.SX
    zeta: ca.SX
    zeta_dot: ca.SX
    zeta_ddot: ca.SX


@dataclass(frozen=True, eq=False)
class DiskState:
    """What the equations of motion of a disk depend on."""

    points: Sequence[PlanarPoint]
    inertia: ca.SX
    radius: ca.SX
    phi: ca.SX
    phi_dot: ca.SX
    gravity_W: ca.SX
    force_W: ca.SX

    @property
    def total_mass(self) -> ca.SX:
        """M [kg]."""
        return sum((p.mass for p in self.points), ca.SX(0))


def disk_state(system: PointMassDisk) -> DiskState:
    """Return the state of a disk on which no external force acts."""
    s, body = system.symbols, ball_state(system)
    points = []
    for p in body.points:
        vectors = (system.taken(v) for v in (p.place, p.rate, p.acceleration))
        points.append(PlanarPoint(p.mass, *vectors))
    return DiskState(
        points=points,
        inertia=s.params['polar_inertia'],
        radius=body.radius,
        phi=s.values['phi'],
        phi_dot=s.values['phi_rate'],
        gravity_W=system.taken(body.gravity_W),
        force_W=ca.SX(2, 1),
    )


def _gravity_axes(state: DiskState) -> tuple[ca.SX, ca.SX]:
    """Return gravity along E1 and E3."""
    c, s, g = ca.cos(state.phi), ca.sin(state.phi), state.gravity_W
    return c * g[0] + s * g[1], -s * g[0] + c * g[1]


def rolling_acceleration(state: DiskState) -> ca.SX:
    """Return phi'', Eqs. (4.1), (4.2); (4.5) without masses."""
    r, rate = state.radius, state.phi_dot
    c, s = ca.cos(state.phi), ca.sin(state.phi)
    g1, g3 = _gravity_axes(state)
    top, bottom = -r * state.force_W[0], state.inertia
    for p in state.points:
        z1, z3 = p.zeta[0], p.zeta[1]
        along1, along3 = r * s + z1, r * c + z3
        # with gravity (0, -g) the first two terms are g (z3 sin phi - z1 cos phi)
        K = along1 * g3 - along3 * g1
        K += r * rate**2 * (z3 * s - z1 * c)
        K += along3 * (-2 * rate * p.zeta_dot[1] + p.zeta_ddot[0])
        K -= along1 * (2 * rate * p.zeta_dot[0] + p.zeta_ddot[1])  # (4.2)
        top += p.mass * K
        bottom += p.mass * (along1**2 + along3**2)
    return top / bottom  # (4.1)


def _relative(state: DiskState, p: PlanarPoint, phi_ddot: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the acceleration of a mass over the centre along E1, E3, Eq. (A.9) less r phi''."""
    rate = state.phi_dot
    first = -phi_ddot * p.zeta[1] - rate**2 * p.zeta[0]
    third = phi_ddot * p.zeta[0] - rate**2 * p.zeta[1]
    return (
        first - 2 * rate * p.zeta_dot[1] + p.zeta_ddot[0],
        third + 2 * rate * p.zeta_dot[0] + p.zeta_ddot[1],
    )


def contact_force(state: DiskState, phi_ddot: ca.SX) -> ca.SX:
    """Return friction along e1 and N [N], Eqs. (4.3), (4.4); (4.6), (4.7) without masses."""
    c, s, M = ca.cos(state.phi), ca.sin(state.phi), state.total_mass
    friction = -M * state.radius * phi_ddot - M * state.gravity_W[0] - state.force_W[0]
    normal = -M * state.gravity_W[1] - state.force_W[1]
    for p in state.points:
        a1, a3 = _relative(state, p, phi_ddot)
        friction += p.mass * (a1 * c - a3 * s)
        normal += p.mass * (a1 * s + a3 * c)
    return ca.vertcat(friction, normal)


def flight_acceleration(state: DiskState) -> tuple[ca.SX, ca.SX]:
    """Return phi'' and the acceleration of the centre along e1, e3, Eqs. (B.18), (B.19)."""
    c, s, M = ca.cos(state.phi), ca.sin(state.phi), state.total_mass
    F1, F3, rate = state.force_W[0], state.force_W[1], state.phi_dot
    P = [-(rate**2) * p.zeta[1] + 2 * rate * p.zeta_dot[0] + p.zeta_ddot[1] for p in state.points]
    Q = [-(rate**2) * p.zeta[0] - 2 * rate * p.zeta_dot[1] + p.zeta_ddot[0] for p in state.points]
    top, bottom = ca.SX(0), M * state.inertia
    for i, a in enumerate(state.points):
        z1, z3 = a.zeta[0], a.zeta[1]
        top += a.mass * (F1 * (z1 * s + z3 * c) - F3 * (z1 * c - z3 * s))
        bottom -= a.mass * (a.mass - M) * (z1**2 + z3**2)
        for j, b in enumerate(state.points):
            V = z1 * P[j] - z3 * Q[j]
            top += a.mass * (b.mass - (M if i == j else 0)) * V
            if j > i:
                bottom -= 2 * a.mass * b.mass * (z1 * b.zeta[0] + z3 * b.zeta[1])
    phi_ddot = top / bottom
    force = state.force_W + M * state.gravity_W
    for p in state.points:
        a1, a3 = _relative(state, p, phi_ddot)
        force -= p.mass * ca.vertcat(a1 * c - a3 * s, a1 * s + a3 * c)
    return phi_ddot, force / M


def disk_response(state: DiskState, force_W: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the answer of a disk to a force (along e1, along e3) at its contact point."""
    M, first, inertia = state.total_mass, ca.SX.zeros(2), state.inertia
    c, s = ca.cos(state.phi), ca.sin(state.phi)
    for p in state.points:
        z1, z3 = p.zeta[0], p.zeta[1]
        first += p.mass * ca.vertcat(-z1 * s - z3 * c, z1 * c - z3 * s)  # d position / d phi
        inertia += p.mass * (z1**2 + z3**2)
    torque = state.radius * force_W[0]
    turn = (torque - ca.dot(first, force_W) / M) / (inertia - ca.dot(first, first) / M)
    return turn, (force_W - first * turn) / M
