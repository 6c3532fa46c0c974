"""
Delay, servos, gain, offset and resistances of a rig from a log, by maximum likelihood.

A second difference of places is exactly an integral of the acceleration between its frames, and
frees the likelihood of places and rates at the start. Its noise has the covariance that noise of
places gives it, and that of accelerations which the model does not know. The tilt follows from
the commands by the servos of the plant, the acceleration from its equations; slope and kinetic
resistance vary over the plate. Derivatives are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from rolling_controller.ball_balancer.identification.differences import (
    Differences,
    differences,
    UNEVEN_OVER,
)
from rolling_controller.ball_balancer.identification.log import Log
from rolling_controller.ball_balancer.identification.servo_response import (
    beyond_proportion,
    Breakaway,
    breakaway,
    PULL,
    put_downs,
    PutDown,
    Response,
    response,
)
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.identification.intervals import Estimate, jackknife
from scipy.optimize import least_squares, minimize
from scipy.special import ndtri

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
BUMP_SLOPE, BUMP_ROUGH = 12.0, 1.5  # counts, of slope and kinetic resistance of a bump: priors
STIFFNESS = 100.0  # 1/s, of the servos close to their targets
WHILE_NOISE_CHANGES, IN_THE_END = 1e-4, 1e-7  # relative tolerances of a fit
CERTAIN = 0.3  # half width over value at which a log does not determine a parameter
CONFIDENCE = 0.95
EXPLAINED = 0.05  # of the variance of second differences, below which a fit explains nothing
ABSOLUTE = {
    'offset_x': 10.0,
    'offset_y': 10.0,
    'kinetic': 10.0,
    'dead_band': 5.0,
    'breakaway': 6.0,
}  # counts, likewise
FEWEST = 150  # second differences of a ball that rolls
TELLS = {
    'delay': 'jumps of the set point of at least 40 mm, several each way',
    'gain': 'jumps of the set point of at least 40 mm, several each way',
    'servo_acceleration': 'jumps of the set point of at least 60 mm',
    'servo_speed': 'commands from one end of the reach to the other',
    'dead_band': 'jumps of the set point of at least 60 mm',
    'kinetic': 'a ball that rolls in all directions for a minute',
    'breakaway': 'a ball put down by hand at rest at 20 places, out of view before, while the '
    'plate is held still at tilts at which it stays and at which it rolls',
}


@dataclass(frozen=True, kw_only=True)
class Identified:
    """
    What a log determines.

    Attributes
    ----------
    numbers
        By name; offsets and kinetic resistance are means over the frames in which the ball rolls,
        the breakaway tilt is the mean over the places where it was put down.
    offset_map
        Places x and y [m] where the ball rolled, offsets there, and the half widths of their 95 %
        intervals [counts], shape (k, 6).
    breakaway_map
        Places x and y [m], breakaway tilt there and the half width of its 95 % interval [counts],
        shape (k, 4); nothing where the ball was not put down.
    noise
        Standard deviation of a place [m], and of unknown accelerations [m/s^2].
    fit
        Fraction of the variance of the second differences beyond their noise that is explained.
    times
        Of the frames in which the ball rolls [s], shape (k,).
    accelerations
        Means over two intervals about each, as measured and as of the model [m/s^2], (k, 2, 2).
    residuals
        What is between them, scaled so that noise as above has unit variance, shape (k, 2).

    """

    numbers: Mapping[str, Estimate]
    offset_map: Array
    breakaway_map: Array
    noise: tuple[float, float]
    fit: float
    times: Array
    accelerations: Array
    residuals: Array


class _Likelihood:
    """Whitened residuals of a log and their derivatives."""

    def __init__(self, log: Log, d: Differences) -> None:
        self.log, self.d = log, d
        self.noise = (5e-5, 0.02)
        self.priors = np.repeat([BUMP_SLOPE, BUMP_ROUGH], [d.bumps.shape[-1], d.rough.shape[-1]])
        self.size = len(NAMES) + self.priors.size
        self.scale = np.ones(self.size)
        self.scale[: len(NAMES)] = np.maximum(np.abs(START), 1.0)
        self.scale[0], self.scale[GAIN], self.scale[LEVER] = 0.05, 4e-3, 1e-5
        self._known: tuple[Array, Response] | None = None

    def response(self, values: Array) -> Response:
        """Return the tilt for limits of the servos; the last one is kept."""
        limits = values[SERVO]
        if self._known is None or not np.array_equal(self._known[0], limits):
            self._known = limits.copy(), response(self.log, limits, STIFFNESS)
        return self._known[1]

    def raw(self, values: Array) -> tuple[Array, Array]:
        """Return residuals (k, 2) and their derivatives (k, 2, size)."""
        d, n, r = self.d, len(NAMES), self.response(values)
        gain, lever, kinetic = values[GAIN], values[LEVER], values[KINETIC]
        smooth, rough = np.split(values[n:], [d.bumps.shape[-1]])
        tilts, rates, bends = r.at(d.nodes - values[0])
        _, passing, turning = r.at(d.edges - values[0])
        width = np.diff(d.edges, axis=1)[..., None, None]
        accelerations = np.diff(passing, axis=1) / width  # means, as those of a servo jump
        jerks = np.diff(turning, axis=1) / width
        turns = np.concatenate([tilts, rates, accelerations], axis=-1)
        later = np.concatenate([rates, bends, jerks], axis=-1)[..., 0, :]
        more, by_gain, by_servo = self._more(gain, turns, later)
        kernel = d.weights[..., None, None]
        tilt = _by_delay((kernel * tilts).sum(axis=1), (kernel * rates).sum(axis=1))
        ends, moving, _ = r.at(d.corners - values[0])
        three = d.coefficients[..., None, None]
        moved = _by_delay((three * ends).sum(axis=1), (three * moving).sum(axis=1))
        against = d.whole[:, None] * d.direction
        resistance = kinetic + d.rough @ rough
        whole = d.whole[:, None]
        pull = tilt[..., 0] + whole * (values[OFFSET] + d.bumps @ smooth)
        pull -= resistance[:, None] * against
        J = np.zeros((*pull.shape, self.size))
        J[..., :GAIN] = gain * tilt[..., 1:] - lever * moved[..., 1:] + by_servo
        J[..., GAIN] = pull + by_gain
        J[..., LEVER] = -moved[..., 0]
        J[:, 0, OFFSET.start] = J[:, 1, OFFSET.start + 1] = gain * d.whole
        J[..., KINETIC] = -gain * against
        J[..., n : n + smooth.size] = gain * whole[..., None] * d.bumps
        J[..., n + smooth.size :] = -gain * against[..., None] * d.rough[:, None]
        return gain * pull + more - lever * moved[..., 0] - d.second, J

    def _more(self, gain: float, turns: Array, later: Array) -> tuple[Array, Array, Array]:
        """
        Return what :func:`beyond_proportion` adds, by gain, and by delay and servos.

        Parameters
        ----------
        gain
            Of the rig [m/s^2].
        turns
            Tilt, its rate and acceleration at the nodes with their derivatives, (k, n, 4, 6).
        later
            What they change with the time, (k, n, 6).

        """
        d, angle, shape = self.d, gain / PULL, self.d.weights.shape
        ball, ball_rate = (v.reshape(-1, 2) for v in (d.ball, d.ball_rate))
        turned = angle * turns[..., 0, :].reshape(-1, 6)
        more, slopes = beyond_proportion(ball, ball_rate, turned)
        slopes = d.weights[..., None, None] * slopes.reshape(*shape, 2, 6)
        by_servo = np.concatenate([-later[..., None, :], turns[..., 1:, :]], axis=-2)
        return (
            np.einsum('kn,kna->ka', d.weights, more.reshape(*shape, 2)),
            np.einsum('knab,knb->ka', slopes, turns[..., 0, :]) / PULL,
            angle * np.einsum('knab,knjb->kaj', slopes, by_servo),
        )

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
        prior[:, len(NAMES) :] = np.diag(1 / self.priors)
        out.append(prior @ z)
        jacobian.append(prior)
        return np.concatenate(out), np.vstack(jacobian) * self.scale

    def fit(self, z: Array, tolerance: float) -> Array:
        """Return the scaled parameters of greatest likelihood, to a relative tolerance."""
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        low[: len(NAMES)], high[: len(NAMES)] = LOW, HIGH
        known: dict[bytes, Array] = {}  # derivatives come with the residuals

        def residuals(z: Array) -> Array:
            out, J = self.whitened(z)
            known.clear()
            known[z.tobytes()] = J
            return out

        found = least_squares(
            residuals,
            np.clip(z, low / self.scale, high / self.scale),
            jac=lambda z: known[z.tobytes()] if z.tobytes() in known else self.whitened(z)[1],
            bounds=(low / self.scale, high / self.scale),
            x_scale='jac',
            max_nfev=40,
            ftol=tolerance,
            xtol=tolerance,
        )
        return np.asarray(found.x)

    def covariance(self, z: Array) -> Array:
        """
        Return the covariance of scaled parameters that a fit gave.

        A roll is left out at a time: what the bumps do not know of the plate errs in one
        direction for a whole roll, and few rolls determine the limits of the servos.
        """
        r, J = self.whitened(z)
        rows = 2 * len(self.d.whole)
        return jackknife(J[:rows], r[:rows], np.tile(self.d.roll, 2), J[rows:])

    def fit_noise(self, z: Array) -> None:
        """Choose both variances by their likelihood."""
        r, _ = self.raw(z * self.scale)

        def cost(logs: Array) -> float:
            return self.d.negative_log_likelihood(r, tuple(np.exp(logs)))

        start = np.log(self.noise)
        found = minimize(cost, start, method='Nelder-Mead', options={'xatol': 0.02, 'fatol': 0.1})
        s, q = np.exp(found.x).tolist()
        self.noise = (s, q)

    def pulls(self, values: Array, found: PutDown) -> tuple[Array, Array]:
        """Return pulls [counts] where a ball was put down (k,), and derivatives (k, size)."""
        n, bumps = len(NAMES), self.d.bumps_at(found.places)
        smooth = values[n : n + bumps.shape[-1]]
        tilts, _, _ = self.response(values).at(found.times - values[0])
        pull = tilts[:, 0] + values[OFFSET] + bumps @ smooth
        along = pull / np.maximum(np.hypot(*pull.T), 1e-9)[:, None]
        J = np.zeros((len(pull), self.size))
        J[:, SERVO] = np.einsum('ka,kja->kj', along, tilts[:, 1:])
        J[:, OFFSET] = along
        J[:, n : n + smooth.size] = np.einsum('ka,kab->kb', along, bumps)
        return np.hypot(*pull.T), J

    def offsets(self, values: Array, covariance: Array) -> tuple[Array, Array, Array]:
        """
        Return where the ball rolled [m], offsets there [counts] and their spreads, (k, 2) each.

        ``covariance`` is that of the scaled parameters.
        """
        n, middles = len(NAMES), self.d.middles
        away = np.linalg.norm(self.d.ball.mean(axis=1)[:, None] - middles, axis=-1)
        places = middles[(away < UNEVEN_OVER / 2).any(axis=0)]
        bumps = self.d.bumps_at(places)
        J = np.zeros((len(places), 2, self.size))
        J[:, 0, OFFSET.start] = J[:, 1, OFFSET.start + 1] = 1
        J[..., n : n + bumps.shape[-1]] = bumps
        scaled = J * self.scale
        spreads = np.sqrt(np.einsum('kaj,jl,kal->ka', scaled, covariance, scaled))
        return places, J @ values, spreads


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
        The ball hardly rolls in the log, or over an area too large to be a plate's.

    """
    if np.isfinite(log.ball).all(axis=1).sum() < FEWEST:
        raise ParameterError(
            f'the ball is seen in fewer than {FEWEST} frames of this log: check the camera'
        )
    d = differences(log)
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
    covariance = likelihood.covariance(z)
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0)) * likelihood.scale
    r, _ = likelihood.raw(values)
    fit = 1 - float(np.var(r) / np.var(d.second))
    many = float(ndtri((1 + CONFIDENCE) / 2))
    numbers = {}
    for k, (name, unit) in enumerate(zip(NAMES, UNITS, strict=True)):
        half = many * float(spread[k]) if fit > EXPLAINED else np.inf
        numbers[name] = _number(name, float(values[k]), unit, half, k)
    found = put_downs(log)
    pulls, by_values = likelihood.pulls(values, found)
    scaled = by_values * likelihood.scale
    resting = breakaway(found, pulls, scaled @ covariance @ scaled.T) if len(pulls) else None
    numbers['breakaway'] = _breakaway(resting, many)
    places, offsets, spreads = likelihood.offsets(values, covariance)
    return Identified(
        numbers=numbers,
        offset_map=np.column_stack([places, offsets, many * spreads]),
        breakaway_map=np.empty((0, 4))
        if resting is None
        else np.column_stack([found.places, resting.values, many * resting.spreads]),
        noise=likelihood.noise,
        fit=fit,
        times=d.corners[:, 1],
        accelerations=np.stack([d.second, d.second + r], axis=1) / d.whole[:, None, None],
        residuals=np.column_stack([d.whitened(r[:, k], likelihood.noise) for k in range(2)]),
    )


def _number(name: str, value: float, unit: str, half: float, k: int) -> Estimate:
    """Return a parameter, or that the log does not determine it."""
    relative = not name.startswith(('offset', 'kinetic', 'lever', 'dead_band'))
    untold = half > CERTAIN * abs(value) if relative else half > ABSOLUTE.get(name, np.inf)
    at_end = value <= LOW[k] * (1 + 1e-6) or value >= HIGH[k] * (1 - 1e-6)
    if untold or (at_end and relative) or not np.isfinite(half):
        return Estimate(
            value=value,
            unit=unit,
            half_width=None,
            text=f'not determined: log {TELLS.get(name, TELLS["kinetic"])}',
        )
    return Estimate(value=value, unit=unit, half_width=half)


def _breakaway(found: Breakaway | None, many: float) -> Estimate:
    """Return the mean breakaway tilt, or that the log does not determine it."""
    if found is None or many * found.spread > ABSOLUTE['breakaway']:
        value = np.nan if found is None else found.mean
        return Estimate(
            value=value,
            unit='counts',
            half_width=None,
            text=f'not determined: log {TELLS["breakaway"]}',
        )
    return Estimate(value=found.mean, unit='counts', half_width=many * found.spread)
