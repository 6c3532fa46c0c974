"""Gain of a rig and offsets of an uneven plate, learned while the ball rolls."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from rolling_controller.ball_balancer.estimator import RigModel
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry

STEEP, LENGTH = 8.0, 0.05  # counts (standard deviation of a slope), m: of the field expected
REACH = 0.06  # m: beyond this distance along each axis the map is constant
SCALE = 0.05  # m, that counts as one in the polynomials
DEGREE = 4
POWERS = tuple((i, n - i) for n in range(1, DEGREE + 1) for i in range(n, -1, -1))
SIZE = len(POWERS)
ACROSS = 9  # places along each side at which field and polynomials are compared


def rows(place: ca.SX) -> ca.SX:
    """Return offsets that coefficients [counts] give at a place (2) [m], shape (2, SIZE)."""
    u = ca.fmax(ca.fmin(place, REACH), -REACH) / SCALE
    powers = [[ca.SX(1), u[k]] for k in range(2)]
    for k in range(2):
        for _ in range(DEGREE - 1):
            powers[k].append(powers[k][-1] * u[k])
    x, y = powers
    along_x = [i * x[i - 1] * y[j] if i else ca.SX(0) for i, j in POWERS]
    along_y = [j * x[i] * y[j - 1] if j else ca.SX(0) for i, j in POWERS]
    return ca.vertcat(ca.horzcat(*along_x), ca.horzcat(*along_y))


def prior() -> Array:
    """Return the covariance of the coefficients [counts^2], shape (SIZE, SIZE)."""
    along = np.linspace(-REACH, REACH, ACROSS)
    x, y = (axis.ravel() for axis in np.meshgrid(along, along))
    apart = (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2
    heights = (STEEP * LENGTH / SCALE) ** 2 * np.exp(-apart / (2 * LENGTH**2))
    each = [(x / SCALE) ** i * (y / SCALE) ** j for i, j in ((0, 0), *POWERS)]
    fit = np.linalg.pinv(np.column_stack(each))[1:]
    return np.asarray(fit @ heights @ fit.T)


SPREAD = (0.2, 0.02, 10.0)  # expected of share, of delay [s] and of resistance [counts]
UNKNOWN = 40.0  # counts, of the noise and of unmodelled effects in one frame
SLOWEST = 0.02  # m/s, below which a ball may rest
# Of the share. A weaker rig is left alone: it is only slower, but swings where it is thought to
# be weaker than it is.
RANGE = (1.0, 1.6)
WORTH = 0.06  # change of the fraction below which a law stays unchanged
SURE = 2.0  # standard deviations that a change must have
N = 3 + SIZE

ENTRIES = (
    Entry('share', ('share',), '', text='gain to use over the assumed one'),
    Entry('learned', ('learned_share', 'learned_delay', 'learned_resistance'), ''),
    Entry('map', tuple(f'map_{i}_{j}' for i, j in POWERS), 'counts'),
    Entry('covariance', tuple(f'covariance_{i}_{j}' for j in range(N) for i in range(j, N)), ''),
    Entry('frames', ('frames',), '', text='frames in a row with a ball, at most 2'),
    *(
        Entry(f'{name}_{k}', (f'{name}_{k}_x', f'{name}_{k}_y'), unit)
        for k in (1, 2)
        for name, unit in (('seen', 'm'), ('tilted', 'counts'))
    ),
    Entry('tilted_rate', ('tilted_rate_x', 'tilted_rate_y'), 'counts/s'),
)


def start(rig: RigModel) -> dict[str, Array]:
    """Return the nonzero entries at the start, vectors in the units of :data:`ENTRIES`."""
    covariance = np.zeros((N, N))
    covariance[:3, :3], covariance[3:, 3:] = np.diag(np.square(SPREAD)), prior()
    return {
        'share': np.ones(1),
        'learned': np.array([1.0, 0.0, rig.breakaway / 2]),
        'covariance': covariance.T[np.triu_indices(N)],
    }


def learn(
    rig: RigModel, z: Mapping[str, ca.SX], frame: tuple[ca.SX, ca.SX, ca.SX], visible: ca.SX
) -> dict[str, ca.SX]:
    """
    Return the entries after a frame; the fraction changes when that is certain and worthwhile.

    Parameters
    ----------
    rig
        The rig as the law assumes it.
    z
        State by entry.
    frame
        Position of the ball [m], and estimates of tilt [counts] and tilt rate [counts/s], 2 each.
    visible
        1 if there is a ball; differences are of frames in a row.

    """
    place, tilt, tilt_rate = frame
    T, a0, a1 = rig.period, z['tilted_2'], z['tilted_1']
    rate = (place - z['seen_2']) / (2 * T)
    speed = ca.sqrt(ca.sumsqr(rate))
    found = place - 2 * z['seen_1'] + z['seen_2'] + rig.lever * (tilt - 2 * a1 + a0)
    found = found / (rig.gain * T**2)
    mean = (a0 + 10 * a1 + tilt) / 12  # integrand of a second difference, to fourth order
    direction = rate / ca.fmax(speed, SLOWEST)
    values = ca.vertcat(z['learned'], z['map'])
    P = ca.tril2symm(ca.SX(ca.Sparsity.lower(N), z['covariance']))
    offsets = rows(z['seen_1'])
    for k in range(2):
        row = ca.vertcat(mean[k], -z['tilted_rate'][k], -direction[k], offsets[k, :].T)
        toward = ca.mtimes(P, row)
        gain = toward / (ca.fmax(ca.dot(row, toward), 0.0) + UNKNOWN**2)
        values = values + gain * (found[k] - ca.dot(row, values))
        P = P - ca.mtimes(gain, toward.T)
    use = visible * (z['frames'] > 1.5) * (speed >= SLOWEST)
    fraction = ca.fmin(ca.fmax(values[0], RANGE[0]), RANGE[1])
    spread = ca.sqrt(ca.fmax(P[0, 0], 0.0))
    worth = ca.fabs(fraction - z['share']) > ca.fmax(WORTH * z['share'], SURE * spread)
    return {
        'share': ca.if_else(use * worth, fraction, z['share']),
        'learned': ca.if_else(use, values[:3], z['learned']),
        'map': ca.if_else(use, values[3:], z['map']),
        'covariance': ca.if_else(use, ca.tril(P).nz[:], z['covariance']),
        'frames': ca.if_else(visible, ca.fmin(z['frames'] + 1, 2.0), 0.0),
        'seen_1': place,
        'tilted_1': tilt,
        'seen_2': z['seen_1'],
        'tilted_2': a1,
        'tilted_rate': tilt_rate,
    }
