"""
One step of the Dormand-Prince method of order 8, with error estimate, dense output and guards.

The step is a single function that can be compiled. The coefficients are those of
``scipy.integrate.DOP853``.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.simulation.dormand_prince import (
    GUARDED,
    INSTANTS,
    interpolation_weights,
    POWER,
    sample_slopes,
    SAMPLES,
)
from rolling_dynamics.simulation.guards import projection
from scipy.integrate import DOP853

_STAGES = len(DOP853.C)


def step_function(
    system: RollingSystem, dynamics: ca.Function, guards: ca.Function | None
) -> ca.Function:
    """
    Return one step as a function with a single output, laid out as in ``StepOutputs``.

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
        of ``curved``; ``tolerance`` is (rtol, atol), ``levels`` are those of the guards.

    """
    n = system.state.size
    state, h = ca.MX.sym('state', 2 * n), ca.MX.sym('h')
    x, rate = state[:n], state[n:]
    tolerance = ca.MX.sym('tolerance', 2)
    levels = ca.MX.sym('levels', guards.numel_out(0) if guards is not None else 0)
    driven = _Driven.over(system, h)
    K = [rate]
    for s in range(1, _STAGES):
        K.append(driven(dynamics, x + h * _combine(DOP853.A[s][:s], K), s - 1))
    free = x + h * _combine(DOP853.B, K)
    y = projection(system)(free, driven.p)
    K.append(driven(dynamics, y, _STAGES - 1))
    error = _error_norm(x, y, K, h, tolerance)
    kept = _kept(system, dynamics, guards)
    least, dense = kept(error < 1, x, y, h, levels, *driven.given, *K)
    parts = [y, K[_STAGES], error, least, _corrections(system, y - free), dense]
    return ca.Function(
        'dop853_step',
        [state, *driven.given[:4], h, driven.p, tolerance, levels],
        [ca.vertcat(*parts)],
    )


class _Driven(NamedTuple):
    """
    Control over a step.

    Attributes
    ----------
    u, slope, curved
        The control, as in :func:`step_function`.
    t, p
        Time at the start, and parameters.
    h
        Length of the step.

    """

    u: ca.MX
    slope: ca.MX
    curved: ca.MX
    t: ca.MX
    p: ca.MX
    h: ca.MX

    @classmethod
    def over(cls, system: RollingSystem, h: ca.MX) -> _Driven:
        """Return symbols for the inputs other than the length of the step."""
        m = system.control.size
        return cls(
            u=ca.MX.sym('u', m),
            slope=ca.MX.sym('slope', m),
            curved=ca.MX.sym('curved', m, INSTANTS.size),
            t=ca.MX.sym('t'),
            p=ca.MX.sym('p', system.parameters.size),
            h=h,
        )

    @property
    def given(self) -> tuple[ca.MX, ...]:
        """All but the length of the step."""
        return self[:-1]

    def __call__(self, function: ca.Function, state: ca.MX, k: int) -> ca.MX:
        """Return ``function(x, u, t, p)`` at a state at an instant of the step."""
        s = float(INSTANTS[k]) * self.h
        u = self.u + self.slope * s + self.curved[:, k]
        return function(state, u, self.t + s, self.p)


def _kept(system: RollingSystem, dynamics: ca.Function, guards: ca.Function | None) -> ca.Function:
    """Return outputs of accepted steps only, evaluated on a condition: (least, dense)."""
    n = system.state.size
    x, y, h = ca.MX.sym('x', n), ca.MX.sym('y', n), ca.MX.sym('h')
    levels = ca.MX.sym('levels', guards.numel_out(0) if guards is not None else 0)
    driven = _Driven.over(system, h)
    K = [ca.MX.sym(f'K_{k}', n) for k in range(_STAGES + 1)]
    inputs = [x, y, h, levels, *driven.given, *K]
    for k, a in enumerate(DOP853.A_EXTRA):
        K.append(driven(dynamics, x + h * _combine(a[: len(K)], K), _STAGES + k))
    F = _dense_output(x, y, h, K)
    least = ca.MX(math.inf)
    if guards is not None:
        moves = ca.horzsplit(F @ ca.DM(interpolation_weights(GUARDED[1:]).T))
        points = [x, *(x + move for move in moves)]
        first = INSTANTS.size - GUARDED.size
        samples = [driven(guards, point, first + k) for k, point in enumerate(points)]
        least = ca.mmin(_bound_below()(ca.horzcat(*samples).T).T - levels)
    whole = ca.Function('kept', inputs, [least, ca.vec(F)])
    nothing = ca.Function('rejected', inputs, [ca.MX(math.inf), ca.MX.zeros(POWER * n)])
    return ca.Function.if_else('kept_if', whole, nothing)


def _combine(weights: Array, vectors: Sequence[ca.MX]) -> ca.MX:
    """Return a linear combination of the vectors; for several rows of weights, one column each."""
    rows = np.atleast_2d(weights)
    used = np.flatnonzero(np.any(rows != 0, axis=0))
    return ca.horzcat(*(vectors[k] for k in used.tolist())) @ ca.DM(rows[:, used].T)


def _error_norm(x: ca.MX, y: ca.MX, K: Sequence[ca.MX], h: ca.MX, tolerance: ca.MX) -> ca.MX:
    """Return the error relative to the tolerance; a step below 1 is accepted."""
    scale = tolerance[1] + tolerance[0] * ca.fmax(ca.fabs(x), ca.fabs(y))
    errors = ca.horzsplit(_combine(np.array([DOP853.E5, DOP853.E3]), K))
    five, three = (ca.sumsqr(e / scale) for e in errors)
    denominator = ca.sqrt((five + 0.01 * three) * x.numel())
    return ca.fabs(h) * five / ca.fmax(denominator, 1e-300)


def _dense_output(x: ca.MX, y: ca.MX, h: ca.MX, K: Sequence[ca.MX]) -> ca.MX:
    """Return the terms of the dense output as columns, shape (n, POWER)."""
    delta = y - x
    late = h * _combine(DOP853.D, K)
    return ca.horzcat(delta, h * K[0] - delta, 2 * delta - h * (K[_STAGES] + K[0]), late)


def _corrections(system: RollingSystem, change: ca.MX) -> ca.MX:
    """Return the correction of each entry of the state to its constraint."""
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
