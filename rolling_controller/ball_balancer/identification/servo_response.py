"""
Breakaway of the ball, turns of the plate and response of the servos, each from a log.

A servo that moves by a count shakes the plate by far more than the breakaway tilt: while commands
change, a ball at rest sets off as soon as the pull is above its kinetic resistance. A plate that
stands still shows the breakaway tilt.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_controller.ball_balancer.identification.log import Log
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.drives import Gimbal
from rolling_dynamics.ball_balancer.plate import carry_ball, several
from rolling_dynamics.ball_balancer.scenario import INERTIAS
from rolling_dynamics.driven import servo_acceleration
from rolling_dynamics.mechanism import Machine
from scipy.special import ndtr, ndtri

STILL_BEFORE, WATCHED = 0.4, 0.6  # s that commands stay, before the ball is put down and after
ROLLED = 5e-4  # m in that time
PUSHED = 0.015  # m/s, of a ball that was not put down at rest
MEAN, UNKNOWN = 20.0, 20.0  # counts, and its standard deviation: prior of the mean over the plate
VARIES, OVER = 5.0, 0.015  # counts over m: prior of what differs from that
UNCERTAIN = 0.1  # counts, of a pull
CHAINS, SWEEPS, FORGOTTEN = 200, 400, 100  # of the sampler


class PutDown(NamedTuple):
    """Where (k, 2) [m] and when (k,) [s] a ball was put down, and whether it stayed (k,)."""

    places: Array
    times: Array
    stayed: NDArray[np.bool_]


class Breakaway(NamedTuple):
    """Breakaway tilts [counts] at places (k,), and their mean, with standard deviations."""

    values: Array
    spreads: Array
    mean: float
    spread: float


def put_downs(log: Log) -> PutDown:
    """Return where a ball came to view at rest on a plate that stands still."""
    t, y = log.times, log.ball
    seen = np.asarray(np.isfinite(y).all(axis=1))
    rows = []
    for k in np.flatnonzero(seen[1:] & ~seen[:-1]) + 1:
        first = max(np.searchsorted(t, t[k] - STILL_BEFORE, side='right') - 1, 0)
        last = np.searchsorted(t, t[k] + WATCHED)
        if last >= t.size or last < k + 2 or not seen[k:last].all() or t[k] - t[0] < STILL_BEFORE:
            continue
        if np.any(log.tilt[first:last] != log.tilt[k]):
            continue
        if np.hypot(*(y[k + 2] - y[k])) < PUSHED * (t[k + 2] - t[k]):
            rows.append((*y[k], t[k], np.hypot(*(y[last - 1] - y[k])) < ROLLED))
    table = np.array(rows).reshape(-1, 4)
    return PutDown(table[:, :2], table[:, 2], table[:, 3] > 0)


def breakaway(found: PutDown, pulls: Array, covariance: Array) -> Breakaway:
    """
    Return the breakaway tilts where a ball was put down.

    A ball stays where they are above the pull. They are a Gaussian field; its values less the
    pulls, given their signs, are drawn one by one (Gibbs sampling of a truncated normal).

    Parameters
    ----------
    found
        At least one.
    pulls, covariance
        Pulls of tilt and slope there [counts], shape (k,), and what is not known of them (k, k).

    """
    away = ((found.places[:, None] - found.places) ** 2).sum(axis=-1)
    field = UNKNOWN**2 + VARIES**2 * np.exp(-away / (2 * OVER**2))
    whole = field + covariance + UNCERTAIN**2 * np.eye(len(pulls))
    precision, middle = np.linalg.inv(whole), MEAN - pulls
    sign, rng = np.where(found.stayed, 1.0, -1.0), np.random.default_rng(0)
    g = np.tile(VARIES * sign, (CHAINS, 1))
    kept = []
    for sweep in range(SWEEPS):
        for k, s in enumerate(sign):
            wide = 1 / np.sqrt(precision[k, k])
            mean = g[:, k] - wide**2 * ((g - middle) @ precision[k])
            share = np.maximum(rng.random(CHAINS) * ndtr(s * mean / wide), 1e-300)
            g[:, k] = mean - s * wide * ndtri(share)
        if sweep >= FORGOTTEN:
            kept.append(g.copy())
    follows = field @ precision
    values = MEAN + (np.concatenate(kept) - middle) @ follows.T
    left = field - follows @ field
    means = values.mean(axis=1)
    return Breakaway(
        values.mean(axis=0),
        np.sqrt(values.var(axis=0) + np.diag(left)),
        float(means.mean()),
        float(np.sqrt(means.var() + left.mean())),
    )


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
    p = {'mass': ca.SX(1.0), 'radius': ca.SX(RADIUS), 'surface_height': ca.SX(0.0)}
    p |= {'gravity': ca.SX(GRAVITY), 'inertia': ca.SX(INERTIAS['solid'] * RADIUS**2)}
    acceleration = carry_ball(machine, state, Gimbal().pose(tilt, p), p)
    turns = ca.vertcat(tilt, rate, acceleration)
    more = machine.dynamics.rates - PULL * tilt + RADIUS * acceleration
    slopes = ca.densify(ca.jacobian(more, turns))
    return ca.Function('beyond', [ball, ball_rate, turns], [more, slopes])


LONGEST = 4.5e-3  # s, of a step


class Response(NamedTuple):
    """
    Tilt over time, as if commands took effect at once.

    ``values`` has tilt, its derivatives by acceleration, speed and dead band of the servos, and
    the rates of all four: shape (k, 8, 2), at ``times`` (k,).
    """

    times: Array
    values: Array

    def at(self, times: Array) -> tuple[Array, Array, Array]:
        """
        Return tilt [counts] and its derivatives, and the rates of all of them, shape (..., 4, 2).

        And what those rates change with the time, likewise.
        """
        k = np.clip(np.searchsorted(self.times, times, side='right') - 1, 0, self.times.size - 2)
        h = (self.times[k + 1] - self.times[k])[..., None, None]
        s = np.clip((times - self.times[k])[..., None, None] / h, 0.0, 1.0)
        a, b = self.values[k], self.values[k + 1]
        p0, p1, m0, m1 = a[..., :4, :], b[..., :4, :], h * a[..., 4:, :], h * b[..., 4:, :]
        value = (
            (1 + 2 * s) * (1 - s) ** 2 * p0
            + s * (1 - s) ** 2 * m0
            + s**2 * (3 - 2 * s) * p1
            - s**2 * (1 - s) * m1
        )
        rate = 6 * s * (1 - s) * (p1 - p0) + (1 - 4 * s + 3 * s**2) * m0 + (3 * s**2 - 2 * s) * m1
        bend = (12 * s - 6) * (p0 - p1) + (6 * s - 4) * m0 + (6 * s - 2) * m1
        return value, rate / h, bend / h**2


def response(log: Log, limits: Array, stiffness: float) -> Response:
    """
    Return the tilt for a log's commands.

    Limits are acceleration, speed and dead band [counts/s^2, counts/s, counts], shape (3,).
    """
    spans = np.diff(log.times)
    counts = np.ceil(spans / LONGEST).astype(int)
    steps = np.repeat(spans / counts, counts)
    commands = np.repeat(log.tilt[:-1], counts, axis=0)
    start = np.zeros(16)
    start[:2] = log.tilt[0]
    run = _steps(steps.size)
    given = np.append(limits, stiffness)
    states = np.array(run(start, commands.T, steps, np.tile(given[:, None], steps.size)))
    values = np.vstack([start, states.T]).reshape(-1, 8, 2)
    times = log.times[0] + np.concatenate([[0.0], np.cumsum(steps)])
    return Response(times, values)


@lru_cache(maxsize=1)
def _steps(count: int) -> ca.Function:
    """Return the steps of a log as one function: building it takes as long as evaluating it."""
    return _step().mapaccum(count)


@cache
def _step() -> ca.Function:
    """Return a step of the servos with sensitivities: tilt, by each limit, then rates."""
    z, u, h, limits = (ca.SX.sym(n, k) for n, k in (('z', 16), ('u', 2), ('h', 1), ('limits', 4)))
    tilt, rate = z[0:2], z[8:10]
    p = {
        'servo_acceleration': limits[0],
        'servo_speed': limits[1],
        'servo_stiffness': limits[3],
        'dead_band': limits[2],
    }
    x = ca.vertcat(tilt, rate)

    def f(y: ca.SX) -> ca.SX:
        return ca.vertcat(y[2:], servo_acceleration(u, y[:2], y[2:], p))

    k1 = f(x)
    k2 = f(x + h / 2 * k1)
    k3 = f(x + h / 2 * k2)
    k4 = f(x + h * k3)
    after = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    parts = [after]
    for k in range(3):
        moved = ca.vertcat(z[2 + 2 * k : 4 + 2 * k], z[10 + 2 * k : 12 + 2 * k])
        parts.append(ca.jtimes(after, x, moved) + ca.jacobian(after, limits[k]))
    tilts, rates = [part[:2] for part in parts], [part[2:] for part in parts]
    return ca.Function('servo_step', [z, u, h, limits], [ca.vertcat(*tilts, *rates)])
