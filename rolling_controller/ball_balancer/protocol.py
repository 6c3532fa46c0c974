"""Set points over time: paths, and the evaluated protocol of the best published rig."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array

# From the angle of a round to the place about its middle, over half its width
PATHS: Mapping[str, Callable[[float], tuple[float, float]]] = {
    'hold': lambda _: (0.0, 0.0),
    'circle': lambda a: (math.cos(a), math.sin(a)),
    'eight': lambda a: (math.sin(a), math.sin(2 * a) / 2),
}


def place_on(path: str, radius: float, period: float, t: float) -> Array:
    """
    Return a set point relative to the middle of its path, shape (2,) [m].

    Parameters
    ----------
    path
        Name in :data:`PATHS`: `hold` stays in the middle, `circle`, or a figure `eight` along x.
    radius
        Half the width of the path [m].
    period
        Duration of a round [s].
    t
        Time since the start [s].

    """
    return radius * np.array(PATHS[path](2 * math.pi * t / period))


SIDE, JUMPS, LAST = 0.08, 36, 3.0  # m, and s of each jump
BEGIN = 2.0  # s before the first jump
STARTS = BEGIN + LAST * np.arange(JUMPS)
END = 0.6  # s at the end of a jump, over which its end error is taken
WITHIN = 5e-3  # m
MISSING = 0.05  # s of a jump that a run may end before it does


def targets() -> Array:
    """Return the set points in turn, shape (37, 2) [m]: corners and middle of a square."""
    half = SIDE / 2
    corners = half * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    out = [np.zeros(2)]
    for k in range(JUMPS // 4):
        out += [corners[(k + j) % 4] for j in range(3)] + [np.zeros(2)]
    return np.array(out)


def jumps(t: float) -> Array:
    """Return the set point [m] at a time [s], shape (2,)."""
    points = targets()
    return np.asarray(points[int(np.clip((t - BEGIN) // LAST + 1, 0, JUMPS))])


def jumps_duration() -> float:
    """Return how long the jumps take [s]."""
    return BEGIN + JUMPS * LAST


@dataclass(frozen=True, kw_only=True)
class Jump:
    """
    Result of a jump.

    Attributes
    ----------
    length
        Of the jump [m].
    rise
        Time from the change of the set point to 90 % of the way [s]; not a number if never.
    overshoot
        How far the ball went beyond the set point along the way [m].
    end_error
        Median distance from the set point over the last 0.6 s [m].

    """

    length: float
    rise: float
    overshoot: float
    end_error: float


def judged(
    times: Array,
    ball: Array,
    starts: ArrayLike = STARTS,
    points: Array | None = None,
) -> list[Jump]:
    """
    Return what came of each whole jump of a run.

    Parameters
    ----------
    times, ball
        Times, shape (k,) [s], and places, shape (k, 2) [m].
    starts, points
        When each set point came [s], shape (j,), and these after the one before, shape (j + 1, 2)
        [m]; those of the protocol by default.

    """
    points, out = targets() if points is None else points, []
    for k, start in enumerate(np.asarray(starts).tolist()):
        if times[-1] < start + LAST - MISSING:  # lost, or not run for so long
            break
        inside = (times >= start) & (times < start + LAST)
        out.append(judged_jump(times[inside] - start, ball[inside], points[k], points[k + 1]))
    return out


def judged_jump(t: Array, ball: Array, before: Array, goal: Array) -> Jump:
    """
    Return what came of a jump.

    Parameters
    ----------
    t, ball
        Times since the change of the set point, shape (k,) [s], and places, shape (k, 2) [m].
    before, goal
        Set points before and after the change (2) [m].

    """
    way = goal - before
    length = float(np.hypot(*way))
    along = (ball - before) @ way / length
    there = np.flatnonzero(along >= 0.9 * length)
    off = np.hypot(*(ball - goal).T)
    return Jump(
        length=length,
        rise=float(t[there[0]]) if there.size else float('nan'),
        overshoot=max(0.0, float(along.max()) - length),
        end_error=float(np.median(off[t >= t[-1] - END])),
    )
