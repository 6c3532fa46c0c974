"""The fastest move of a ball that the servos of a rig allow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rolling_controller.ball_balancer.rig_model import RigModel
from rolling_dynamics.arrays import Array
from scipy.optimize import brentq

STEP = 5e-4  # s
XTOL = 1e-6  # s
AFTER = 0.5  # s of motion after the last change of the command


class FastestMove(NamedTuple):
    """Times of the two changes of command [s], of 90 % of the way, and of its end."""

    first: float
    second: float
    rise: float
    end: float


def fastest_move(rig: RigModel, length: float, dead_time: float = 0.0) -> FastestMove:
    """
    Return the fastest move along one axis, full tilt forth, full tilt back, then level.

    Parameters
    ----------
    rig
        The rig, of which only gain and servos count.
    length
        Of the move [m].
    dead_time
        Before a command takes effect [s]; added to rise and end.

    """
    bang = 2 * float(np.sqrt(length / (rig.gain * rig.reach)))

    def stopping(first: float) -> Array:
        """Return both times, the second such that the ball ends at rest."""
        end = brentq(
            lambda t: moved(rig, np.array([first, t]))[2][-1], first, 4 * first + bang, xtol=XTOL
        )
        return np.array([first, end])

    def miss(first: float) -> float:
        return float(moved(rig, stopping(first))[1][-1]) - length

    changes = stopping(brentq(miss, bang / 20, bang, xtol=XTOL))
    times, place, _ = moved(rig, changes)
    rise = times[int(np.argmax(place >= 0.9 * length))]
    end = times[int(np.flatnonzero(abs(place - length) > 1e-3 * length)[-1])]
    first, second = changes.tolist()
    return FastestMove(first, second, float(rise) + dead_time, float(end) + dead_time)


def moved(rig: RigModel, changes: Array) -> tuple[Array, Array, Array]:
    """
    Return times [s], places [m], rates [m/s] of full tilt forth and back, shape (k,) each.

    The tilt changes at two times [s].
    """
    times = np.arange(0, float(changes[1]) + AFTER, STEP)
    # a step in which the command changes counts with its fraction of each
    shares = np.clip((times[:, None] + STEP - changes) / STEP, 0, 1)
    commands = rig.reach * (1 - 2 * shares[:, 0] + shares[:, 1])
    tilt = rate = place = speed = 0.0
    k, most = rig.stiffness, rig.acceleration
    places, speeds = np.empty(times.size), np.empty(times.size)
    for j, command in enumerate(commands):
        places[j], speeds[j] = place, speed
        before = command - tilt - rate * abs(rate) / (2 * most) - rate / k
        wanted = 4 * k * before / (abs(rate) / most + 1 / k)
        wanted = max(min(wanted, 4 * k * (rig.speed - rate)), 4 * k * (-rig.speed - rate))
        rate += STEP * max(-most, min(most, wanted))
        tilt += STEP * rate
        pull = rig.gain * tilt
        place += STEP * (speed + STEP / 2 * pull)
        speed += STEP * pull
    return times, places, speeds
