"""The experiment whose log tells the numbers of a rig: jumps, and a ball put down by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_controller.ball_balancer import protocol
from rolling_controller.ball_balancer.identification.log import Log
from rolling_controller.law import Law
from rolling_dynamics.ball_balancer.rig_file import emulated_rig
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.simulation.emulation import Emulation

Array = NDArray[np.float64]
JUMPING = 80.0  # s, of jumps of the set point
PUT = 20  # times that the ball is put down after them
IN_HAND, PUT_DOWN = 1.0, 1.0  # s before the ball is put down, and after that
LEAST, MOST, FARTHEST = 6.0, 30.0, 0.035  # counts of tilt, and m from the middle
GOLDEN = (math.sqrt(5) - 1) / 2  # spreads what is counted evenly


def put_down() -> tuple[Array, Array]:
    """Return where the ball is put down, shape (20, 2) [m], and the tilts then [counts]."""
    k = np.arange(PUT)
    round_, turn = 2 * math.pi * GOLDEN * k, 2 * math.pi * math.sqrt(2) * k
    far = FARTHEST * np.sqrt((k + 0.5) / PUT)[:, None]
    steep = LEAST + (MOST - LEAST) * np.mod(math.sqrt(3) * k[:, None] + 0.5, 1.0)
    places, ways = (np.column_stack([np.cos(a), np.sin(a)]) for a in (round_, turn))
    return far * places, np.round(steep * ways)


def set_points() -> Array:
    """
    Return the experiment as rows of time [s], set point [m] and tilt [counts], shape (k, 5).

    The tilt is not a number while a law takes the ball to the set point. After that the plate is
    held at each tilt; the ball is in the hand, and is put down at the set point halfway.
    """
    jumps = np.arange(protocol.BEGIN, JUMPING, protocol.LAST)
    rows = [[t, *protocol.jumps(t), math.nan, math.nan] for t in (0.0, *jumps)]
    each = IN_HAND + PUT_DOWN
    for k, (place, tilt) in enumerate(zip(*put_down(), strict=True)):
        rows.append([JUMPING + k * each, *place, *tilt])
    return np.array(rows)


def emulated(file: BallBalancerFile, law: Law[Any], seed: int, jumping: float = JUMPING) -> Log:
    """
    Return the log of the experiment on an emulated rig.

    Parameters
    ----------
    file
        The rig.
    law
        It takes the ball to the set points.
    seed
        Random seed of maps and camera.
    jumping
        How long the set point jumps [s].

    """
    rig, memory, T = emulated_rig(file, seed), law.start(), 1 / file.camera.rate
    system, _ = file.system_and_parameters(seed)
    places, tilts = put_down()
    rows, was = [], 0.0
    for k in range(math.floor((jumping + PUT * (IN_HAND + PUT_DOWN)) / T) + 1):
        for frame in rig.advance(k * T + file.camera.delay):
            place, after = frame.value[:2], frame.arrival - jumping
            if after < 0:
                given = [*place, *protocol.jumps(frame.arrival)]
                memory, tilt = law.step(memory, given, frame.stamp)
            else:
                n, since = divmod(after, IN_HAND + PUT_DOWN)
                tilt = tilts[min(int(n), PUT - 1)]
                if since < IN_HAND:
                    _put(rig, np.zeros(2))
                elif was < IN_HAND:
                    _put(rig, places[min(int(n), PUT - 1)])
                if since < IN_HAND or was < IN_HAND:  # a hand is on it, in this frame or since
                    place = np.full(2, math.nan)
                was = since
            rig.send(file.command(system, rig.p, tilt), frame.arrival)
            rows.append((frame.arrival, *place, *tilt))
        if rig.state.ended is not None:
            break
    table = np.array(rows)
    return Log(times=table[:, 0], ball=table[:, 1:3], tilt=table[:, 3:])


def _put(rig: Emulation, ball: Array) -> None:
    """Put the ball at rest at a position (2) [m], as by hand; the servos go on."""
    x = rig.state.x.copy()
    x[:2], x[2:4] = ball, 0.0
    rig.put(x)
