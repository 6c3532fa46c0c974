"""The tilt that servos give to logged commands, with exact derivatives by their limits."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_controller.ball_balancer.identification.log import Log
from rolling_dynamics.ball_balancer.servo import servo_acceleration

Array = NDArray[np.float64]
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
