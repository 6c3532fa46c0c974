"""
The fastest way through a labyrinth: collocation along its path, clear of walls and holes.

Node k lies on a line across the path at station k, and the times between nodes are unknown. So
each node knows which walls and holes are near, whatever the speed. Between nodes the speed of the
tilt is constant, and the motion of the linear model exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.labyrinth import from_walls, ROLLING
from rolling_dynamics.ball_balancer.labyrinth_file import LabyrinthFile
from rolling_planner.progress import NotConvergedError
from scipy.ndimage import gaussian_filter1d

SPACING = 5e-3  # m, between stations
ROUNDED = 10e-3  # m, over which corners of the path are rounded
ACROSS = 8e-3  # m, from the path at most
NEAR = 0.03  # m, within which a node sees walls and holes
SCALE = 1e-3  # m, that count as one
SMOOTH = 1e-3  # weight of the tilts' accelerations, as a time


@dataclass(frozen=True, eq=False)
class LabyrinthPlan:
    """
    A motion through a labyrinth.

    Attributes
    ----------
    times
        Times of the nodes [s], shape (k,).
    ball, rate, tilt
        At the nodes, shape (k, 2): the ball's position without the shift by the tilt [m], its rate
        [m/s], tilt [rad].
    turn
        Speed of the tilt between nodes, shape (k - 1, 2) [rad/s].
    lever
        Shift of the ball by a tilt [m/rad].
    gain
        Acceleration by a tilt [m/s^2].

    """

    times: Array
    ball: Array
    rate: Array
    tilt: Array
    turn: Array
    lever: float
    gain: float

    def at(self, times: Array) -> tuple[Array, Array, Array, Array]:
        """Return ball, rate, tilt and turn (k, 2) at times (k,) [s]; at rest after the end."""
        t = np.clip(times, 0, self.times[-1])
        k = np.clip(np.searchsorted(self.times, t, side='right') - 1, 0, len(self.turn) - 1)
        return *_moved(
            (self.ball[k], self.rate[k], self.tilt[k]),
            self.turn[k],
            (t - self.times[k])[:, None],
            self.gain,
        ), self.turn[k]

    @property
    def end(self) -> Array:
        """End position (2) [m]."""
        return np.asarray(self.ball[-1] - self.lever * self.tilt[-1])

    def places(self, times: Array) -> Array:
        """Return where the ball is (k, 2) [m]."""
        ball, _, tilt, _ = self.at(times)
        return ball - self.lever * tilt


def stations(path: Array) -> tuple[Array, Array]:
    """Return points (k, 2) of a path with rounded corners [m], and the unit vectors across it."""
    done = np.append(0, np.cumsum(np.hypot(*np.diff(path, axis=0).T)))
    s = np.linspace(0, done[-1], round(done[-1] / SPACING) + 1)
    points = np.column_stack([np.interp(s, done, c) for c in path.T])
    points = gaussian_filter1d(points, ROUNDED / (s[1] - s[0]), axis=0, mode='nearest')
    points[[0, -1]] = path[[0, -1]]
    along = np.gradient(points, axis=0)
    along /= np.hypot(*along.T)[:, None]
    return points, np.column_stack([-along[:, 1], along[:, 0]])


def plan_labyrinth(file: LabyrinthFile) -> LabyrinthPlan:
    """
    Return the fastest motion along the path from rest to rest.

    Parameters
    ----------
    file
        The labyrinth, with the margin of its way and the fraction of the servos that it may use.

    Raises
    ------
    NotConvergedError
        There is none.

    """
    points, across = stations(file.board.path)
    n, gain, lever = len(points) - 1, ROLLING * file.gravity, file.ball.radius
    most = np.array([file.servo.reach, file.servo.speed]) * file.way.share
    opti = ca.Opti()
    off, rate = SCALE * opti.variable(n + 1), opti.variable(2, n + 1)
    tilt, turn, h = opti.variable(2, n + 1), opti.variable(2, n), opti.variable(n)
    place = ca.DM(points.T) + ca.DM(across.T) * ca.repmat(off.T, 2, 1)
    ball = place + lever * tilt
    times = ca.repmat(h.T, 2, 1)
    start = (ball[:, :-1], rate[:, :-1], tilt[:, :-1])
    after = _moved(start, turn, times, gain)
    for now, then, scale in zip((ball, rate, tilt), after, (SCALE, 0.1, 0.1), strict=True):
        opti.subject_to(ca.vec(now[:, 1:] - then) / scale == 0)
    opti.subject_to(opti.bounded(-ACROSS / SCALE, off / SCALE, ACROSS / SCALE))
    opti.subject_to(opti.bounded(-most[0], ca.vec(tilt), most[0]))
    opti.subject_to(opti.bounded(-most[1], ca.vec(turn), most[1]))
    opti.subject_to(opti.bounded(1e-3, h, 0.5))
    for k in (0, n):
        for fixed in (rate[:, k], tilt[:, k], off[k]):
            opti.subject_to(fixed == 0)
    clear = _clearances(file, points, place)
    opti.subject_to(clear >= 1)
    accelerations = (turn[:, 1:] - turn[:, :-1]) / file.servo.speed
    opti.minimize(ca.sum1(h) + SMOOTH * ca.sumsqr(accelerations))
    opti.set_initial(h, SPACING / 0.1)
    opti.set_initial(rate, 0.1 * np.gradient(points, SPACING, axis=0).T)
    opti.solver(
        'ipopt',
        {'print_time': False, 'expand': True},
        {'print_level': 0, 'sb': 'yes', 'max_iter': 500},
    )
    try:
        found = opti.solve()
    except RuntimeError as e:
        text = f'no way through the labyrinth with a margin of {file.way.margin:g} m'
        raise NotConvergedError(text) from e
    return LabyrinthPlan(
        times=np.append(0, np.cumsum(found.value(h))),
        ball=found.value(ball).T,
        rate=found.value(rate).T,
        tilt=found.value(tilt).T,
        turn=found.value(turn).T,
        lever=lever,
        gain=gain,
    )


def _moved(start: tuple[Any, Any, Any], turn: Any, h: Any, gain: float) -> tuple[Any, Any, Any]:  # noqa: ANN401
    """Return ball, rate and tilt after a time with a speed of the tilt."""
    ball, rate, tilt = start
    return (
        ball + rate * h + gain * (tilt * h**2 / 2 + turn * h**3 / 6),
        rate + gain * (tilt * h + turn * h**2 / 2),
        tilt + turn * h,
    )


def _clearances(file: LabyrinthFile, points: Array, place: ca.MX) -> ca.MX:
    """Return squares of distances over the allowed ones, for walls and holes near each node."""
    board, margin, out = file.board, file.way.margin, []
    for k, point in enumerate(points[1:], start=1):
        p = place[:, k]
        holes = board.holes[np.hypot(*(board.holes - point).T) < NEAR]
        out += [ca.sumsqr(p - q) / (board.hole_radius + margin) ** 2 for q in holes]
        near = np.hypot(*from_walls(board.walls, point).T) < NEAR
        for begin, end in board.walls[near].reshape(-1, 2, 2):
            way = end - begin
            along = ca.fmin(ca.fmax(ca.dot(p - begin, way) / (way @ way), 0), 1)
            out.append(ca.sumsqr(p - begin - along * way) / (file.ball.radius + margin) ** 2)
    return ca.vertcat(*out)
