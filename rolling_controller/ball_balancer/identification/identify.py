"""
Delay, servos, gain, offset and resistance of a rig from a log, by maximum likelihood.

A second difference of places is exactly an integral of the acceleration between its frames, and
frees the likelihood of places and rates at the start. Its noise has the covariance that noise of
places gives it, and that of accelerations which the model does not know. The tilt follows from
the commands by the servos of the plant; derivatives are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rolling_controller.ball_balancer.identification.differences import Differences, differences
from rolling_controller.ball_balancer.identification.log import Log
from rolling_controller.ball_balancer.identification.servo_response import Response, response
from rolling_dynamics.errors import ParameterError
from scipy.optimize import least_squares, minimize
from scipy.stats import norm

Array = NDArray[np.float64]
NAMES = (
    'delay',
    'servo_acceleration',
    'servo_speed',
    'dead_band',
    'gain',
    'lever',
    'offset_x',
    'offset_y',
    'kinetic',
)
UNITS = ('s', 'counts/s^2', 'counts/s', 'counts', 'm/s^2/count', 'm/count', *['counts'] * 3)
START = np.array([0.06, 15000.0, 1500.0, 1.0, 4e-3, 1e-5, 0.0, 0.0, 5.0])
LOW = np.array([0.0, 500.0, 50.0, 0.0, 1e-4, -1e-3, -200.0, -200.0, 0.0])
HIGH = np.array([0.4, 1e6, 1e5, 50.0, 1.0, 1e-3, 200.0, 200.0, 100.0])
SERVO, GAIN, LEVER, OFFSET, KINETIC = slice(1, 4), 4, 5, slice(6, 8), 8
BUMPS, BUMP_SLOPE = 7, 12.0  # along each side; counts, of the slope that each may have
STIFFNESS = 100.0  # 1/s, of the servos close to their targets
WHILE_NOISE_CHANGES, IN_THE_END = 1e-4, 1e-7  # relative tolerances of a fit
CERTAIN = 0.3  # half width over value at which a log tells nothing of a number
CONFIDENCE = 0.95
ABSOLUTE = {
    'offset_x': 10.0,
    'offset_y': 10.0,
    'kinetic': 10.0,
    'dead_band': 5.0,
}  # counts, likewise
FEWEST = 200  # second differences of a ball that rolls
TELLS = {
    'delay': 'jumps of the set point of at least 40 mm, several each way',
    'gain': 'jumps of the set point of at least 40 mm, several each way',
    'servo_acceleration': 'jumps of the set point of at least 60 mm',
    'servo_speed': 'commands from one end of the reach to the other',
    'dead_band': 'jumps of the set point of at least 60 mm',
    'kinetic': 'a ball that rolls in all directions for a minute',
}


@dataclass(frozen=True, kw_only=True)
class Number:
    """A number with its unit and the half width of its 95 % interval; None where not told."""

    value: float
    unit: str
    half_width: float | None
    text: str = ''


@dataclass(frozen=True, kw_only=True)
class Identified:
    """
    What a log tells.

    Attributes
    ----------
    numbers
        By name.
    noise
        Standard deviation of a place [m], and of unknown accelerations [m/s^2].
    fit
        Share of the variance of the second differences beyond their noise that is explained.
    rolling
        Second differences that were used.
    slope
        ``place (2) -> slope (2)`` of the uneven plate beside the offset: coefficients of bumps.

    """

    numbers: Mapping[str, Number]
    noise: tuple[float, float]
    fit: float
    rolling: int
    slope: Array


class _Likelihood:
    """Whitened residuals of a log and their derivatives."""

    def __init__(self, log: Log, d: Differences) -> None:
        self.log, self.d = log, d
        self.noise = (5e-5, 0.02)
        self.size = len(NAMES) + d.bumps.shape[-1]
        self.scale = np.ones(self.size)
        self.scale[: len(NAMES)] = np.maximum(np.abs(START), 1.0)
        self.scale[0], self.scale[GAIN], self.scale[LEVER] = 0.05, 4e-3, 1e-5
        self._known: tuple[Array, Response] | None = None

    def tilt(self, values: Array) -> tuple[Array, Array]:
        """Return tilt times kernel and its second difference with derivatives, (k, 2, 5)."""
        limits = values[SERVO]
        if self._known is None or not np.array_equal(self._known[0], limits):
            self._known = limits.copy(), response(self.log, limits, STIFFNESS)
        r, d = self._known[1], self.d
        value, rate = r.at(d.nodes - values[0])
        kernel = d.weights[..., None, None]
        summed = _by_delay((kernel * value).sum(axis=1), (kernel * rate).sum(axis=1))
        value, rate = r.at(d.corners - values[0])
        ends = d.coefficients[..., None, None]
        moved = _by_delay((ends * value).sum(axis=1), (ends * rate).sum(axis=1))
        return summed, moved

    def raw(self, values: Array) -> tuple[Array, Array]:
        """Return residuals (k, 2) and their derivatives (k, 2, size)."""
        d, n = self.d, len(NAMES)
        gain, lever, kinetic = values[GAIN], values[LEVER], values[KINETIC]
        tilt, moved = self.tilt(values)
        whole = d.whole[:, None]
        slope = d.bumps @ values[n:]
        pull = tilt[..., 0] + whole * (values[OFFSET] + slope - kinetic * d.direction)
        J = np.zeros((*pull.shape, self.size))
        J[..., :GAIN] = gain * tilt[..., 1:] - lever * moved[..., 1:]
        J[..., GAIN] = pull
        J[..., LEVER] = -moved[..., 0]
        J[:, 0, OFFSET.start] = J[:, 1, OFFSET.start + 1] = gain * d.whole
        J[..., KINETIC] = -gain * whole * d.direction
        J[..., n:] = gain * whole[..., None] * d.bumps
        return gain * pull - lever * moved[..., 0] - d.second, J

    def whitened(self, z: Array) -> tuple[Array, Array]:
        """Return residuals and derivatives by scaled parameters, priors of the bumps below."""
        r, J = self.raw(z * self.scale)
        out, jacobian = [], []
        for axis in range(2):
            both = np.column_stack([r[:, axis], J[:, axis]])
            white = self.d.whitened(both, self.noise)
            out.append(white[:, 0])
            jacobian.append(white[:, 1:])
        prior = np.zeros((self.size - len(NAMES), self.size))
        prior[:, len(NAMES) :] = np.eye(len(prior)) / BUMP_SLOPE
        out.append(prior @ z)
        jacobian.append(prior)
        return np.concatenate(out), np.vstack(jacobian) * self.scale

    def fit(self, z: Array, tolerance: float) -> Array:
        """Return the scaled parameters of greatest likelihood, to a relative tolerance."""
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        low[: len(NAMES)], high[: len(NAMES)] = LOW, HIGH
        found = least_squares(
            lambda z: self.whitened(z)[0],
            np.clip(z, low / self.scale, high / self.scale),
            jac=lambda z: self.whitened(z)[1],
            bounds=(low / self.scale, high / self.scale),
            x_scale='jac',
            max_nfev=40,
            ftol=tolerance,
            xtol=tolerance,
        )
        return np.asarray(found.x)

    def fit_noise(self, z: Array) -> None:
        """Choose both variances by their likelihood."""
        r, _ = self.raw(z * self.scale)

        def cost(logs: Array) -> float:
            return self.d.negative_log_likelihood(r, tuple(np.exp(logs)))

        start = np.log(self.noise)
        found = minimize(cost, start, method='Nelder-Mead', options={'xatol': 0.02, 'fatol': 0.1})
        s, q = np.exp(found.x).tolist()
        self.noise = (s, q)


def _by_delay(value: Array, rate: Array) -> Array:
    """Return tilt and its derivatives by delay and limits of the servos, (k, 2, 5)."""
    return np.stack([value[:, 0], -rate[:, 0], value[:, 1], value[:, 2], value[:, 3]], axis=-1)


def identify(log: Log) -> Identified:
    """
    Return the numbers of a rig.

    Parameters
    ----------
    log
        Two minutes with jumps of the set point will do.

    Raises
    ------
    ParameterError
        The ball hardly rolls in the log.

    """
    if np.isfinite(log.ball).all(axis=1).sum() < FEWEST:
        raise ParameterError(
            f'the ball is seen in fewer than {FEWEST} frames of this log: check the camera'
        )
    d = differences(log, BUMPS)
    if len(d.whole) < FEWEST:
        raise ParameterError(
            f'the ball rolls in {len(d.whole)} frames of this log, at least {FEWEST} are needed: '
            'log two minutes with jumps of the set point of at least 40 mm'
        )
    likelihood = _Likelihood(log, d)
    z = np.zeros(likelihood.size)
    z[: len(NAMES)] = START / likelihood.scale[: len(NAMES)]
    for _ in range(2):
        z = likelihood.fit(z, WHILE_NOISE_CHANGES)
        likelihood.fit_noise(z)
    z = likelihood.fit(z, IN_THE_END)
    values = z * likelihood.scale
    _, J = likelihood.whitened(z)
    covariance = np.linalg.pinv(J.T @ J)
    spread = np.sqrt(np.diag(covariance)) * likelihood.scale
    many = float(norm.ppf((1 + CONFIDENCE) / 2))
    numbers = {}
    for k, (name, unit) in enumerate(zip(NAMES, UNITS, strict=True)):
        numbers[name] = _number(name, float(values[k]), unit, many * float(spread[k]), k)
    r, _ = likelihood.raw(values)
    return Identified(
        numbers=numbers,
        noise=likelihood.noise,
        fit=1 - float(np.var(r) / np.var(d.second)),
        rolling=len(d.whole),
        slope=values[len(NAMES) :],
    )


def _number(name: str, value: float, unit: str, half: float, k: int) -> Number:
    """Return a number, or that the log does not tell it."""
    relative = not name.startswith(('offset', 'kinetic', 'lever', 'dead_band'))
    untold = half > CERTAIN * abs(value) if relative else half > ABSOLUTE.get(name, np.inf)
    at_end = value <= LOW[k] * (1 + 1e-6) or value >= HIGH[k] * (1 - 1e-6)
    if untold or (at_end and relative) or not np.isfinite(half):
        return Number(
            value=value, unit=unit, half_width=None, text=TELLS.get(name, TELLS['kinetic'])
        )
    return Number(value=value, unit=unit, half_width=half)
