"""Second differences of the places in a log: what they integrate, and the noise that they have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rolling_controller.ball_balancer.identification.log import Log
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from scipy import sparse
from scipy.linalg import cholesky_banded, solve_banded

NODES = 6  # of the integral, in each of both intervals
SLOWEST = 0.015  # m/s: slower, the direction of rolling resistance is not certain
UNEVEN_OVER, ROUGH_OVER = 0.02, 0.015  # m, between bumps: of the slope, of the resistance
MOST = 1e8  # bumps times frames; an hour on a plate of 0.2 m has 7e7
UNEVEN = 1.5  # longest interval over the usual one


@dataclass(frozen=True, eq=False, kw_only=True)
class Differences:
    """
    Second differences of a ball that rolls.

    Attributes
    ----------
    second
        ``y[i+1] - y[i] - (h2/h1)(y[i] - y[i-1])`` [m], shape (k, 2).
    corners, coefficients
        Times of the three places and what they are multiplied with, shape (k, 3).
    nodes, weights
        Times [s] and weights [s^2] of the integral of the acceleration that it is, (k, n).
    whole
        Their sum [s^2], shape (k,).
    direction
        Unit vector of the motion, shape (k, 2).
    edges
        Times between nodes, and before and after them [s], shape (k, n + 1).
    ball, ball_rate
        Places [m] and rates [m/s] at the nodes, shape (k, n, 2).
    bumps
        Slopes of the bumps of the plate at the place, shape (k, 2, bumps), less their means.
    middles, slopes
        Where those bumps are [m], shape (bumps, 2), and the means, shape (2, bumps).
    rough
        Bumps of the kinetic resistance there, shape (k, many), less their means.
    roll
        In which roll of the ball, from 0 on, shape (k,).
    bands
        Of the covariance that places of unit variance give, and of accelerations of unit
        variance: lower bands, shape (3, k) and (k,).

    """

    second: Array
    corners: Array
    coefficients: Array
    nodes: Array
    weights: Array
    whole: Array
    direction: Array
    edges: Array
    ball: Array
    ball_rate: Array
    bumps: Array
    middles: Array
    slopes: Array
    rough: Array
    roll: NDArray[np.intp]
    bands: tuple[Array, Array]

    def bumps_at(self, places: Array) -> Array:
        """Return what ``bumps`` has, at other places (k, 2) [m]."""
        return _bumps(places, self.middles, UNEVEN_OVER)[1] - self.slopes

    def factor(self, noise: tuple[float, float]) -> Array:
        """Return the banded Cholesky factor [m] of the covariance, shape (3, k)."""
        bands = noise[0] ** 2 * self.bands[0]
        bands[0] += noise[1] ** 2 * self.bands[1]
        return np.asarray(cholesky_banded(bands, lower=True))

    def whitened(self, columns: Array, noise: tuple[float, float]) -> Array:
        """Return columns, shape (k, ...), scaled so that their noise has unit variance."""
        return np.asarray(solve_banded((2, 0), self.factor(noise), columns))

    def negative_log_likelihood(self, r: Array, noise: tuple[float, float]) -> float:
        """Return it for residuals, shape (k, 2) [m], less a constant."""
        white = self.whitened(r, noise)
        return float((white**2).sum() / 2 + 2 * np.log(self.factor(noise)[0]).sum())


def differences(log: Log) -> Differences:
    """
    Return the second differences of the frames of a log in which the ball rolls.

    Parameters
    ----------
    log
        Frames and commands of a rig.

    Raises
    ------
    ParameterError
        The area over which it rolls is so large that the bumps of the plate do not fit in memory.

    """
    t, y = log.times, log.ball
    h = np.diff(t)
    usual = np.median(h)
    h1, h2 = h[:-1], h[1:]
    rate = (y[2:] - y[:-2]) / (h1 + h2)[:, None]
    speed = np.hypot(*rate.T)
    steps = np.diff(y, axis=0) / h[:, None]
    speeds = np.hypot(*steps.T)
    # a mean speed may be fast enough where the ball rests or turns back for a part of its
    # interval, but not where those before and after are too
    fast = np.concatenate([[False], speeds > SLOWEST, [False]])
    rolls = fast[:-3] & fast[1:-2] & fast[2:-1] & fast[3:] & (speed > SLOWEST)
    i = np.flatnonzero(rolls & (np.maximum(h1, h2) < UNEVEN * usual))
    ratio = (h2 / h1)[i]
    second = y[i + 2] - y[i + 1] - ratio[:, None] * (y[i + 1] - y[i])
    share, ends = (np.arange(NODES) + 0.5) / NODES, np.arange(NODES + 1) / NODES
    nodes = np.hstack(
        [t[i][:, None] + share * h1[i][:, None], t[i + 1][:, None] + share * h2[i][:, None]]
    )
    rising, falling = share * h2[i][:, None], (1 - share) * h2[i][:, None]
    weights = np.hstack([rising * h1[i][:, None], falling * h2[i][:, None]]) / NODES
    whole = weights.sum(axis=1)
    middles, resisting = (_grid(y[i + 1], spacing) for spacing in (UNEVEN_OVER, ROUGH_OVER))
    if i.size * (len(middles) + len(resisting)) > MOST:
        raise ParameterError(
            f'the ball rolls in {i.size} frames over {np.ptp(y[i + 1, 0]):.3g} by '
            f'{np.ptp(y[i + 1, 1]):.3g} m, too large to find how uneven the plate is: check that '
            'ball_x and ball_y are positions on the plate in metres, or shorten the log'
        )
    _, bumps = _bumps(y[i + 1], middles, UNEVEN_OVER)
    rough, _ = _bumps(y[i + 1], resisting, ROUGH_OVER)
    slopes = bumps.mean(axis=0) if len(bumps) else np.zeros(bumps.shape[1:])
    return Differences(
        second=second,
        corners=np.column_stack([t[i], t[i + 1], t[i + 2]]),
        coefficients=np.column_stack([ratio, -1 - ratio, np.ones(i.size)]),
        nodes=nodes,
        weights=weights,
        whole=whole,
        direction=rate[i] / speed[i][:, None],
        edges=np.hstack(
            [t[i][:, None] + ends * h1[i][:, None], t[i + 1][:, None] + ends[1:] * h2[i][:, None]]
        ),
        ball=np.hstack([_between(y[i], y[i + 1], share), _between(y[i + 1], y[i + 2], share)]),
        ball_rate=np.repeat(np.stack([steps[i], steps[i + 1]], axis=1), NODES, axis=1),
        bumps=bumps - slopes,
        middles=middles,
        slopes=slopes,
        rough=_centred(rough),
        roll=np.cumsum(np.diff(i, prepend=i[:1]) > 1),
        bands=_bands(i, ratio, t.size, whole),
    )


def _between(a: Array, b: Array, share: Array) -> Array:
    return np.asarray(a[:, None] + share[:, None] * (b - a)[:, None])


def _centred(bumps: Array) -> Array:
    """Return bumps less their means, so that the number beside them is the mean over frames."""
    return bumps - bumps.mean(axis=0) if len(bumps) else bumps


def _grid(places: Array, spacing: float) -> Array:
    """Return a grid over places (k, 2), shape (many, 2)."""
    low, high = places.min(axis=0, initial=0.0), places.max(axis=0, initial=0.0)
    lines = [np.arange(a, b + spacing, spacing) for a, b in zip(low, high, strict=True)]
    return np.array(np.meshgrid(*lines)).reshape(2, -1).T


def _bumps(places: Array, middles: Array, spacing: float) -> tuple[Array, Array]:
    """Return sizes (k, many) and slopes (k, 2, many) of bumps [1] at places (k, 2)."""
    away = (places[:, None] - middles) / spacing
    size = np.exp(-(away**2).sum(axis=-1) / 2)
    return size, np.moveaxis(away * size[..., None], 1, 2)


def _bands(i: NDArray[np.intp], ratio: Array, rows: int, whole: Array) -> tuple[Array, Array]:
    """Return the lower bands of D D^T, and the squares of the weights."""
    k = np.arange(i.size)
    columns = np.concatenate([i, i + 1, i + 2])
    values = np.concatenate([ratio, -1 - ratio, np.ones(i.size)])
    D = sparse.csr_matrix((values, (np.tile(k, 3), columns)), shape=(i.size, rows))
    C = (D @ D.T).todia()
    bands = np.zeros((3, i.size))
    for j in range(3):
        bands[j, : i.size - j] = C.diagonal(-j)
    return bands, whole**2
