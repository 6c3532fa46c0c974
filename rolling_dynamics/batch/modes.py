"""Lanes carried through the modes of a system: what follows the event of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
import math
from threading import RLock

import casadi as ca
import numpy as np
from rolling_dynamics.batch.adaptive_steps import AdaptiveSteps, Watcher
from rolling_dynamics.batch.equations import Equations, equations
from rolling_dynamics.batch.fixed_steps import FixedSteps
from rolling_dynamics.batch.kernels import Kernel, kernel_of
from rolling_dynamics.batch.lanes import Array, Index, Lanes
from rolling_dynamics.contract.capabilities import StartMode
from rolling_dynamics.contract.mode import Mode, MotionState
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.suggestion import check_names

ADAPTIVE = 'DOP853'
METHODS = ('RK4', ADAPTIVE)
ACTIONS = ('stop', 'ignore')
NOISE = {'float64': 1e-12, 'float32': 1e-5}  # a guard that is zero to rounding has not fallen
CHART = 0.1  # share of a chart's quality at the reset at which a lane ends
AT_ONCE, SAME_TIME = 40, 1e-9  # changes of mode in one instant [s], after which a lane ends
NOT_STARTED, LOST, CHATTERS = 'not_started', 'not_finite', 'chatters'


@dataclass(frozen=True, kw_only=True)
class Options:
    """How lanes are stepped; see :class:`BatchSimulator`."""

    method: str
    max_step: float
    tolerance: tuple[float, float]
    dtype: str
    events: Mapping[str, str]

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        if self.method not in METHODS:
            raise ParameterError(f'method must be one of {METHODS}, got {self.method!r}')
        if self.dtype not in NOISE:
            raise ParameterError(f'dtype must be one of {tuple(NOISE)}, got {self.dtype!r}')
        if self.method == ADAPTIVE and self.dtype != 'float64':
            raise ParameterError(f'{ADAPTIVE} needs dtype float64, got {self.dtype!r}')
        if not self.max_step > 0:
            raise ParameterError(f'max_step must be positive [s], got {self.max_step!r}')
        if self.method != ADAPTIVE and math.isinf(self.max_step):
            raise ParameterError(f'{self.method} needs a finite max_step [s]')
        for name, action in self.events.items():
            if action not in ACTIONS:
                raise ParameterError(f'event {name!r}: one of {ACTIONS} is needed, got {action!r}')


@dataclass(frozen=True, eq=False, kw_only=True)
class Machine:
    """What steps lanes in one mode."""

    mode: Mode
    equations: Equations
    kernel: Kernel
    steps: FixedSteps | AdaptiveSteps


class Modes:
    """
    The modes of a system.

    Attributes
    ----------
    names
        Names of the modes.
    stops
        What may stop a lane, by its number; the first means that it goes on.

    """

    def __init__(self, system: RollingSystem, options: Options) -> None:
        """Get ready to step in any mode; machine code is made when it is first needed."""
        self.system, self.options, self.names = system, options, tuple(system.modes)
        self.stops = ['', NOT_STARTED]
        self._machines: dict[int, Machine] = {}
        self._turn = RLock()  # transitions evaluate by buffers of their own
        known = [equations(system, name).names for name in self.names]
        self.most_guards = max(len(guards) for guards in known)
        check_names(
            options.events, sorted({g for guards in known for g in guards}), 'events: no guard'
        )

    def machine(self, number: int) -> Machine:
        """Return what steps lanes in a mode; the compiler is waited for."""
        with self._turn:
            if number not in self._machines:
                self._machines[number] = self._made(number)
            return self._machines[number]

    def _made(self, number: int) -> Machine:
        mode, o = self.names[number], self.options
        these = equations(self.system, mode)
        real = 'double' if o.dtype == 'float64' else 'float'
        k = kernel_of(self.system, mode, real, o.method)
        adaptive = o.method == ADAPTIVE
        steps = (
            AdaptiveSteps(k, o.tolerance, o.max_step) if adaptive else FixedSteps(k, o.max_step)
        )
        return Machine(mode=self.system.modes[mode], equations=these, kernel=k, steps=steps)

    def enter(self, lanes: Lanes, index: Index, number: int) -> None:
        """Have lanes go on in a mode: what its guards fall through, and no step length yet."""
        machine = self.machine(number)
        levels = np.full(self.most_guards, -np.inf)
        for k, name in enumerate(machine.equations.names):
            if self.options.events.get(name) != 'ignore':
                levels[k] = -NOISE[self.options.dtype]
        lanes.mode[index], lanes.h[index], lanes.rejected[index] = number, 0.0, False
        lanes.levels[:, index] = levels[:, None]
        end = len(machine.equations.names)
        charts = slice(end - machine.equations.charts, end)
        if charts.start < end:
            padded = np.resize(
                index, -(-index.size // machine.kernel.width) * machine.kernel.width
            )
            quality = machine.kernel.guards(lanes.copied(padded))[charts, : index.size]
            lanes.levels[charts, index] = CHART * quality

    def start(self, lanes: Lanes, index: Index, system: StartMode) -> None:
        """Have lanes begin, each in the mode that its state is in."""
        vectors = (a[:, index].T.astype(float, order='C') for a in (lanes.p, lanes.x, lanes.u))
        given = zip(*vectors, lanes.t[index].tolist(), strict=True)
        for lane, (p, x, u, t) in zip(index.tolist(), given, strict=True):
            self._put(lanes, lane, system.begin(p, x, u, t))
        going = index[lanes.stop[index] == 0]
        for number in np.unique(lanes.mode[going]).tolist():
            self.enter(lanes, going[lanes.mode[going] == number], number)

    def advance(self, lanes: Lanes, watcher: Watcher | None = None) -> None:
        """Carry lanes to their goals, or to what stops them; see :class:`AdaptiveSteps`."""
        again = True
        while again:
            again = False
            for number, machine in list(self._machines.items()):
                index, guard = machine.steps.advance(lanes, number, watcher)
                if index.size:
                    with self._turn:
                        self._after(lanes, index, guard, number)
                    again = True

    def _after(self, lanes: Lanes, index: Index, guard: Index, number: int) -> None:
        """Let happen what follows the events of lanes in a mode."""
        machine = self.machine(number)
        for g in np.unique(guard).tolist():
            these = index[guard == g]
            name = LOST if g < 0 else machine.equations.names[g]
            reset = machine.mode.resets.get(name)
            if reset is None or name in self.options.events:
                lanes.stop[these] = self._stop(name)
                continue
            for lane in these.tolist():
                self._follow(lanes, lane, name)

    def _stop(self, name: str) -> int:
        if name not in self.stops:
            self.stops.append(name)
        return self.stops.index(name)

    def _follow(self, lanes: Lanes, lane: int, guard: str) -> None:
        """Let a lane go through the transition of a guard, and those that follow at once."""
        s = MotionState(
            t=float(lanes.t[lane]),
            x=lanes.x[:, lane].astype(float),
            mode=self.names[int(lanes.mode[lane])],
            p=lanes.p[:, lane].astype(float),
        )
        again = s.t - lanes.changed[lane] < SAME_TIME
        lanes.changes[lane], lanes.changed[lane] = lanes.changes[lane] + 1 if again else 1, s.t
        u = lanes.u[:, lane].astype(float)
        name: str | None = guard
        count = int(lanes.changes[lane])
        while name is not None and s.ended is None and count <= AT_ONCE:
            s, name = self._next(s, u, name)
            count += 1
        if count > AT_ONCE and name is not None:
            s = s.noted(CHATTERS, 'the modes change without limit', ends=True)
        self._put(lanes, lane, s)
        if not lanes.stop[lane]:
            self.enter(lanes, np.array([lane]), int(lanes.mode[lane]))

    def _put(self, lanes: Lanes, lane: int, s: MotionState) -> None:
        """Give a lane a state and its mode, or end it where that has ended."""
        lanes.t[lane], lanes.x[:, lane], lanes.p[:, lane] = s.t, s.x, s.p
        if s.ended is not None:
            lanes.stop[lane] = self._stop(s.stopped)
        elif s.mode not in self.names:  # of a view of some modes
            lanes.stop[lane] = self._stop(s.mode)
        else:
            lanes.mode[lane] = self.names.index(s.mode)
            slides = self.system.modes[s.mode].slip is not None
            if slides and self.options.method != ADAPTIVE:
                lanes.stop[lane] = self._stop(s.mode)

    def _next(self, s: MotionState, u: Array, guard: str) -> tuple[MotionState, str | None]:
        """Return what follows a guard, and the guard that is below zero there, if one is."""
        reset = self.system.modes[s.mode].resets.get(guard)
        if reset is None or guard in self.options.events:
            return s.noted(guard, 'already so at the start', ends=True), None
        if isinstance(reset, ca.Function):
            s = replace(s, x=np.array(reset(s.x, u, s.t, s.p)).ravel())
            return s, None
        s = reset(s, u)
        if s.ended is not None or s.mode not in self.names:
            return s, None
        these = self.machine(self.names.index(s.mode)).equations
        s = replace(s, x=np.array(these.project(s.x, s.p)).ravel())
        watched = len(these.names) - these.charts
        values = np.array(these.guards(s.x, u, s.t, s.p)).ravel()[:watched]
        ignored = [self.options.events.get(n) == 'ignore' for n in these.names[:watched]]
        below = np.flatnonzero((values < -NOISE['float64']) & ~np.array(ignored, bool))
        return s, these.names[below[0]] if below.size else None
