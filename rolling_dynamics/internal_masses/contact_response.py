"""
How a ball or a disk answers a force or an impulse at its contact point.

The masses follow their rails whatever happens, so they move with the shell under an impulse. The
answer is linear: the equations of flight (B.17), (B.18) with the contact force kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
from rolling_dynamics.internal_masses.disk_equations import DiskState


@dataclass(frozen=True, eq=False)
class Response:
    """
    Accelerations, or jumps of velocity under an impulse.

    Attributes
    ----------
    turn
        dOmega/dt in the body (3,) of a ball, phi'' of a disk.
    centre_W
        Acceleration of the geometric centre in W; (3,), of a disk (2,).

    """

    turn: ca.SX
    centre_W: ca.SX


def disk_response(state: DiskState, force_W: ca.SX) -> Response:
    """Return the answer of a disk to a force (along e1, along e3) at its contact point."""
    M, first, inertia = state.total_mass, ca.SX.zeros(2), state.inertia
    c, s = ca.cos(state.phi), ca.sin(state.phi)
    for p in state.points:
        z1, z3 = p.zeta[0], p.zeta[1]
        first += p.mass * ca.vertcat(-z1 * s - z3 * c, z1 * c - z3 * s)  # d position / d phi
        inertia += p.mass * (z1**2 + z3**2)
    torque = state.radius * force_W[0]
    turn = (torque - ca.dot(first, force_W) / M) / (inertia - ca.dot(first, first) / M)
    return Response(turn, (force_W - first * turn) / M)


@dataclass(frozen=True, eq=False)
class Sliding:
    """
    Motion under Coulomb friction.

    Attributes
    ----------
    turn, centre_W
        Accelerations.
    force_W
        Contact force.
    coefficient
        What multiplies N in the vertical acceleration of the contact; the motion is determined
        only where it is positive (Painleve).

    """

    turn: ca.SX
    centre_W: ca.SX
    force_W: ca.SX
    coefficient: ca.SX


def sliding(
    free: Response, answer: Callable[[ca.SX], Response], direction_W: ca.SX, mu: ca.SX
) -> Sliding:
    """
    Return the motion in which the contact stays on the plane and slides.

    Parameters
    ----------
    free
        Accelerations without a contact force.
    answer
        ``force_W -> Response``.
    direction_W
        Direction of slip; the last component is zero.
    mu
        Kinetic coefficient of friction.

    """
    size = direction_W.numel()
    unit = ca.vertcat(ca.SX.zeros(size - 1), 1) - mu * direction_W
    of_unit = answer(unit)
    coefficient = of_unit.centre_W[-1]
    N = -free.centre_W[-1] / coefficient
    return Sliding(
        free.turn + N * of_unit.turn, free.centre_W + N * of_unit.centre_W, N * unit, coefficient
    )
