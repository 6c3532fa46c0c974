"""What the equations of the plant have beyond a pull in proportion to the tilt."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.ball_balancer.drives import Gimbal
from rolling_dynamics.ball_balancer.plate import carry_ball, several
from rolling_dynamics.ball_balancer.scenario import INERTIAS
from rolling_dynamics.mechanism import Machine

Array = NDArray[np.float64]
GRAVITY = 9.81  # m/s^2
RADIUS = 0.02  # m, of the ball; it hardly matters
PULL = GRAVITY / (1 + INERTIAS['solid'])  # m/s^2 for a tilt of 1 rad


def beyond_proportion(ball: Array, ball_rate: Array, turns: Array) -> tuple[Array, Array]:
    """
    Return what a ball's acceleration has beyond its parts linear in the tilts, and its slopes.

    It is the sine of the tilt, what the outer axis of a gimbal takes from the inner one, and the
    accelerations of a frame that turns.

    Parameters
    ----------
    ball, ball_rate
        Place on the plate [m] and its rate [m/s], shape (k, 2).
    turns
        Tilts [rad], their rates [rad/s] and accelerations [rad/s^2], shape (k, 6).

    Returns
    -------
    more, slopes
        Shapes (k, 2) [m/s^2], and (k, 2, 6) by the numbers of ``turns``.

    """
    columns = [np.ascontiguousarray(a.T) for a in (ball, ball_rate, turns)]
    more, slopes = (np.array(v) for v in _beyond().map(len(ball))(*columns))
    return more.T, slopes.reshape(2, len(ball), 6).transpose(1, 0, 2)


@cache
def _beyond() -> ca.Function:
    machine = Machine('plate_turns')
    state = [several(name, '', '', 1.0) for name in ('ball', 'ball_rate', 'tilt', 'tilt_rate')]
    ball, ball_rate, tilt, rate = (machine.variable(entry) for entry in state)
    acceleration = machine.control(several('acceleration', 'rad/s^2', '', 1.0))
    p = {'mass': ca.SX(1.0), 'radius': ca.SX(RADIUS), 'surface_height': ca.SX(0.0)}
    p |= {'gravity': ca.SX(GRAVITY), 'inertia': ca.SX(INERTIAS['solid'] * RADIUS**2)}
    carry_ball(machine, state, Gimbal().pose(tilt, p), acceleration, p)
    turns = ca.vertcat(tilt, rate, acceleration)
    more = machine.dynamics.rates - PULL * tilt + RADIUS * acceleration
    slopes = ca.densify(ca.jacobian(more, turns))
    return ca.Function('beyond', [ball, ball_rate, turns], [more, slopes])
