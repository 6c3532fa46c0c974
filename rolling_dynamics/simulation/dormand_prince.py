"""
One step of the Dormand-Prince method of order 8, with error estimate, dense output and guards.

The whole step is one function that can be compiled. The coefficients are those of
``scipy.integrate.DOP853`` (Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I,
Section II.10).
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.rolling_system import RollingSystem
from rolling_dynamics.simulation.projection import projection
from scipy.integrate import DOP853

POWER = 7  # terms of the dense output
SAMPLES = 8  # parts of a step at whose borders the guards are looked at
_STAGES = len(DOP853.C)
_GUARDED = np.linspace(0, 1, SAMPLES + 1)
# parts of a step at which the control is needed: the stages, dense output, guards
INSTANTS = np.concatenate([DOP853.C[1:], [1.0], DOP853.C_EXTRA, _GUARDED])


def interpolation_weights(theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return w, shape (N, 7), of x(t + theta h) = x + w F."""
    theta = np.asarray(theta, dtype=float)
    weights, value = np.empty((theta.size, POWER)), np.ones(theta.size)
    for k in range(POWER):
        value = value * (theta if k % 2 == 0 else 1 - theta)
        weights[:, k] = value
    return weights


class StepOutputs:
    """Where the parts of a step's output stand, for a state of n numbers."""

    def __init__(self, n: int, entries: int) -> None:
        """Lay the parts one after the other."""
        sizes = {
            'state': 2 * n,  # x and its rate
            'error': 1,
            'least': 1,
            'correction': entries,
            'dense': POWER * n,
        }
        start = 0
        self.slices: dict[str, slice] = {}
        for name, size in sizes.items():
            self.slices[name] = slice(start, start + size)
            start += size


def step_function(
    system: RollingSystem, dynamics: ca.Function, guards: ca.Function | None
) -> ca.Function:
    """
    Return one step as a function with a single output, laid out as in :class:`StepOutputs`.

    Parameters
    ----------
    system
        The system.
    dynamics
        ``(x, u, t, p) -> xdot``.
    guards
        ``(x, u, t, p) -> values``, or None.

    Returns
    -------
    casadi.Function
        ``(state, u, slope, curved, t, h, p, tolerance, levels) -> out``; ``state`` is x and its
        rate. The control at the part c_k = INSTANTS[k] of the step is u + slope c_k h + column k
        of ``curved``; ``tolerance`` is (rtol, atol), ``levels`` what the guards fall through.

    """
    n, m = system.state.size, system.control.size
    state = ca.MX.sym('state', 2 * n)
    x, rate = state[:n], state[n:]
    u, slope = ca.MX.sym('u', m), ca.MX.sym('slope', m)
    curved = ca.MX.sym('curved', m, INSTANTS.size)
    t, h = ca.MX.sym('t'), ca.MX.sym('h')
    p, tolerance = ca.MX.sym('p', system.parameters.size), ca.MX.sym('tolerance', 2)
    levels = ca.MX.sym('levels', guards.numel_out(0) if guards is not None else 0)
    columns, instants = iter(ca.horzsplit(curved)), iter(INSTANTS)

    def at_next(function: ca.Function, state: ca.MX) -> ca.MX:
        s = next(instants) * h
        return function(state, u + slope * s + next(columns), t + s, p)

    K = [rate]
    for s in range(1, _STAGES):
        K.append(at_next(dynamics, x + h * _combine(DOP853.A[s][:s], K)))
    free = x + h * _combine(DOP853.B, K)
    y = projection(system)(free, p)
    K.append(at_next(dynamics, y))
    error = _error_norm(x, y, K, h, tolerance)
    for a in DOP853.A_EXTRA:
        K.append(at_next(dynamics, x + h * _combine(a[: len(K)], K)))
    delta = y - x
    F = [delta, h * K[0] - delta, 2 * delta - h * (K[_STAGES] + K[0])]
    F += [h * f for f in _combinations(DOP853.D, K)]
    least = ca.MX(math.inf)
    if guards is not None:
        moves = _combinations(interpolation_weights(_GUARDED), F)
        samples = [at_next(guards, x + move if k else x) for k, move in enumerate(moves)]
        least = ca.mmin(_bound_below()(ca.horzcat(*samples).T).T - levels)
    parts = [y, K[_STAGES], error, least, _corrections(system, y - free), *F]
    return ca.Function(
        'dop853_step',
        [state, u, slope, curved, t, h, p, tolerance, levels],
        [ca.vertcat(*parts)],
    )


def _combine(weights: Sequence[float], vectors: Sequence[ca.MX]) -> ca.MX:
    used = [k for k, w in enumerate(weights) if w != 0]
    return ca.horzcat(*(vectors[k] for k in used)) @ ca.DM([float(weights[k]) for k in used])


def _combinations(weights: NDArray[np.float64], vectors: Sequence[ca.MX]) -> list[ca.MX]:
    """Return one combination of the vectors for each row of weights, by one product."""
    used = np.flatnonzero(np.any(weights != 0, axis=0))
    product = ca.horzcat(*(vectors[k] for k in used.tolist())) @ ca.DM(weights[:, used].T)
    return list(ca.horzsplit(product))


def _error_norm(x: ca.MX, y: ca.MX, K: Sequence[ca.MX], h: ca.MX, tolerance: ca.MX) -> ca.MX:
    """Return the error against the tolerance, at most 1 for a step to keep."""
    scale = tolerance[1] + tolerance[0] * ca.fmax(ca.fabs(x), ca.fabs(y))
    five, three = (
        ca.sumsqr(e / scale) for e in _combinations(np.array([DOP853.E5, DOP853.E3]), K)
    )
    denominator = ca.sqrt((five + 0.01 * three) * x.numel())
    return ca.fabs(h) * five / ca.fmax(denominator, 1e-300)


def _corrections(system: RollingSystem, change: ca.MX) -> ca.MX:
    """Return how much each entry of the state was moved back to its constraint."""
    return ca.vertcat(
        *(ca.norm_2(change[system.state.slice(e.name)]) for e in system.state.entries)
    )


def _bound_below() -> ca.Function:
    """Return ``samples (SAMPLES + 1, G) -> bound (1, G)``."""
    g = ca.SX.sym('g', SAMPLES + 1)
    values = ca.vertsplit(g)
    slopes = sample_slopes(values)
    low = ca.mmin(g)
    for k in range(SAMPLES):
        a, b = slopes[k], slopes[k + 1]
        dips = ca.logic_and(a < 0, b > 0)
        where = (values[k + 1] - values[k] - b) / ca.if_else(dips, a - b, 1)
        low = ca.fmin(low, ca.if_else(dips, values[k] + a * where, low))
    return ca.Function('bound_below', [g], [low])


def sample_slopes(values: Sequence[ca.SX]) -> list[ca.SX]:
    """Return slopes, per sample, at evenly spaced samples."""
    last = len(values) - 1
    slopes = [(values[k + 1] - values[k - 1]) / 2 for k in range(1, last)]
    first = (-3 * values[0] + 4 * values[1] - values[2]) / 2
    final = (3 * values[last] - 4 * values[last - 1] + values[last - 2]) / 2
    return [first, *slopes, final]
