"""A ball or a disk as a robot that also slides and flies, beside the one that only rolls."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.internal_masses.disk import PointMassDisk
from rolling_dynamics.robots.view import AllModes, RobotView

MassRobot = PointMassBall | PointMassDisk


def all_modes(
    system: MassRobot,
    view: RobotView,
    p: ArrayLike,
    make: Callable[[MassRobot], RobotView],
    *,
    sliding: bool,
) -> AllModes:
    """
    Return the motion of a robot through rolling, sliding and flight.

    Parameters
    ----------
    system, view
        The robot: one that only rolls, or a unilateral one, whose state is that of all modes.
    p
        Its parameters, which are those of the unilateral system too.
    make
        Makes the view of the unilateral system.
    sliding
        Whether the motion goes on after slip begins.

    Raises
    ------
    ParameterError
        The state holds coordinates along a path, which a ball in flight does not have.

    """
    if system.unilateral:
        body = system if sliding else system.ending_at_slip
        return AllModes(body, view, lambda x: x, lambda x: x)
    if 'path' in system.state:
        raise ParameterError(
            f'a {system.name} with coordinates along a path can only roll: leave out the entry '
            "'path' of the scenario to have it slide and fly"
        )
    body = cast(MassRobot, system.freed())
    values, s = np.asarray(p, dtype=float), view.symbols
    centre = ca.Function('centre', [s.x, s.p], [view.centre, view.velocity])
    axes = [0, 1, 2] if body.axes == 3 else [0, 2]

    def lift(x: Array) -> Array:
        place, velocity = (np.array(a).reshape(-1)[axes] for a in centre(x, values))
        kept = {n: v for n, v in system.state.unpack(x).items() if n != 'p'}
        return body.state.pack(**kept, p_WB=place, v_WB_W=velocity)

    def project(x: Array) -> Array:
        held = body.state.unpack(x)
        known = {n: held[n] for n in held if n in system.state}
        return system.state.pack(**known, p=held['p_WB'][:-1])

    return AllModes(body if sliding else body.ending_at_slip, make(body), lift, project)
