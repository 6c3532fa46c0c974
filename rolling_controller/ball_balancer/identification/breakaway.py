"""
The breakaway tilt over the plate, from where a ball that was put down stayed and where it rolled.

A servo that moves by a count shakes the plate by far more than the breakaway tilt: while commands
change, a ball at rest sets off as soon as the pull is above its kinetic resistance. A plate that
stands still is what tells the breakaway tilt.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rolling_controller.ball_balancer.identification.log import Log
from scipy.special import ndtr, ndtri

Array = NDArray[np.float64]
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
