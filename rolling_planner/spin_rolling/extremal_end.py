"""
Where an extremal of pure rolling ends when its controls are linear between nodes.

The unknowns are the five of an extremal and the amplitudes of waves of its heading. Lengths are in
units of the radius; times, and shares of the length, go from 0 to 1.
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.compiled import compiled
from rolling_dynamics.rotations import product
from rolling_dynamics.simulation.runge_kutta import step_of_order_4
from rolling_planner.spin_rolling.elastica import heading_rates
from rolling_planner.spin_rolling.timing import trapezoid, trapezoid_nodes

Array: TypeAlias = NDArray[np.float64]
NODES = 201
WAVES = 4
UNKNOWNS = 5 + WAVES
PARTS = 12  # of an interval: its rotation is then right to 1e-12 for paths of up to 15 radii


def node_rates() -> tuple[Array, Array]:
    """Return node times, shares from 0 to 1, and the rate of the length, two vectors."""
    t = trapezoid_nodes(NODES)
    return t, trapezoid(t)


@cache
def extremal_functions() -> tuple[ca.Function, ca.Function]:
    """
    Return ``z -> headings`` at the nodes and ``(z, target) -> miss``.

    The target holds displacement [radius] and rotation w, x, y, z; the miss has 5 rows.
    """
    z, target = ca.MX.sym('z', UNKNOWNS), ca.MX.sym('target', 6)
    t, rate = node_rates()
    share = np.r_[0.0, np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(t))]
    headings = _headings(z, share)
    speed = z[4] * ca.DM(rate).T
    controls = ca.vertcat(-ca.sin(headings.T) * speed, ca.cos(headings.T) * speed)
    first, last = controls[:, :-1], controls[:, 1:]
    dt = ca.DM(np.diff(t)).T
    middle = ca.sum2((first + last) / 2 * ca.repmat(dt, 2, 1))
    q = _turn().mapaccum('turns', NODES - 1)(ca.DM([1, 0, 0, 0]), first, last, dt)[:, -1]
    apart = product(q, ca.vertcat(target[2], -target[3:6]))
    miss = ca.vertcat(middle[1] - target[0], -middle[0] - target[1], 2 * apart[0] * apart[1:4])
    return compiled(
        ca.Function('headings', [z], [headings]), ca.Function('extremal_end', [z, target], [miss])
    )


def _headings(z: ca.MX, share: Array) -> ca.MX:
    """Return the heading at shares of the length, one Runge-Kutta step between two nodes."""
    y, x, h = ca.SX.sym('y', 2), ca.SX.sym('z', 5), ca.SX.sym('h')

    def rate(y: ca.SX, _: int) -> ca.SX:
        return x[4] * ca.vertcat(*heading_rates(x, y[0], y[1]))

    step = ca.Function('bend', [y, x, h], [step_of_order_4(rate, y, h)[1]])
    bends = step.mapaccum('bends', NODES - 1)(
        z[2:4], ca.repmat(z[:5], 1, NODES - 1), ca.DM(np.diff(share)).T
    )
    waves = np.column_stack([f(np.pi * k * share) for k in (2, 4) for f in (np.sin, np.cos)])
    return ca.vertcat(z[2], bends[0, :].T) + ca.DM(waves) @ z[5:]


def _turn() -> ca.Function:
    """Return ``(q, w, w, dt) -> q``: rotation under a linear control, by Magnus' series."""
    q, first, last = ca.SX.sym('q', 4), ca.SX.sym('first', 2), ca.SX.sym('last', 2)
    dt = ca.SX.sym('dt')
    h = dt / PARTS
    after = q
    for k in range(PARTS):
        a, b = (first + (last - first) * (k + j) / PARTS for j in (0, 1))
        turn = ca.vertcat(h / 2 * (a + b), -(h**2) / 12 * (a[0] * b[1] - a[1] * b[0]))
        square = ca.sumsqr(turn)  # the turn is so short that three terms are exact
        scalar = 1 - square / 8 + square**2 / 384
        vector = (0.5 - square / 48 + square**2 / 3840) * turn
        after = product(ca.vertcat(scalar, vector), after)
    return ca.Function('turn', [q, first, last, dt], [after])
