"""One run of a simulation: steps, events, changes of chart and mode, in order of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
import logging
import math
from typing import Any, TypeAlias
import weakref

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import Rechart
from rolling_dynamics.contract.rolling_system import Event, Follower, MotionState, RollingSystem
from rolling_dynamics.errors import CancelledError, check_choice, ParameterError, SimulationError
from rolling_dynamics.simulation.compiled_solver import closed, compile_step, CompiledSolver
from rolling_dynamics.simulation.control import Feedback, Formula, Piece, StepControl
from rolling_dynamics.simulation.guards import atlas_of, chart_guards, off_pole
from rolling_dynamics.simulation.modes import (
    GuardWatch,
    IGNORE,
    ModeFunctions,
    ModeMachine,
    RECORD,
)
from rolling_dynamics.simulation.scipy_solver import METHODS, ScipySolver, Solver
from rolling_dynamics.simulation.trajectory import Drift, Segment, Trajectory

KEEP = 0.7  # a chart is left below this fraction of its initial quality
START = 2.0  # factor by which a chart must be better for a change before the first step
LAST = 1e-3  # the same for a surface without another chart, which ends the simulation
NO_OTHER = 'there is no other'
RESTARTS = 100  # of events at the same time
PROGRESS = 256  # steps per call, and between two calls of on_progress
CHECK_AFTER, MANY = 50_000, 1e6  # steps before a check of their number, and a large number
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings:
    """Settings of a simulation; see :func:`simulate`."""

    method: str
    rtol: float
    atol: float
    max_step: float
    dense: bool
    switch_charts: bool
    actions: Mapping[str, str]
    extra: Mapping[str, ca.Function] = field(default_factory=dict)
    follower: Follower | None = None
    on_progress: Callable[[float], object] | None = None

    def __post_init__(self) -> None:
        """Reject invalid settings."""
        for name in ('rtol', 'atol', 'max_step'):
            if not getattr(self, name) > 0:
                raise ParameterError(f'{name} must be positive, got {getattr(self, name)!r}')
        check_choice('method', self.method, METHODS)


BLOCK = 2048  # steps after which output is written without dense output


class Recorder:
    """Collects steps and evaluates output."""

    def __init__(
        self,
        system: RollingSystem,
        t_eval: Array | None,
        *,
        dense: bool,
        follower: Follower | None = None,
    ) -> None:
        """Prepare for output at times [s], shape (N,), or at the borders of steps if None."""
        self._layout, self._t_eval, self._dense = system.state, t_eval, dense
        self._follower = follower
        self._followed: list[Array] = []
        self.steps = 0
        n = len(system.state.entries)
        self._largest, self._total = np.zeros(n), np.zeros(n)
        self._times: list[Array] = []
        self._states: list[Array] = []
        self._segments: list[Segment] = []
        self._done = 0
        self._system, self._start, self._p = system, 0.0, np.zeros(0)
        self._to_given: Callable[[Array], Array] | None = None

    def open(
        self, system: RollingSystem, t: float, p: Array, to_given: Callable[[Array], Array] | None
    ) -> None:
        """Start a segment on a set of charts, in a mode; see :class:`Segment`."""
        self._system, self._start, self._p, self._to_given = system, t, p, to_given

    def step(self, solver: Solver) -> None:
        """Take the solver's last step."""
        solver.keep()
        self.steps += 1
        if solver.kept >= BLOCK and not self._dense:
            self._write(solver, solver.t, last=False)

    def close(self, solver: Solver) -> None:
        """End a segment."""
        if solver.kept:
            self._write(solver, solver.t, last=False)

    def _write(self, solver: Solver, end: float, *, last: bool) -> None:
        """Write output before a time, and at it if it is the last."""
        kept = solver.collect()
        np.maximum(self._largest, kept.corrections.max(axis=0), out=self._largest)
        self._total += kept.corrections.sum(axis=0)
        self._extend(end, kept.interpolate if self._dense else None)
        if self._t_eval is None:
            times = kept.times
        else:
            stop = int(np.searchsorted(self._t_eval, end, side='right' if last else 'left'))
            times, self._done = self._t_eval[self._done : stop], stop
        if times.size:
            self._times.append(times)
            self._states.append(self._on_constraints(kept.interpolate(times)))
        if self._follower is not None:
            borders = np.append(kept.times, end)
            self._followed.append(
                self._follower.along(self._system, borders, kept.interpolate, times)
            )
        self._start = end

    def _on_constraints(self, states: Array) -> Array:
        for entry in self._layout.entries:
            if entry.has_unit_norm:
                part = states[:, self._layout.slice(entry.name)]
                part /= np.linalg.norm(part, axis=1, keepdims=True)
        return states

    def finish(self, solver: Solver, t: float, x: Array) -> dict[str, Any]:
        """Return the entries of :class:`.Trajectory` from steps; t and x are the end."""
        if solver.kept:
            self._write(solver, t, last=True)
        elif self._t_eval is not None and np.any(self._t_eval[self._done :] <= t):
            # stopped at the start, or right after an event
            self._append(self._t_eval[self._done : self._done + 1], x)
        if not self._segments or self._segments[-1].end < t:
            self._extend(t, lambda times: np.repeat(x[None, :], times.size, axis=0))
        if self._t_eval is None:
            self._append(np.array([t]), x)
        largest, total = self._largest.tolist(), self._total.tolist()
        drifts = zip(self._layout.entries, largest, total, strict=True)
        nothing = np.zeros((0, self._layout.size))
        return {
            'times': np.concatenate(self._times) if self._times else np.zeros(0),
            'recorded': np.vstack(self._states) if self._states else nothing,
            'segments': tuple(self._segments),
            'drift': {e.name: Drift(largest=a, total=b) for e, a, b in drifts if b > 0},
            'steps': self.steps,
            'followed': np.vstack(self._followed) if self._followed else None,
        }

    def _append(self, time: Array, x: Array) -> None:
        """Write one more output time."""
        self._times.append(time)
        self._states.append(x[None, :])
        if self._follower is not None:
            self._followed.append(self._follower.at(self._system, x)[None, :])

    def _extend(self, end: float, interpolate: Callable[[Array], Array] | None) -> None:
        """Add a segment; without interpolation, one for each set of charts."""
        last = self._segments[-1] if self._segments else None
        start = self._start
        same = last and last.system is self._system and last.parameters is self._p
        if interpolate is None and same:
            start = self._segments.pop().start
        self._segments.append(
            Segment(
                system=self._system,
                parameters=self._p,
                start=start,
                end=end,
                interpolate=interpolate,
                to_given=self._to_given,
            )
        )


class Run:
    """Advances a state in time."""

    def __init__(
        self,
        system: RollingSystem,
        p: Array,
        control: StepControl | Feedback,
        settings: Settings,
        t_eval: Array | None,
    ) -> None:
        """Prepare a run; see :func:`simulate`."""
        self._given, self._p, self._control, self._settings = system, p, control, settings
        self._system = system
        self._recorder = Recorder(system, t_eval, dense=settings.dense, follower=settings.follower)
        self._events: list[Event] = []
        self._stopped = False
        self._restarts = 0
        self._step, self._many = 0.0, False

    def trajectory(self, first: MotionState, end: float) -> Trajectory:
        """Return the motion from a state to a time."""
        self._span = first.t, end
        s = self._on_charts(first)
        self._take(s)
        self._modes = self._machine(self._system)
        project = self._modes.functions(s.mode).projection
        s = replace(s, x=np.array(project(s.x, s.p)).ravel(), events=())
        self._state = s
        self._mount()
        self._state = self._modes.start(s, self._control)
        self._take(self._state)
        if self._state is not s and not self._stopped:
            self._mount()
        for piece in self._control.pieces(s.t, end):
            self._through(piece)
        return self._finish()

    def _machine(self, system: RollingSystem) -> ModeMachine:
        return ModeMachine(system, self._settings.actions, self._settings.extra)

    def _on_charts(self, s: MotionState) -> MotionState:
        """Change to the best charts for the start; return the state on them."""
        if not self._settings.switch_charts:
            return s
        moved = off_pole(self._given, s.p, s.x)
        if moved is not None:
            s = self._moved('hand_chart', moved, s)
        for name in chart_guards(self._system):
            changed = atlas_of(self._system).rechart(name, s.p, s.x, worth=START)
            if changed is not None:
                s = self._moved(name, changed, s)
        return s

    def _moved(self, name: str, changed: Rechart, s: MotionState) -> MotionState:
        """Change to other charts; return the state on them."""
        self._system = changed.system
        self._note(name, s.t, changed.state, terminal=False, text=changed.text)
        return replace(s, x=changed.state)

    def _to_given(self, p: Array) -> Callable[[Array], Array] | None:
        """Return the conversion of a state to the given charts; None on these charts."""
        if self._system is self._given:
            return None
        return partial(atlas_of(self._given).from_charts_of, self._system, p)

    def _through(self, piece: Piece) -> None:
        """Step to the end of a piece of the control, or to an event that stops the simulation."""
        if self._stopped:
            return
        self._solver.begin(self._state.t, self._state.x, piece)
        report = self._settings.on_progress
        while self._solver.t < piece.end and not self._stopped:
            solver = self._solver
            before = self._recorder.steps
            self._recorder.steps += solver.advance(PROGRESS if self._watch.all_inside else 0)
            hits = self._watch.search(solver)
            if hits:
                self._handle(hits, piece)
            if solver is self._solver and self._state.ended is None:
                self._recorder.step(solver)
            passed = self._recorder.steps // PROGRESS > before // PROGRESS
            if passed and self._recorder.steps >= CHECK_AFTER and not self._many:
                self._check_steps(solver.t)
            if report and passed and report(solver.t) is False:
                raise CancelledError(f'the simulation was stopped at t = {solver.t:.9g} s')
        if self._state.ended is None:
            self._state = replace(self._state, t=self._solver.t, x=self._solver.x)

    def _check_steps(self, t: float) -> None:
        """Warn once if the run would take many steps at its mean step so far."""
        (start, end), steps = self._span, self._recorder.steps
        self._many = (t - start) * MANY < steps * (end - start)
        if self._many:
            LOG.warning(
                'at t = %.4g of %g s there are %d steps already, %.3g s each: rtol and atol are '
                'near the rounding of the equations, or parameters make them stiff, such as a '
                'very small mass or inertia',
                *(t, end, steps, (t - start) / steps),
            )

    def _handle(self, hits: list[tuple[float, int]], piece: Piece) -> None:
        solver, charts = self._solver, chart_guards(self._system)
        for t, k in hits:
            name = self._these.names[k]
            if self._settings.actions.get(name) == RECORD:
                self._note(name, t, solver.state_within(t), terminal=False)
                continue
            if name in charts and self._keep_chart(k, t):
                continue
            solver.truncate(t)
            if name in charts:
                self._change_chart(name, piece)
            elif name in self._these.resets and name not in self._settings.actions:
                self._follow(name, piece)
            else:
                self._note(name, t, solver.x, terminal=True)
            return

    def _note(self, name: str, t: float, x: Array, *, terminal: bool, text: str = '') -> None:
        to_given = self._to_given(self._p)
        state = np.array(x) if to_given is None else to_given(x)
        event = Event(name=name, time=float(t), state=state, terminal=terminal, text=text)
        self._events.append(event)
        self._stopped = self._stopped or terminal
        again = len(self._events) > 1 and self._events[-2].time >= t
        self._restarts = self._restarts + 1 if again else 0
        if self._restarts > RESTARTS:
            raise SimulationError(f'more than {RESTARTS} events {name!r} at t = {t:.9g} s')

    def _follow(self, guard: str, piece: Piece) -> None:
        """Apply the reset of a guard in its mode."""
        solver = self._solver
        self._recorder.step(solver)
        s = replace(self._state, t=solver.t, x=solver.x, events=())
        self._state = self._modes.after(s, guard, self._control)
        self._take(self._state)
        jumps = isinstance(self._these.resets[guard], ca.Function)
        self._remount(piece, solver.next_step if jumps else 0.0)

    def _take(self, state: MotionState) -> None:
        """Record the events of a transition."""
        for event in state.events:
            self._note(
                event.name, event.time, event.state, terminal=event.terminal, text=event.text
            )
        self._stopped = self._stopped or state.ended is not None

    def _keep_chart(self, k: int, t: float) -> bool:
        """Lower the level of a chart that is the best one; return whether it stays in use."""
        atlas, name = atlas_of(self._system), self._these.names[k]
        if not self._may_switch(name):
            return False
        if atlas.rechart(name, self._state.p, self._solver.state_within(t)) is not None:
            return False
        self._watch.levels[k] *= 0.5
        self._watch.inside[k] = True
        self._solver.set_levels(self._watch.levels)
        return bool(self._watch.levels[k] > 1e-6)

    def _may_switch(self, name: str) -> bool:
        """Return whether there are other charts to change to."""
        alternatives = atlas_of(self._system).has_alternatives(name)
        return bool(self._settings.switch_charts and alternatives)

    def _change_chart(self, name: str, piece: Piece) -> None:
        solver = self._solver
        t, x, changed = solver.t, solver.x, None
        if self._may_switch(name):
            changed = atlas_of(self._system).rechart(name, self._state.p, x)
        if changed is None:
            why = (
                'the control is a function of the state on it'
                if self._control.closes_loop
                else NO_OTHER
            )
            self._note(name, t, x, terminal=True, text=f'the chart ends here, and {why}')
            return
        self._recorder.step(solver)
        self._state = self._moved(name, changed, replace(self._state, t=t))
        self._modes = self._machine(self._system)
        self._remount(piece, solver.next_step)

    def _remount(self, piece: Piece, step: float) -> None:
        """Continue from the state; the first step is known, or 0."""
        self._recorder.close(self._solver)
        if self._stopped:
            return
        self._step = step
        self._mount()
        self._solver.begin(self._state.t, self._state.x, piece)

    def _mount(self) -> None:
        """Set up solver and guards for the state, in its mode, on its charts."""
        s, now, system = self._settings, self._state, self._system
        control = None if s.method != 'DOP853' else self._control
        law = control.function if isinstance(control, Formula) and control.closes_loop else None
        self._these = these = self._modes.functions(now.mode)
        step = _compiled(these, law)
        levels = self._levels(now.x)
        self._watch = GuardWatch(self._modes.guards(now.mode), now.p, levels)
        self._watch.begin(now.t, now.x, self._control(now.t, now.x))
        if isinstance(control, StepControl):
            self._solver: CompiledSolver | ScipySolver = CompiledSolver(
                system, step, control, now.p, (s.rtol, s.atol), levels, s.max_step, self._step
            )
        else:
            self._solver = ScipySolver(
                system,
                step[1],
                these.projection,
                self._control,
                now.p,
                (s.rtol, s.atol),
                s.method,
                s.max_step,
                self._step,
            )
        self._recorder.open(these.view, now.t, now.p, self._to_given(now.p))

    def _levels(self, x: Array) -> Array:
        """Return the levels of the guards: zero, and a fraction of the charts' present quality."""
        names, charts = self._these.names, chart_guards(self._system)
        levels = np.zeros(len(names))
        for k, name in enumerate(names):
            if name in charts:
                u = np.zeros(self._system.control.size)
                now = float(charts[name](x, u, 0.0, self._state.p))
                levels[k] = (KEEP if self._may_switch(name) else LAST) * now
            elif self._settings.actions.get(name) == IGNORE:
                levels[k] = -math.inf
        return levels

    def _finish(self) -> Trajectory:
        recorded = self._recorder.finish(self._solver, self._state.t, self._state.x)
        controls = self._control.sample(recorded['times'], recorded['recorded'])
        return Trajectory(
            system=self._given,
            parameters=self._p,
            controls=controls,
            control=self._control,
            events=tuple(self._events),
            **recorded,
        )


Law: TypeAlias = ca.Function | None
Step: TypeAlias = tuple[ca.Function, ca.Function]
_steps: weakref.WeakKeyDictionary[ModeFunctions, dict[bool, tuple[Law, Step]]] = (
    weakref.WeakKeyDictionary()
)


def _compiled(these: ModeFunctions, law: Law) -> Step:
    """Return the compiled step and dynamics of a mode under a law; the last one is cached."""
    known = _steps.setdefault(these, {})
    last, step = known.get(law is None, (None, None))
    if step is None or (law is not None and hash(law) != hash(last)):
        guards = these.guards and closed(these.guards, law)
        step = compile_step(these.view, closed(these.dynamics, law), guards)
        known[law is None] = law, step
    return step
