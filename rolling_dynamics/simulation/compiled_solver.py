"""Integration of a piece of a motion by compiled steps of DOP853, with a law or a control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled_once, FastFunction, LOOPS
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import SimulationError
from rolling_dynamics.simulation.control import Piece, StepControl
from rolling_dynamics.simulation.dormand_prince import (
    INSTANTS,
    interpolation_weights,
    POWER,
    SAMPLES,
    StepOutputs,
)
from rolling_dynamics.simulation.guards import projection, with_mode


def closed_loop(system: RollingSystem, law: ca.Function) -> RollingSystem:
    """
    Return a system in its first mode under a feedback law.

    It can be used like any system, so that many closed loops run in compiled code without calling
    Python. Its control input has no effect. Every guard ends a motion.

    Parameters
    ----------
    system
        The system.
    law
        ``(x, t) -> u``, applied continuously, without a sampling period.

    """
    name, mode = next(iter(system.modes.items()))
    guards = {n: closed(guard, law) for n, guard in mode.guards.items()}
    loop = replace(mode, dynamics=closed(mode.dynamics, law), guards=guards, resets={})
    return with_mode(system, name, loop)


def closed(function: ca.Function, law: ca.Function | None) -> ca.Function:
    """Return a function ``(x, u, t, p)`` with its control replaced by a law."""
    if law is None:
        return function
    x, u, t, p = (ca.MX.sym('xutp'[k], function.numel_in(k)) for k in range(4))
    return ca.Function(function.name(), [x, u, t, p], [function(x, law(x, t), t, p)])


def not_finite(names: Sequence[str], control: ArrayLike) -> str:
    """
    Return the reason why a rate of the state is not finite.

    Parameters
    ----------
    names
        Scalar names of the control.
    control
        The control there, shape (len(names),).

    """
    for name, value in zip(names, np.ravel(control), strict=True):
        if not np.isfinite(value):
            return f'the control {name} is {value:.3g}; a finite number is needed'
    return 'the rate of the state is not finite'


SAFETY, MIN_FACTOR, MAX_FACTOR, EXPONENT = 0.9, 0.2, 10.0, -1 / 8
DERIVED_BY = ('dormand_prince.py', 'dormand_prince_step.py')
ROWS = 256  # steps per block of memory
FIRST_STEP = 1e-14  # first step, as a fraction of the piece of the control


class Kept(NamedTuple):
    """Steps kept for dense output."""

    times: Array  # (N,) starts
    lengths: Array  # (N,)
    states: Array  # (N, n) at the starts
    dense: Array  # (N, 7, n)
    corrections: Array  # (N, entries)

    def interpolate(self, times: Array) -> Array:
        """Return the states at times, shape (M, n)."""
        k = np.clip(np.searchsorted(self.times, times, side='right') - 1, 0, self.times.size - 1)
        weights = interpolation_weights((times - self.times[k]) / self.lengths[k])
        moved: Array = np.einsum('mi,min->mn', weights, self.dense[k])
        return self.states[k] + moved


class CompiledSolver:
    """
    Steps of the Dormand-Prince method of order 8 under a control that is known over a step.

    A step is one function call, and one copy of its output.

    Attributes
    ----------
    t
        Time at the end of the last step [s].
    clear
        Whether no guard reached its level in the last step.
    next_step
        Length of the next step [s].

    """

    def __init__(
        self,
        system: RollingSystem,
        functions: tuple[ca.Function, ca.Function],
        control: StepControl,
        p: Array,
        tolerance: tuple[float, float],
        levels: Array,
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
            Control of the system.
        p
            Parameters.
        tolerance
            Relative and absolute tolerance.
        levels
            Levels of the guards, at which events occur.
        max_step
            Longest step [s].
        first_step
            Length of the first step [s]; chosen from the equations if 0.

        """
        n = system.state.size
        self._n, self._tolerance, self._max_step = n, tolerance, max_step
        self._names = system.control.names
        step, self._dynamics = (FastFunction(f) for f in functions)
        self._function = step  # its buffers live as long as the solver
        self._out, self._item = step.output, step.output.item
        self._start, self._u, self._slope, self._curved, self._t, self._h = step.inputs[:6]
        self._levels = step.inputs[8]
        self._kept_if = step.inputs[7]
        step.inputs[6][:], self._kept_if[:], self._levels[:] = p, tolerance, levels
        self._p, self._control = p, control
        where = StepOutputs(n, len(system.state.entries)).slices
        self._where, self._state_part = where, where['state']
        self._error, self._least = where['error'].start, where['least'].start
        self.t, self.h, self.next_step, self.clear = 0.0, 0.0, first_step, False
        self._state, self._first = np.zeros(2 * n), np.zeros(n)
        self._end = self._before_end = 0.0
        self._t_old, self._piece = 0.0, Piece(0.0, 0.0, np.zeros(0), np.zeros(0))
        self._blocks = [np.empty((ROWS, self._out.size))]
        self._free = 0  # row of the last block for the next step
        self._row: Array = self._blocks[0][0]
        self._clocks: list[tuple[float, float]] = []

    @property
    def x(self) -> Array:
        """State at the end of the last step, on the constraints."""
        return self._state[: self._n].copy()

    def begin(self, t: float, x: Array, piece: Piece) -> None:
        """Start at a state, under the control of a piece; a known step length is kept."""
        self.t, self._piece, self._end = t, piece, piece.end
        self._before_end = math.nextafter(piece.end, -math.inf)
        u = self._control.at(piece, t, x)
        rate = self._dynamics(x, u, t, self._p)
        if not np.all(np.isfinite(rate)):
            raise SimulationError(f'at t = {t:.9g} s {not_finite(self._names, u)}')
        self._state = np.concatenate([x, rate])
        if not self.kept:
            self._first = self._state[: self._n]
        self._u[:], self._slope[:] = piece.value, piece.slope
        self._held = not piece.slope.any()
        if not self.next_step:
            self.next_step = min(self._first_step(), self._max_step)

    def control(self, t: float, x: Array) -> Array:
        """Return the control at a time within the piece."""
        return self._control.at(self._piece, t, x)

    def advance(self, more: int = 0) -> int:
        """
        Take a step within the tolerance, at most to the end of the piece.

        Parameters
        ----------
        more
            Number of further steps, which end with the piece or when a guard reaches its level;
            all but the last one are kept for dense output.

        Returns
        -------
        int
            Number of steps that were kept.

        """
        evaluate = self._evaluate if self._control.curved else self._function.call
        start, time, length, out, part = self._start, self._t, self._h, self._out, self._state_part
        item, error_at, least_at = self._item, self._error, self._least
        piece, moves, h, kept = self._piece, not self._held, self.next_step, 0
        t, end, state, row = self.t, self._end, self._state, self._row
        while True:
            left, rejected = end - t, False
            start[:], time[0] = state, t
            if moves:
                self._u[:] = piece.value + piece.slope * (t - piece.start)
            while True:
                last = h >= left * (1 - 1e-9)
                taken = length[0] = left if last else h
                evaluate()
                error = item(error_at)
                if error < 1:  # False for NaN
                    break
                if taken <= 10 * abs(math.nextafter(t, math.inf) - t):
                    self.t, self._state = t, state
                    self._fail(taken)
                factor = SAFETY * error**EXPONENT if math.isfinite(error) else MIN_FACTOR
                h, rejected = taken * max(MIN_FACTOR, factor), True
            factor = SAFETY * error**EXPONENT if error > 0 else MAX_FACTOR
            if rejected:
                h = taken * factor if factor < 1 else taken
            else:  # the step may have been shortened
                grown = taken * factor if factor < MAX_FACTOR else taken * MAX_FACTOR
                h = h if last and h > grown else grown
            h = min(h, self._max_step)
            row[:] = out
            before, t, state = t, end if last else t + taken, row[part]
            if last or kept == more or not item(least_at) > 0:
                break
            row = self._keep(before, taken)
            kept += 1
        self._t_old, self.t, self.h, self.next_step = before, t, taken, h
        self._state, self.clear = state, item(least_at) > 0
        return kept

    def _evaluate(self) -> None:
        """Evaluate a step, also under a control that is not linear over it."""
        if self._control.curved:
            h = self._h[0]
            times = np.minimum(self._t[0] + INSTANTS * h, self._before_end)  # no jump at the end
            self._curved[:] = self._control.over(times)
        self._function.call()

    def _fail(self, h: float) -> None:
        if not np.all(np.isfinite(self._out[self._state_part])):
            reason = not_finite(self._names, self.control(self.t + h, self.x))
        else:
            reason = 'the step length fell to rounding; the motion is singular there'
        raise SimulationError(f'at t = {self.t:.9g} s {reason} (step {h:.3g} s)')

    def set_levels(self, levels: Array) -> None:
        """Set the levels of the guards, shape (guards,), in their units."""
        self._levels[:] = levels

    def samples(self) -> tuple[Array, Array]:
        """Return times and states, evenly spaced over the last step."""
        theta = np.linspace(0, 1, SAMPLES + 1)
        F = self._row[self._where['dense']].reshape(POWER, self._n)
        states = self._start[: self._n] + interpolation_weights(theta) @ F
        return self._t_old + theta * self.h, states

    def state_within(self, t: float) -> Array:
        """Return the state at a time within the last step, by a separate step."""
        self._h[0] = t - self._t_old
        self._evaluate()
        return self._out[: self._n].copy()

    def truncate(self, t: float) -> None:
        """End the last step at an earlier time."""
        if t >= self.t:
            return
        h = t - self._t_old
        if h <= 0:
            self.t, self.h, self._state = self._t_old, 0.0, self._start.copy()
            return
        self._h[0] = h
        self._kept_if[:] = 0, math.inf  # if a step was kept, its part is kept
        self._evaluate()
        self._kept_if[:] = self._tolerance
        self._row[:] = self._out
        self.t, self.h, self._state = t, h, self._row[self._state_part]
        self.clear = self._item(self._least) > 0

    def keep(self) -> None:
        """Keep the last step for dense output."""
        if self.h > 0:
            self._keep(self._t_old, self.h)

    def _keep(self, t: float, h: float) -> Array:
        """Keep the step in the present row; return the row of the next one."""
        self._clocks.append((t, h))
        self._free += 1
        if self._free == ROWS:
            self._blocks.append(np.empty((ROWS, self._out.size)))
            self._free = 0
            self._function.renew()
        row: Array = self._blocks[-1][self._free]
        self._row = row
        return row

    @property
    def kept(self) -> int:
        """Number of steps kept for dense output."""
        return len(self._clocks)

    def collect(self) -> Kept:
        """Return the steps kept since the last call."""
        times = np.array(self._clocks)
        rows = np.concatenate(self._blocks)[: len(times)]
        ends = rows[:, : self._n]
        starts = np.vstack([self._first, ends[:-1]])
        self._state = self._state.copy()
        self._first = self._state[: self._n]
        self._blocks, self._clocks = [self._blocks[0]], []
        self._free, self._row = 0, self._blocks[0][0]
        dense = rows[:, self._where['dense']].reshape(-1, POWER, self._n)
        corrections = rows[:, self._where['correction']]
        return Kept(times[:, 0], times[:, 1], starts, dense, corrections)

    @np.errstate(all='ignore')  # an overflow results in a step that is too short
    def _first_step(self) -> float:
        """Return a first step length, Hairer et al., Section II.4."""
        x, f, span = self._state[: self._n], self._state[self._n :], self._end - self.t
        scale = self._tolerance[1] + self._tolerance[0] * np.abs(x)
        d0, d1 = _rms(x / scale), _rms(f / scale)
        h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        h0 = max(min(h0, span), FIRST_STEP * span) if math.isfinite(h0) else FIRST_STEP * span
        ahead = x + h0 * f
        f1 = self._dynamics(ahead, self.control(self.t, ahead), self.t, self._p)
        d2 = _rms((f1 - f) / scale) / h0
        if not math.isfinite(d2):
            return h0 * 1e-3
        top = max(d1, d2)
        h1 = max(1e-6, h0 * 1e-3) if top <= 1e-15 else (0.01 / top) ** (1 / 8)
        return min(100 * h0, h1, span)


def _rms(v: Array) -> float:
    return float(np.linalg.norm(v)) / math.sqrt(v.size)


@cache
def _derivation() -> str:
    """Return a text that identifies the generated step."""
    return ''.join(files(__package__).joinpath(name).read_text() for name in DERIVED_BY)


def compile_step(
    system: RollingSystem, dynamics: ca.Function, guards: ca.Function | None
) -> tuple[ca.Function, ca.Function]:
    """Return the step and the dynamics as machine code; built only if they are not cached."""

    def build() -> tuple[ca.Function, ca.Function]:
        from rolling_dynamics.simulation.dormand_prince_step import (  # noqa: PLC0415  (large)
            step_function,
        )

        return step_function(system, dynamics, guards), dynamics

    functions = (dynamics, projection(system), *([] if guards is None else [guards]))
    content = [
        _derivation(),
        str([system.state.slice(e.name) for e in system.state.entries]),
        *(f.serialize() for f in functions),
    ]
    names = ('dop853_step', dynamics.name())
    step, f = compiled_once('\n'.join(content), names, build, LOOPS)
    return step, f
