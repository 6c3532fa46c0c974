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
from rolling_dynamics.simulation.control import StepControl
from rolling_dynamics.simulation.dormand_prince import (
    INSTANTS,
    interpolation_weights,
    POWER,
    SAMPLES,
    step_function,
    StepOutputs,
)
from rolling_dynamics.simulation.not_finite import not_finite
from rolling_dynamics.simulation.piece import Piece

SAFETY, LEAST_FACTOR, GREATEST_FACTOR, EXPONENT = 0.9, 0.2, 10.0, -1 / 8
ROWS = 256  # steps that are kept in one piece of memory


class Kept(NamedTuple):
    """Steps kept for dense output."""

    times: NDArray[np.float64]  # (N,) starts
    lengths: NDArray[np.float64]  # (N,)
    states: NDArray[np.float64]  # (N, n) at the starts
    dense: NDArray[np.float64]  # (N, 7, n)
    corrections: NDArray[np.float64]  # (N, entries)

    def interpolate(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the states at times, shape (M, n)."""
        k = np.clip(np.searchsorted(self.times, times, side='right') - 1, 0, self.times.size - 1)
        weights = interpolation_weights((times - self.times[k]) / self.lengths[k])
        moved: NDArray[np.float64] = np.einsum('mi,min->mn', weights, self.dense[k])
        return self.states[k] + moved


class CompiledSolver:
    """
    Steps of the Dormand-Prince method of order 8 under a control that is known over a step.

    A step is one call of one function, and one copy of what it returns.

    Attributes
    ----------
    t
        Time at the end of the last step [s].
    clear
        Whether no guard came down to its level in the last step.
    next_step
        Length of the next step [s].
    kept
        Number of steps kept for dense output.

    """

    def __init__(
        self,
        system: RollingSystem,
        functions: tuple[ca.Function, ca.Function],
        control: StepControl,
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
        control
            What drives it.
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
        self._names = system.control.names
        step, self._dynamics = (FastFunction(f) for f in functions)
        self._function = step  # its buffers live as long as it does
        self._evaluate, self._out, self._item = step.call, step.output, step.output.item
        self._start, self._u, self._slope, self._curved, self._t, self._h = step.inputs[:6]
        self._levels = step.inputs[8]
        self._kept_if = step.inputs[7]
        step.inputs[6][:], self._kept_if[:], self._levels[:] = p, tolerance, levels
        self._p, self._control, self._curves = p, control, control.curved
        where = StepOutputs(n, len(system.state.entries)).slices
        self._where, self._state_part = where, where['state']
        self._error, self._least = where['error'].start, where['least'].start
        self.t, self.h, self.next_step, self.clear = 0.0, 0.0, first_step, False
        self._state, self._begun = np.zeros(2 * n), np.zeros(n)
        self._end = self._before_end = 0.0
        self._t_old, self._piece = 0.0, Piece(0.0, 0.0, np.zeros(0), np.zeros(0))
        self._blocks = [np.empty((ROWS, self._out.size))]
        self._free = 0  # row of the last block for the next step
        self._row = self._blocks[0][0]
        self._clocks: list[tuple[float, float]] = []
        self.kept = 0

    @property
    def x(self) -> NDArray[np.float64]:
        """State at the end of the last step, on the constraints."""
        return self._state[: self._n].copy()

    def begin(self, t: float, x: NDArray[np.float64], piece: Piece) -> None:
        """Start at a state, under the control of a piece; a known step length is kept."""
        self.t, self._piece, self._end = t, piece, piece.end
        self._before_end = math.nextafter(piece.end, -math.inf)
        u = self._control.at(piece, t, x)
        rate = self._dynamics(x, u, t, self._p)
        if not np.all(np.isfinite(rate)):
            raise SimulationError(f'at t = {t:.9g} s {not_finite(self._names, u)}')
        self._state = np.concatenate([x, rate])
        if not self.kept:
            self._begun = self._state[: self._n]
        self._u[:], self._slope[:] = piece.value, piece.slope
        self._held = not piece.slope.any()
        if not self.next_step:
            self.next_step = min(self._first_step(), self._max_step)

    def control(self, t: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the control at a time within the piece."""
        return self._control.at(self._piece, t, x)

    def _try(self, h: float) -> None:
        """Evaluate a step of a length from what stands in the inputs."""
        self._h[0] = h
        if self._curves:
            times = np.minimum(self._t[0] + INSTANTS * h, self._before_end)  # no jump at the end
            self._curved[:] = self._control.over(times)
        self._evaluate()

    def advance(self) -> None:
        """Take one step that keeps the tolerance, at most to the end of the piece."""
        t, left = self.t, self._end - self.t
        h, rejected = self.next_step, False
        self._start[:], self._t[0] = self._state, t
        if not self._held:
            self._u[:] = self._piece.value + self._piece.slope * (t - self._piece.start)
        steady = not self._curves
        while True:
            last = h >= left * (1 - 1e-9)
            taken = left if last else h
            if steady:
                self._h[0] = taken
                self._evaluate()
            else:
                self._try(taken)
            error = self._item(self._error)
            if error < 1:  # False where it is not a number
                break
            if taken <= 10 * abs(math.nextafter(t, math.inf) - t):
                self._fail(taken)
            factor = SAFETY * error**EXPONENT if math.isfinite(error) else LEAST_FACTOR
            h, rejected = taken * max(LEAST_FACTOR, factor), True
        factor = SAFETY * error**EXPONENT if error > 0 else GREATEST_FACTOR
        if rejected:
            grown = taken * factor if factor < 1 else taken
        else:
            grown = taken * factor if factor < GREATEST_FACTOR else taken * GREATEST_FACTOR
            if last and h > grown:
                grown = h
        self.next_step = min(self._max_step, grown)
        self._t_old = t
        self._accept(taken, self._end if last else t + taken)

    def _accept(self, h: float, t: float) -> None:
        row = self._row
        row[:] = self._out
        self.t, self.h, self._state = t, h, row[self._state_part]
        self.clear = self._item(self._least) > 0

    def _fail(self, h: float) -> None:
        if not np.all(np.isfinite(self._out[self._state_part])):
            reason = not_finite(self._names, self.control(self.t + h, self.x))
        else:
            reason = 'the step length fell to rounding; the motion is singular there'
        raise SimulationError(f'at t = {self.t:.9g} s {reason} (step {h:.3g} s)')

    def set_levels(self, levels: NDArray[np.float64]) -> None:
        """Change what the guards fall through."""
        self._levels[:] = levels

    def samples(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times and states, evenly spaced over the last step."""
        theta = np.linspace(0, 1, SAMPLES + 1)
        F = self._row[self._where['dense']].reshape(POWER, self._n)
        states = self._start[: self._n] + interpolation_weights(theta) @ F
        return self._t_old + theta * self.h, states

    def state_within(self, t: float) -> NDArray[np.float64]:
        """Return the state at a time within the last step, by a step of its own."""
        self._try(t - self._t_old)
        return self._out[: self._n].copy()

    def truncate(self, t: float) -> None:
        """End the last step at an earlier time."""
        if t >= self.t:
            return
        h = t - self._t_old
        if h <= 0:
            self.t, self.h, self._state = self._t_old, 0.0, self._start.copy()
            return
        self._kept_if[:] = 0, math.inf  # a part of a step that was kept is kept
        self._try(h)
        self._kept_if[:] = self._tolerance
        self._accept(h, t)

    def keep(self) -> None:
        """Keep the last step for dense output."""
        if self.h > 0:
            self._clocks.append((self._t_old, self.h))
            self.kept += 1
            self._free += 1
            if self._free == ROWS:
                self._blocks.append(np.empty((ROWS, self._out.size)))
                self._free = 0
            self._row = self._blocks[-1][self._free]

    def collect(self) -> Kept:
        """Return the steps kept since the last call."""
        rows = np.concatenate(self._blocks)[: self.kept]
        times = np.array(self._clocks)
        ends = rows[:, : self._n]
        starts = np.vstack([self._begun, ends[:-1]])
        self._state = self._state.copy()
        self._begun = self._state[: self._n]
        self._blocks, self._clocks = [self._blocks[0]], []
        self._free, self.kept, self._row = 0, 0, self._blocks[0][0]
        dense = rows[:, self._where['dense']].reshape(-1, POWER, self._n)
        corrections = rows[:, self._where['correction']]
        return Kept(times[:, 0], times[:, 1], starts, dense, corrections)

    def _first_step(self) -> float:
        """Return a first step length, Hairer et al., Section II.4."""
        x, f, span = self._state[: self._n], self._state[self._n :], self._end - self.t
        scale = self._tolerance[1] + self._tolerance[0] * np.abs(x)
        d0, d1 = _rms(x / scale), _rms(f / scale)
        h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        h0 = min(h0, span)
        ahead = x + h0 * f
        f1 = self._dynamics(ahead, self.control(self.t, ahead), self.t, self._p)
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
