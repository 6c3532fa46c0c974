"""Trajectories carried through the modes of a system: what follows the event of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math
from threading import RLock

import numpy as np
from rolling_dynamics.batch.kernels import Kernel, kernel_of
from rolling_dynamics.batch.lanes import Equations, equations, Index, Lanes
from rolling_dynamics.batch.steps import AdaptiveSteps, FixedSteps, Watcher
from rolling_dynamics.contract.capabilities import StartMode
from rolling_dynamics.contract.rolling_system import Mode, MotionState, RollingSystem
from rolling_dynamics.errors import check_names, ParameterError
from rolling_dynamics.simulation.modes import ChatterError, IGNORE, ModeMachine, NOISE, STOP
from rolling_dynamics.simulation.stepper import STRAIGHT

ADAPTIVE = 'DOP853'
METHODS = ('RK4', ADAPTIVE)
ACTIONS = (STOP, IGNORE)
ROUNDING = {'float64': NOISE, 'float32': 1e-5}  # a guard that is zero to this has not fallen
CHART = 0.1  # fraction of a chart's quality at the reset at which a trajectory ends
NOT_STARTED, LOST, CHATTERS = 'not_started', 'not_finite', 'chatters'


@dataclass(frozen=True, kw_only=True)
class Options:
    """How trajectories are stepped; see :class:`BatchSimulator`."""

    method: str
    max_step: float
    tolerance: tuple[float, float]
    dtype: str
    events: Mapping[str, str]

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        if self.method not in METHODS:
            raise ParameterError(f'method must be one of {METHODS}, got {self.method!r}')
        if self.dtype not in ROUNDING:
            raise ParameterError(f'dtype must be one of {tuple(ROUNDING)}, got {self.dtype!r}')
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
    """What steps trajectories in one mode."""

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
        What may stop a trajectory, by its number; the first means that it goes on.

    """

    def __init__(self, system: RollingSystem, options: Options) -> None:
        """Get ready to step in any mode; machine code is made when it is first needed."""
        self.system, self.options, self.names = system, options, tuple(system.modes)
        self.stops = ['', NOT_STARTED]
        self._machines: dict[int, Machine] = {}
        self._machine = ModeMachine(system, options.events)
        self._turn = RLock()  # transitions evaluate by buffers of their own
        known = [equations(system, name).names for name in self.names]
        self.most_guards = max(len(guards) for guards in known) + 1  # and how slip may turn
        check_names(
            options.events, sorted({g for guards in known for g in guards}), 'events: no guard'
        )

    def machine(self, number: int) -> Machine:
        """Return what steps trajectories in a mode; the compiler is waited for."""
        with self._turn:
            if number not in self._machines:
                self._machines[number] = self._made(number)
            return self._machines[number]

    def _made(self, number: int) -> Machine:
        mode, o = self.names[number], self.options
        these = equations(self.system, mode)
        real = 'double' if o.dtype == 'float64' else 'float'
        k = kernel_of(self.system, mode, real, o.method)
        steps: FixedSteps | AdaptiveSteps
        if o.method == ADAPTIVE:
            steps = AdaptiveSteps(k, o.tolerance, o.max_step)
        else:
            slip_row = None if these.slip is None else len(these.names)
            steps = FixedSteps(k, o.max_step, slip_row)
        return Machine(mode=self.system.modes[mode], equations=these, kernel=k, steps=steps)

    def enter(self, lanes: Lanes, index: Index, number: int) -> None:
        """Have trajectories go on in a mode: its guards' levels, and no step length yet."""
        machine = self.machine(number)
        levels = np.full(self.most_guards, -np.inf)
        for k, name in enumerate(machine.equations.names):
            if self.options.events.get(name) != IGNORE:
                levels[k] = -ROUNDING[self.options.dtype]
        lanes.mode[index], lanes.h[index], lanes.rejected[index] = number, 0.0, False
        lanes.levels[:, index] = levels[:, None]
        end = len(machine.equations.names)
        if machine.mode.slip is not None:
            lanes.levels[end, index] = STRAIGHT
        charts = slice(end - machine.equations.charts, end)
        if charts.start < end:
            padded = np.resize(
                index, -(-index.size // machine.kernel.width) * machine.kernel.width
            )
            quality = machine.kernel.guards(lanes.copied(padded))[charts, : index.size]
            lanes.levels[charts, index] = CHART * quality

    def start(self, lanes: Lanes, index: Index, system: StartMode) -> None:
        """Have trajectories begin, each in the mode that its state is in."""
        vectors = (a[:, index].T.astype(float, order='C') for a in (lanes.p, lanes.x, lanes.u))
        given = zip(*vectors, lanes.t[index].tolist(), strict=True)
        for lane, (p, x, u, t) in zip(index.tolist(), given, strict=True):
            self._put(lanes, lane, system.begin(p, x, u, t))
        going = index[lanes.stop[index] == 0]
        for number in np.unique(lanes.mode[going]).tolist():
            self.enter(lanes, going[lanes.mode[going] == number], number)

    def advance(self, lanes: Lanes, watcher: Watcher | None = None) -> None:
        """Carry trajectories to their goals, or to what stops them; see :class:`AdaptiveSteps`."""
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
        """Let happen what follows the events of trajectories in a mode."""
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
        """Let a trajectory go through what follows a guard."""
        s = MotionState(
            t=float(lanes.t[lane]),
            x=lanes.x[:, lane].astype(float),
            mode=self.names[int(lanes.mode[lane])],
            p=lanes.p[:, lane].astype(float),
            changes=int(lanes.changes[lane]),
            changed=float(lanes.changed[lane]),
        )
        u = lanes.u[:, lane].astype(float)
        try:
            s = self._machine.after(s, guard, lambda _t, _x: u)
        except ChatterError:
            lanes.stop[lane] = self._stop(CHATTERS)
            return
        lanes.changes[lane], lanes.changed[lane] = s.changes, s.changed
        self._put(lanes, lane, s)
        if not lanes.stop[lane]:
            self.enter(lanes, np.array([lane]), int(lanes.mode[lane]))

    def _put(self, lanes: Lanes, lane: int, s: MotionState) -> None:
        """Give a trajectory a state and its mode, or end it where that has ended."""
        lanes.t[lane], lanes.x[:, lane], lanes.p[:, lane] = s.t, s.x, s.p
        if s.ended is not None:
            lanes.stop[lane] = self._stop(s.stopped)
        else:
            lanes.mode[lane] = self.names.index(s.mode)
