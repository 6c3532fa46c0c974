"""One run of a simulation: steps, events, changes of chart and mode, in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import math

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.event import Event
from rolling_dynamics.contract.mode import MotionState, Transition
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import CancelledError, ParameterError, SimulationError
from rolling_dynamics.simulation.compiled_solver import CompiledSolver
from rolling_dynamics.simulation.control import Feedback, PiecewiseLinear, Timed
from rolling_dynamics.simulation.events import GuardWatch
from rolling_dynamics.simulation.follower import Follower
from rolling_dynamics.simulation.formula import Formula
from rolling_dynamics.simulation.guards import atlas_of, off_pole
from rolling_dynamics.simulation.machine import Machine, machine_of
from rolling_dynamics.simulation.piece import Piece
from rolling_dynamics.simulation.recorder import Recorder
from rolling_dynamics.simulation.scipy_solver import METHODS, ScipySolver
from rolling_dynamics.simulation.trajectory import Trajectory

KEEP = 0.7  # a chart is left where it has become worse than this share of its quality at first
START = 2.0  # how much better a chart must be to change to it before the first step
LAST = 1e-3  # the same for a surface with no other chart, where it ends the simulation
RESTARTS = 100  # of events at one and the same time
AT_ONCE = 40  # changes of mode in one instant, after which a run is given up
SAME_TIME = 1e-9  # s
PROGRESS = 256  # steps in one go, and between two calls of on_progress


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings:
    """How a simulation is carried out; see :func:`simulate`."""

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
        """Refuse what no solver takes."""
        for name in ('rtol', 'atol', 'max_step'):
            if not getattr(self, name) > 0:
                raise ParameterError(f'{name} must be positive, got {getattr(self, name)!r}')
        if self.method not in METHODS:
            raise ParameterError(f'method must be one of {METHODS}, got {self.method!r}')


class Run:
    """Carries a state through time."""

    def __init__(
        self,
        system: RollingSystem,
        p: NDArray[np.float64],
        control: PiecewiseLinear | Formula | Timed | Feedback,
        settings: Settings,
        t_eval: NDArray[np.float64] | None,
    ) -> None:
        """Get ready; see :func:`simulate`."""
        self._given, self._p, self._control, self._settings = system, p, control, settings
        self._start_p, self._mode = p, ''
        self._recorder = Recorder(system, t_eval, dense=settings.dense, follower=settings.follower)
        self._events: list[Event] = []
        self._stopped = False
        self._restarts = self._changes = 0
        self._changed = -math.inf
        self._step = 0.0
        self._ended: MotionState | None = None  # by a transition

    def trajectory(self, begun: MotionState, end: float) -> Trajectory:
        """Return the motion from a state to a time."""
        t, self._mode, self._p = begun.t, begun.mode, begun.p
        system, x0 = self._off_pole(t, begun.x)
        self._take(begun)
        self._mount(system, t, x0)
        x = np.array(self._machine.projection(x0, self._p)).ravel()
        x = self._start_charts(t, x)
        x = self._first_look(t, x, self._watch.begin(t, x, self._control(t, x)))
        for piece in self._control.pieces(t, end):
            t, x = self._through(piece, t, x)
            if self._stopped:
                break
        return self._finish(t, x)

    def _off_pole(
        self, t: float, x: NDArray[np.float64]
    ) -> tuple[RollingSystem, NDArray[np.float64]]:
        """Return the system on charts that are regular at the start, and the state on them."""
        moved = off_pole(self._given, self._p, x) if self._settings.switch_charts else None
        if moved is None:
            return self._given, x
        self._note('hand_chart', t, moved.state, terminal=False, text=moved.text)
        return moved.system, moved.state

    def _through(
        self, piece: Piece, t: float, x: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Step to the end of a piece of the control, or to what stops the simulation."""
        if self._stopped:
            return t, x
        self._solver.begin(t, x, piece)
        report = self._settings.on_progress
        while self._solver.t < piece.end and not self._stopped:
            solver = self._solver
            before = self._recorder.steps
            self._recorder.steps += solver.advance(PROGRESS if self._watch.at_ease else 0)
            hits = self._watch.search(solver)
            if hits:
                self._handle(hits, piece)
            if solver is self._solver and self._ended is None:
                self._recorder.step(solver)
            passed = self._recorder.steps // PROGRESS > before // PROGRESS
            if report and passed and report(solver.t) is False:
                raise CancelledError(f'the simulation was stopped at t = {solver.t:.9g} s')
        if self._ended is not None:
            return self._ended.t, self._ended.x
        return self._solver.t, self._solver.x

    def _handle(self, hits: list[tuple[float, int]], piece: Piece) -> None:
        solver = self._solver
        for t, k in hits:
            name = self._machine.names[k]
            action = self._settings.actions.get(name, 'chart')
            if action == 'record':
                self._note(name, t, solver.state_within(t), terminal=False)
            elif action == 'chart':
                if self._keep_chart(k, t):
                    continue
                solver.truncate(t)
                self._change_chart(k, piece)
                return
            elif action == 'reset' and name in self._machine.resets:
                solver.truncate(t)
                self._recorder.step(solver)
                self._reset(name, piece)
                return
            elif action in {'stop', 'reset'}:
                solver.truncate(t)
                self._note(name, t, solver.x, terminal=True)
                return

    def _note(
        self, name: str, t: float, x: NDArray[np.float64], *, terminal: bool, text: str = ''
    ) -> None:
        self._events.append(
            Event(name=name, time=float(t), state=np.array(x), terminal=terminal, text=text)
        )
        self._stopped = self._stopped or terminal
        again = len(self._events) > 1 and self._events[-2].time >= t
        self._restarts = self._restarts + 1 if again else 0
        if self._restarts > RESTARTS:
            raise SimulationError(f'more than {RESTARTS} events {name!r} at t = {t:.9g} s')

    def _reset(self, name: str, piece: Piece) -> None:
        """Apply the jump of a hybrid system."""
        t, x, reset = self._solver.t, self._solver.x, self._machine.resets[name]
        if not isinstance(reset, ca.Function):
            self._step = 0.0
            self._recorder.close(self._solver)
            x = self._enter(reset, t, x)
            if not self._stopped:
                self._solver.begin(t, x, piece)
            return
        u = self._solver.control(t, x)
        after = np.array(reset(x, u, t, self._p)).ravel()
        self._note(name, t, after, terminal=False)
        self._remount(self._machine.system, t, after, piece)

    def _enter(
        self, transition: Transition, t: float, x: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Go over to the mode that a transition decides on; return the state in it."""
        self._changes = self._changes + 1 if t - self._changed < SAME_TIME else 0
        self._changed = t
        if self._changes > AT_ONCE:
            raise SimulationError(
                f'at t = {t:.9g} s the modes change without limit: the contact chatters '
                f'({self._mode})'
            )
        after = transition(MotionState(t=t, x=x, mode=self._mode, p=self._p), self._control(t, x))
        if after.mode not in self._machine.system.modes:  # of a view of some modes
            after = after.noted(after.mode, 'a mode begins that this system leaves out', ends=True)
        self._take(after)
        if self._stopped:
            self._ended = after
            return after.x
        self._mode, self._p = after.mode, after.p
        self._mount(self._machine.system, t, after.x)
        x = np.array(self._machine.projection(after.x, self._p)).ravel()
        return self._first_look(t, x, self._watch.begin(t, x, self._control(t, x)))

    def _take(self, state: MotionState) -> None:
        """Take over what happened in a transition."""
        for event in state.events:
            self._note(
                event.name, event.time, event.state, terminal=event.terminal, text=event.text
            )

    def _keep_chart(self, k: int, t: float) -> bool:
        """Lower the level of a chart that is the best there is; tell whether it stays in use."""
        atlas, name = atlas_of(self._machine.system), self._machine.names[k]
        if not self._may_switch(name):
            return False
        if atlas.rechart(name, self._p, self._solver.state_within(t)) is not None:
            return False
        self._watch.levels[k] *= 0.5
        self._watch.inside[k] = True
        self._solver.set_levels(self._watch.levels)
        return bool(self._watch.levels[k] > 1e-6)

    def _may_switch(self, name: str) -> bool:
        """Tell whether there are other charts to change to."""
        alternatives = atlas_of(self._machine.system).has_alternatives(name)
        return bool(self._settings.switch_charts and alternatives)

    def _change_chart(self, k: int, piece: Piece) -> None:
        name, solver = self._machine.names[k], self._solver
        t, x = solver.t, solver.x
        changed = None
        if self._may_switch(name):
            changed = atlas_of(self._machine.system).rechart(name, self._p, x)
        if changed is None:
            self._note(
                name, t, x, terminal=True, text='the chart ends here, and there is no other'
            )
            return
        self._recorder.step(solver)
        self._note(name, t, changed.state, terminal=False, text=changed.text)
        self._remount(changed.system, t, changed.state, piece)

    def _remount(
        self, system: RollingSystem, t: float, x: NDArray[np.float64], piece: Piece
    ) -> None:
        self._step = self._solver.next_step
        self._recorder.close(self._solver)
        self._mount(system, t, x)
        self._watch.begin(t, x, self._control(t, x))
        self._solver.begin(t, x, piece)

    def _mount(self, system: RollingSystem, t: float, x: NDArray[np.float64]) -> None:
        """Set up solver and guards for a system on its charts, from a state on them."""
        s = self._settings
        control = None if s.method != 'DOP853' else self._control
        law = control.function if isinstance(control, Formula) and control.closes_loop else None
        self._machine: Machine = machine_of(system, self._mode, s.extra, law)
        levels = self._levels(x)
        self._watch = GuardWatch(self._guard_function(), self._p, levels)
        if isinstance(control, PiecewiseLinear | Formula | Timed):
            self._solver: CompiledSolver | ScipySolver = CompiledSolver(
                system,
                self._machine.step,
                control,
                self._p,
                (s.rtol, s.atol),
                levels,
                s.max_step,
                self._step,
            )
        else:
            self._solver = ScipySolver(
                system,
                self._machine.step[1],
                self._machine.projection,
                self._control,
                self._p,
                (s.rtol, s.atol),
                s.method,
                s.max_step,
                self._step,
            )
        self._recorder.open(self._machine.view, t, self._p)

    def _guard_function(self) -> FastFunction | None:
        guards = self._machine.guards
        return None if guards is None else FastFunction(guards)

    def _levels(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the guards fall through: zero, and a share of the charts' quality now."""
        machine = self._machine
        levels = np.zeros(len(machine.names))
        for k in range(len(machine.names) - machine.charts, len(machine.names)):
            name = machine.names[k]
            now = float(
                atlas_of(machine.system).regularity[name](
                    x, np.zeros(machine.system.control.size), 0.0, self._p
                )
            )
            share = KEEP if self._may_switch(name) else LAST
            levels[k] = share * now
        for k, name in enumerate(machine.names):
            if self._settings.actions.get(name) == 'ignore':
                levels[k] = -math.inf
        return levels

    def _start_charts(self, t: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Go over to better charts before the first step."""
        if not self._settings.switch_charts:
            return x
        for k in range(len(self._machine.names) - self._machine.charts, len(self._machine.names)):
            name = self._machine.names[k]
            changed = atlas_of(self._machine.system).rechart(name, self._p, x, worth=START)
            if changed is not None:
                self._note(name, t, changed.state, terminal=False, text=changed.text)
                self._mount(changed.system, t, changed.state)
                x = changed.state
        return x

    def _first_look(
        self, t: float, x: NDArray[np.float64], below: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Take guards that are below zero at a start for events there; return the state after."""
        for k in below:
            name = self._machine.names[k]
            action = self._settings.actions.get(name)
            reset = self._machine.resets.get(name) if action == 'reset' else None
            if self._stopped:
                break
            if reset is not None and not isinstance(reset, ca.Function):
                return self._enter(reset, t, x)
            terminal = action in {'stop', 'reset'}
            self._note(name, t, x, terminal=terminal, text='already so at the start')
        return x

    def _finish(self, t: float, x: NDArray[np.float64]) -> Trajectory:
        recorded = self._recorder.finish(self._solver, t, x)
        controls = self._control.sample(recorded.times, recorded.states)
        return Trajectory(
            system=self._given,
            parameters=self._start_p,
            controls=controls,
            control=self._control,
            events=tuple(self._events),
            **recorded._asdict(),
        )
