"""Adaptive integration of order 8 in which a whole step is one compiled function."""

from __future__ import annotations

import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.errors import SimulationError
from rolling_dynamics.rolling_system import RollingSystem
from rolling_dynamics.simulation.control import Piece
from rolling_dynamics.simulation.dormand_prince import (
    interpolation_weights,
    POWER,
    SAMPLES,
    step_function,
    StepOutputs,
)

SAFETY, LEAST_FACTOR, GREATEST_FACTOR, EXPONENT = 0.9, 0.2, 10.0, -1 / 8


class Kept(NamedTuple):
    """Steps kept for dense output."""

    times: NDArray[np.float64]  # (N,) starts
    lengths: NDArray[np.float64]  # (N,)
    states: NDArray[np.float64]  # (N, n) at the starts
    dense: NDArray[np.float64]  # (N, 7, n)

    def interpolate(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the states at times, shape (M, n)."""
        k = np.clip(np.searchsorted(self.times, times, side='right') - 1, 0, self.times.size - 1)
        weights = interpolation_weights((times - self.times[k]) / self.lengths[k])
        moved: NDArray[np.float64] = np.einsum('mi,min->mn', weights, self.dense[k])
        return self.states[k] + moved


class CompiledSolver:
    """
    Steps of the Dormand-Prince method of order 8 under a piecewise linear control.

    Attributes
    ----------
    t, x
        Time [s] and state at the end of the last step; on the constraints.
    correction
        How much the last step moved each entry of the state back to its constraint.
    lowest
        Bound below what each guard, less its level, came to in the last step.

    """

    def __init__(
        self,
        system: RollingSystem,
        functions: tuple[ca.Function, ca.Function],
        guards: int,
        p: NDArray[np.float64],
        tolerance: tuple[float, float],
        levels: NDArray[np.float64],
        max_step: float = math.inf,
        first_step: float = 0.0,
    ) -> None:
        """
        Bind the functions of :func:`compile_step`.

        Parameters
        ----------
        system
            The system.
        functions
            The step, and the dynamics.
        guards
            Number of guards.
        p
            Parameters.
        tolerance
            Relative and absolute tolerance.
        levels
            What the guards fall through.
        max_step
            Longest step [s].
        first_step
            Length of the first step [s]; chosen from the equations if 0.

        """
        n = system.state.size
        self._n, self._tolerance, self._max_step = n, tolerance, max_step
        self._step, self._dynamics = (FastFunction(f) for f in functions)
        (
            self._x_in,
            self._rate_in,
            self._u_in,
            self._slope_in,
            self._t_in,
            self._h_in,
            p_in,
            tolerance_in,
            self._levels_in,
        ) = self._step.inputs
        p_in[:], tolerance_in[:], self._levels_in[:] = p, tolerance, levels
        self._p = p
        out, where = self._step.output, StepOutputs(n, len(system.state.entries), guards).slices
        self._x_out, self._rate_out = out[where['x']], out[where['rate']]
        self._error_out, self._dense_out = out[where['error']], out[where['dense']]
        self.correction, self.lowest = out[where['correction']], out[where['lowest']]
        self.t, self.t_old, self.h, self.next_step = 0.0, 0.0, 0.0, first_step
        self.x, self._rate = np.zeros(n), np.zeros(n)
        self._piece = Piece(0.0, 0.0, np.zeros(0), np.zeros(0))
        self._forget()

    def begin(self, t: float, x: NDArray[np.float64], piece: Piece) -> None:
        """Start at a state, under the control of a piece; a known step length is kept."""
        self.t, self.x, self._piece = t, np.array(x), piece
        self._rate = self._derivative(t, self.x)
        if not np.all(np.isfinite(self._rate)):
            raise SimulationError(f'the rate of the state is not finite at t = {t:.9g} s')
        if not self.next_step:
            self.next_step = min(self._first_step(), self._max_step)

    def control(self, t: float, _x: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the control at a time within the piece."""
        return self._piece.value + self._piece.slope * (t - self._piece.start)

    def _derivative(self, t: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._dynamics(x, self.control(t), t, self._p)

    def advance(self) -> None:
        """Take one step that keeps the tolerance, at most to the end of the piece."""
        left = self._piece.end - self.t
        least = 10 * abs(math.nextafter(self.t, math.inf) - self.t)
        h, rejected = self.next_step, False
        self._x_in[:], self._rate_in[:], self._t_in[0] = self.x, self._rate, self.t
        self._u_in[:], self._slope_in[:] = self.control(self.t), self._piece.slope
        while True:
            last = h >= left * (1 - 1e-9)
            taken = left if last else h
            self._h_in[0] = taken
            self._step.evaluate()
            error = self._error_out[0]
            if error < 1:  # False where it is not a number
                break
            if taken <= least:
                self._fail(taken)
            factor = SAFETY * error**EXPONENT if math.isfinite(error) else LEAST_FACTOR
            h, rejected = taken * max(LEAST_FACTOR, factor), True
        factor = SAFETY * error**EXPONENT if error > 0 else GREATEST_FACTOR
        grown = taken * min(1.0 if rejected else GREATEST_FACTOR, factor)
        self.next_step = min(max(grown, h) if last and not rejected else grown, self._max_step)
        self._accept(taken, last)

    def _accept(self, h: float, last: bool) -> None:
        self.t_old, self._x_old, self._rate_old, self.h = self.t, self.x, self._rate, h
        self.t = self._piece.end if last else self.t + h
        self.x, self._rate = self._x_out.copy(), self._rate_out.copy()
        self.dense = self._dense_out.copy()

    def _fail(self, h: float) -> None:
        if not np.all(np.isfinite(self._rate_out)):
            reason = 'the rate of the state is no longer finite'
        else:
            reason = 'the step length fell to rounding; the motion is singular there'
        raise SimulationError(f'at t = {self.t:.9g} s {reason} (step {h:.3g} s)')

    def set_levels(self, levels: NDArray[np.float64]) -> None:
        """Change what the guards fall through."""
        self._levels_in[:] = levels

    def samples(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times and states, evenly spaced over the last step."""
        theta = np.linspace(0, 1, SAMPLES + 1)
        F = self.dense.reshape(POWER, self._n)
        return self.t_old + theta * self.h, self._x_old + interpolation_weights(theta) @ F

    def state_within(self, t: float) -> NDArray[np.float64]:
        """Return the state at a time within the last step, by a step of its own."""
        self._redo(t - self.t_old)
        return self._x_out.copy()

    def truncate(self, t: float) -> None:
        """End the last step at an earlier time."""
        if t >= self.t:
            return
        h = t - self.t_old
        if h <= 0:
            self.t, self.x, self._rate, self.h = self.t_old, self._x_old, self._rate_old, 0.0
            return
        self._redo(h)
        self.t, self._rate = self.t_old, self._rate_old
        self.x = self._x_old
        self._accept(h, last=False)
        self.t = t

    def _redo(self, h: float) -> None:
        self._x_in[:], self._rate_in[:] = self._x_old, self._rate_old
        self._t_in[0], self._h_in[0] = self.t_old, h
        self._u_in[:], self._slope_in[:] = self.control(self.t_old), self._piece.slope
        self._step.evaluate()

    def _forget(self) -> None:
        self._kept: list[tuple[float, float, NDArray[np.float64], NDArray[np.float64]]] = []

    def keep(self) -> None:
        """Keep the last step for dense output."""
        if self.h > 0:
            self._kept.append((self.t_old, self.h, self._x_old, self.dense))

    def collect(self) -> Kept:
        """Return the steps kept since the last call."""
        t, h, x, dense = zip(*self._kept, strict=True)
        n = self._n
        self._forget()
        return Kept(np.array(t), np.array(h), np.array(x), np.array(dense).reshape(-1, POWER, n))

    @property
    def kept(self) -> int:
        """Number of steps kept."""
        return len(self._kept)

    def _first_step(self) -> float:
        """Return a first step length, Hairer et al., Section II.4."""
        x, f, span = self.x, self._rate, self._piece.end - self.t
        scale = self._tolerance[1] + self._tolerance[0] * np.abs(x)
        d0, d1 = _rms(x / scale), _rms(f / scale)
        h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        h0 = min(h0, span)
        f1 = self._derivative(self.t, x + h0 * f)
        d2 = _rms((f1 - f) / scale) / h0
        if not math.isfinite(d2):
            return h0 * 1e-3
        top = max(d1, d2)
        h1 = max(1e-6, h0 * 1e-3) if top <= 1e-15 else (0.01 / top) ** (1 / 8)
        return min(100 * h0, h1, span)


def _rms(v: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(v)) / math.sqrt(v.size)


def compile_step(
    system: RollingSystem, dynamics: ca.Function, guards: ca.Function | None
) -> tuple[ca.Function, ca.Function]:
    """Return the step and the dynamics as machine code."""
    step, f = compiled(step_function(system, dynamics, guards), dynamics)
    return step, f
