"""Fixed steps of a motion for real-time loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
import math
from typing import overload, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.capabilities import offers, smooth_mode, StartMode
from rolling_dynamics.contract.rolling_system import MotionState, RollingSystem
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.simulation.guards import in_mode, joined, NOISE, projection, with_mode
from rolling_dynamics.simulation.modes import ModeMachine

Expression = TypeVar('Expression', ca.SX, ca.MX)


def runge_kutta(
    f: ca.Function, x: ca.MX, u: ca.MX, t: ca.MX, h: ca.MX, p: ca.MX
) -> tuple[list[ca.MX], ca.MX]:
    """Return the states at which a step evaluates the rates after its start, and its end."""
    return step_of_order_4(lambda at, k: f(at, u, (t, t + h / 2, t + h)[k], p), x, h)


def step_of_order_4(
    rate: Callable[[Expression, int], Expression], x: Expression, h: Expression | float
) -> tuple[list[Expression], Expression]:
    """
    Return the stages of a step after its start, and its end.

    Parameters
    ----------
    rate
        Rate of a state at the start, the middle or the end of the step: 0, 1 or 2.
    x, h
        State at the start, and length of the step.

    """
    k1 = rate(x, 0)
    stages = [x + h / 2 * k1]
    k2 = rate(stages[0], 1)
    stages.append(x + h / 2 * k2)
    k3 = rate(stages[1], 1)
    stages.append(x + h * k3)
    k4 = rate(stages[2], 2)
    return stages, x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def ramp_step(system: RollingSystem) -> ca.Function:
    """Return ``(x, u0, u1, t, h, p) -> x``: a Runge-Kutta step of order 4, the control a ramp."""
    f = smooth_mode(system).dynamics
    x, t, h = ca.SX.sym('x', system.state.size), ca.SX.sym('t'), ca.SX.sym('h')
    u0, u1 = (ca.SX.sym(s, system.control.size) for s in ('u0', 'u1'))
    p = ca.SX.sym('p', system.parameters.size)
    u = u0, (u0 + u1) / 2, u1
    _, end = step_of_order_4(lambda at, k: f(at, u[k], (t, t + h / 2, t + h)[k], p), x, h)
    return ca.Function('ramp_step', [x, u0, u1, t, h, p], [ca.densify(end)])


STRAIGHT = 0.9  # minimum cosine between slip at the start of a step and later in it
SHORTEST = 1e-10  # s, of a step in which slip changes its direction


@dataclass(frozen=True, eq=False)
class _Advance:
    """
    A compiled step of one mode.

    ``(x, u, t, h, p) -> x, minimum cosine of slip, guards, the lowest of them``.
    """

    function: FastFunction
    slips: bool
    guards: tuple[str, ...]


class Stepper:
    """
    Classical Runge-Kutta steps of order 4 with a held control.

    A state vector is stepped in one mode, and its guards are ignored; a :class:`MotionState` goes
    through the modes, with events located inside the step. The state is projected on the
    constraints of its mode after each step. Not for use from two threads at once.
    """

    def __init__(
        self,
        system: RollingSystem,
        p: ArrayLike,
        max_step: float = 1e-3,
        mode: str | None = None,
        *,
        through_modes: bool = False,
    ) -> None:
        """
        Compile the step, or the steps of all modes.

        Parameters
        ----------
        system
            The system.
        p
            Its parameters, shape (parameters.size,).
        max_step
            Longest internal step [s]; a longer ``dt`` is divided evenly.
        mode
            Name of the mode in which state vectors are stepped; the first if None.
        through_modes
            Compile the steps of states with their mode, even if there is only one mode.

        """
        if not (math.isfinite(max_step) and max_step > 0):
            raise ParameterError(f'max_step must be positive and finite [s], got {max_step!r}')
        self.system, self.max_step = system, max_step
        self._mode = mode or next(iter(system.modes))
        self.p = np.array(p, dtype=float)
        if self.p.shape != (system.parameters.size,):
            raise ParameterError(
                f'p takes {system.parameters.size} numbers, got shape {self.p.shape}'
            )
        self._machine, self._n = ModeMachine(system), system.state.size
        several = through_modes or (mode is None and len(system.modes) > 1)
        _ = self._steps if several else self._in_one_mode

    @cached_property
    def _in_one_mode(self) -> FastFunction:
        only = in_mode(self.system, self._mode)
        mode = replace(only.modes[self._mode], guards={}, slip=None)
        step = step_with_guards(with_mode(only, self._mode, mode), self._mode)
        function = FastFunction(compiled(step)[0])
        function.inputs[4][:] = self.p
        return function

    @cached_property
    def _steps(self) -> dict[str, _Advance]:
        system = self.system
        functions = compiled(*(step_with_guards(system, name) for name in system.modes))
        return {
            name: _Advance(
                FastFunction(f),
                mode.slip is not None,
                tuple(mode.guards),
            )
            for (name, mode), f in zip(system.modes.items(), functions, strict=True)
        }

    def begin(self, x: ArrayLike, u: ArrayLike | None = None, t: float = 0.0) -> MotionState:
        """
        Return a state with its mode, if the system can determine it, else the first mode.

        Raises
        ------
        ParameterError
            It is not a state of the system.

        """
        held = np.zeros(self.system.control.size) if u is None else np.asarray(u, dtype=float)
        starts = offers(self.system, StartMode)
        if starts is not None:
            return starts.begin(self.p, np.asarray(x, dtype=float), held, t)
        return MotionState(t=t, x=np.array(x, dtype=float), mode=self._mode, p=self.p)

    def start(self, x: ArrayLike, u: ArrayLike, t: float = 0.0) -> MotionState:
        """
        Return a state with its mode like :meth:`begin`, after events of guards below zero.

        Raises
        ------
        SimulationError
            The system leaves out the mode of the state.

        """
        held = np.asarray(u, dtype=float)
        state = self.begin(x, held, t)
        if state.mode not in self.system.modes:
            raise SimulationError(
                f'{self.system.name} starts in the mode {state.mode!r}, which it leaves out'
            )
        return self._machine.start(state, lambda _t, _x: held)

    @overload
    def step(self, x: MotionState, u: ArrayLike, dt: float) -> MotionState: ...

    @overload
    def step(self, x: ArrayLike, u: ArrayLike, dt: float, t: float = ...) -> Array: ...

    def step(
        self, x: MotionState | ArrayLike, u: ArrayLike, dt: float, t: float = 0.0
    ) -> MotionState | Array:
        """
        Return the state after dt seconds of the control u.

        Parameters
        ----------
        x
            State, shape (state.size,); or a state with its mode, which is not modified.
        u
            Control, held, shape (control.size,).
        dt
            Duration [s], zero or positive.
        t
            Time at the start [s] for a state vector, for systems that depend on time.

        Returns
        -------
        Array or MotionState
            Shape (state.size,), a new array; or the state with its mode and the events of the
            step, the same if the motion has ended.

        Raises
        ------
        ParameterError
            dt is negative or NaN.
        SimulationError
            The result is not finite, or there are too many changes of mode.

        """
        if not (math.isfinite(dt) and dt >= 0):
            raise ParameterError(f'dt must be zero or positive and finite [s], got {dt!r}')
        steps = max(1, math.ceil(dt / self.max_step * (1 - 1e-12)))
        if isinstance(x, MotionState):
            return self._events_in(x, u, dt, steps)
        function = self._in_one_mode
        x_in, u_in, t_in, h_in, _ = function.inputs
        x_in[:], u_in[:] = x, u
        h_in[0] = h = dt / steps
        for k in range(steps):
            t_in[0] = t + k * h
            function.evaluate()
            x_in[:] = function.output
        result = function.output.copy()
        if not math.isfinite(sum(result.tolist())):
            raise SimulationError(
                f'the state is no longer finite after the step from t = {t:.9g} s by {dt:.3g} s'
            )
        return result

    def _events_in(self, s: MotionState, given: ArrayLike, dt: float, steps: int) -> MotionState:
        """Return the state with its mode after dt seconds."""
        u = np.array(given, dtype=float)
        if u.shape != (self.system.control.size,) or not math.isfinite(sum(u.tolist())):
            raise ParameterError(
                f'u takes {self.system.control.size} finite numbers, got shape {u.shape}'
            )
        if s.events:
            s = replace(s, events=())
        end = s.t + dt
        for k in range(steps):
            goal = end if k == steps - 1 else s.t + (end - s.t) / (steps - k)
            while s.t < goal and s.ended is None:
                s, guard = self._until_event(s, u, goal)
                if guard is not None:
                    s = self._machine.after(s, guard, lambda _t, _x: u)
        return s

    def _until_event(
        self, s: MotionState, u: Array, goal: float
    ) -> tuple[MotionState, str | None]:
        advance = self._steps[s.mode]
        inputs = advance.function.inputs
        inputs[0][:], inputs[1][:], inputs[2][0], inputs[4][:] = s.x, u, s.t, s.p
        h = goal - s.t
        if advance.slips:
            h = self._steady(advance, h)
            guard = self._below(advance)
        else:
            guard = self._fallen(advance, h)
        if guard is not None:
            h, guard = self._locate(advance, s.t, h, guard)
        x = advance.function.output[: self._n].copy()
        if not math.isfinite(sum(x.tolist())):
            raise SimulationError(
                f'the state is no longer finite after the step from t = {s.t:.9g} s by {h:.3g} s'
            )
        t = goal if guard is None and h == goal - s.t else s.t + h
        s = MotionState(
            t=t, x=x, mode=s.mode, p=s.p, events=s.events, changes=s.changes, changed=s.changed
        )
        return s, guard

    def _steady(self, advance: _Advance, h: float) -> float:
        """
        Return a step in which slip keeps its direction from stage to stage.

        Slip that comes to rest takes increasingly short steps. Slip that starts converges to its
        direction faster, the slower it is.
        """
        while True:
            advance.function.inputs[3][0] = h
            if advance.function.evaluate()[self._n] >= STRAIGHT or h <= SHORTEST:
                return h
            h /= 2

    def _locate(self, advance: _Advance, t: float, h: float, guard: str) -> tuple[float, str]:
        """Return the length of the step to the first event, and the name of its guard."""
        low, high = 0.0, h
        while low < (middle := (low + high) / 2) < high and high - low > math.ulp(t + high) / 4:
            found = self._fallen(advance, middle)
            if found is None:
                low = middle
            else:
                high, guard = middle, found
        self._fallen(advance, high)  # leaves the state at the event
        return high, guard

    def _fallen(self, advance: _Advance, h: float) -> str | None:
        """Return the name of a guard that is below zero after h seconds, or None."""
        advance.function.inputs[3][0] = h
        advance.function.evaluate()
        return self._below(advance)

    def _below(self, advance: _Advance) -> str | None:
        """Return the name of a guard that is below zero after the step just tried, or None."""
        out = advance.function.output
        if not advance.guards or out[-1] >= -NOISE:
            return None
        values = out[self._n + advance.slips : -1]
        return next(n for n, g in zip(advance.guards, values, strict=True) if not g >= -NOISE)


def minimum_cosine(slip: ca.Function, x: ca.MX, later: Sequence[ca.MX], p: ca.MX) -> ca.MX:
    """Return the minimum cosine between slip at x and at later states; -1 if one is zero."""
    start = slip(x, p)
    cosines = []
    for v in (slip(z, p) for z in later):
        size = ca.sqrt(ca.sumsqr(start) * ca.sumsqr(v))
        cosines.append(ca.if_else(size > 0, ca.dot(start, v) / size, -1))
    return ca.mmin(ca.vertcat(*cosines))


def step_with_guards(
    system: RollingSystem, name: str, more: Sequence[ca.Function] = ()
) -> ca.Function:
    """
    Return ``(x, u, t, h, p) -> (x, minimum cosine of slip, guards, lowest, more)`` of a step.

    Functions ``(x, u, t, p)`` in ``more`` are evaluated at its end, together with the guards.
    """
    mode = system.modes[name]
    x, u = ca.MX.sym('x', system.state.size), ca.MX.sym('u', system.control.size)
    t, h, p = ca.MX.sym('t'), ca.MX.sym('h'), ca.MX.sym('p', system.parameters.size)
    stages, end = runge_kutta(mode.dynamics, x, u, t, h, p)
    y = projection(in_mode(system, name))(end, p)
    parts = [y]
    if mode.slip is not None:
        parts += [minimum_cosine(mode.slip, x, (*stages, y), p)]
    if mode.guards or more:
        values = joined('watched', system, [*mode.guards.values(), *more])(y, u, t + h, p)
        guards = values[: len(mode.guards)]
        parts += [guards, ca.mmin(guards) if mode.guards else 0]
        parts += [values[len(mode.guards) :]] if more else []
    return ca.Function(f'hybrid_step_{name}', [x, u, t, h, p], [ca.vertcat(*parts)])
