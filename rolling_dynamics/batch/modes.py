"""Trajectories through the modes of a system, sampled at output times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math
from threading import RLock

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.batch.kernels import compiled_kernel, Kernel, kernel_of
from rolling_dynamics.batch.steps import AdaptiveSteps, FixedSteps, interpolated, Watcher
from rolling_dynamics.batch.trajectories import Attempt, Batch, Equations, equations, Index
from rolling_dynamics.contract.capabilities import StartMode
from rolling_dynamics.contract.rolling_system import Mode, MotionState, RollingSystem
from rolling_dynamics.errors import check_choice, check_names, check_positive, ParameterError
from rolling_dynamics.simulation.control import PiecewiseLinear
from rolling_dynamics.simulation.guards import joined, NOISE
from rolling_dynamics.simulation.modes import ChatterError, IGNORE, ModeMachine, STOP
from rolling_dynamics.simulation.stepper import STRAIGHT

ADAPTIVE = 'DOP853'
METHODS = ('RK4', ADAPTIVE)
ACTIONS = (STOP, IGNORE)
ROUNDING = {'float64': NOISE, 'float32': 1e-5}  # a guard within this of zero has not fallen
CHART = 0.1  # fraction of a chart's quality at the reset at which a trajectory ends
NOT_STARTED, LOST, CHATTERS = 'not_started', 'not_finite', 'chatters'


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the steps of trajectories; see :class:`BatchSimulator`."""

    method: str
    max_step: float
    tolerance: tuple[float, float]
    dtype: str
    events: Mapping[str, str]

    def __post_init__(self) -> None:
        """Reject options that are out of range."""
        check_choice('method', self.method, METHODS)
        check_choice('dtype', self.dtype, ROUNDING)
        if self.method == ADAPTIVE and self.dtype != 'float64':
            raise ParameterError(f'{ADAPTIVE} needs dtype float64, got {self.dtype!r}')
        check_positive('max_step', self.max_step, 's', most=math.inf)
        if self.method != ADAPTIVE and math.isinf(self.max_step):
            raise ParameterError(f'{self.method} needs a finite max_step [s]')
        for name, action in self.events.items():
            if action not in ACTIONS:
                raise ParameterError(f'event {name!r}: one of {ACTIONS} is needed, got {action!r}')


@dataclass(frozen=True, eq=False, kw_only=True)
class Machine:
    """Equations, kernel and steps of trajectories in one mode."""

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
        Reasons to stop a trajectory, by index; the first means that it is running.

    """

    def __init__(self, system: RollingSystem, options: Options) -> None:
        """Prepare steps in every mode; machine code is compiled when first needed."""
        self.system, self.options, self.names = system, options, tuple(system.modes)
        self.stops = ['', NOT_STARTED]
        self._machines: dict[int, Machine] = {}
        self._machine = ModeMachine(system, options.events)
        self._turn = RLock()  # transitions evaluate by buffers of their own
        known = [equations(system, name).names for name in self.names]
        self.most_guards = max(len(guards) for guards in known) + 1  # and how far slip may turn
        check_names(
            options.events, sorted({g for guards in known for g in guards}), 'events: no guard'
        )

    def machine(self, number: int) -> Machine:
        """Return the stepper of a mode; waits for the compiler."""
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

    def enter(self, batch: Batch, index: Index, number: int) -> None:
        """Put trajectories into a mode: set the levels of its guards, clear the step length."""
        machine = self.machine(number)
        levels = np.full(self.most_guards, -np.inf)
        for k, name in enumerate(machine.equations.names):
            if self.options.events.get(name) != IGNORE:
                levels[k] = -ROUNDING[self.options.dtype]
        batch.mode[index], batch.h[index], batch.rejected[index] = number, 0.0, False
        batch.levels[:, index] = levels[:, None]
        end = len(machine.equations.names)
        if machine.mode.slip is not None:
            batch.levels[end, index] = STRAIGHT
        charts = slice(end - machine.equations.charts, end)
        if charts.start < end:
            padded = np.resize(
                index, -(-index.size // machine.kernel.width) * machine.kernel.width
            )
            quality = machine.kernel.guards(batch.copied(padded))[charts, : index.size]
            batch.levels[charts, index] = CHART * quality

    def start(self, batch: Batch, index: Index, system: StartMode) -> None:
        """Start trajectories, each in the mode of its state."""
        vectors = (a[:, index].T.astype(float, order='C') for a in (batch.p, batch.x, batch.u))
        given = zip(*vectors, batch.t[index].tolist(), strict=True)
        for column, (p, x, u, t) in zip(index.tolist(), given, strict=True):
            self._put(batch, column, system.begin(p, x, u, t))
        going = index[batch.stop[index] == 0]
        for number in np.unique(batch.mode[going]).tolist():
            self.enter(batch, going[batch.mode[going] == number], number)

    def advance(self, batch: Batch, watcher: Watcher | None = None) -> None:
        """Advance trajectories to their goals, or until they stop; see :class:`AdaptiveSteps`."""
        again = True
        while again:
            again = False
            for number, machine in list(self._machines.items()):
                index, guard = machine.steps.advance(batch, number, watcher)
                if index.size:
                    with self._turn:
                        self._after(batch, index, guard, number)
                    again = True

    def _after(self, batch: Batch, index: Index, guard: Index, number: int) -> None:
        """Apply the resets of the events of trajectories in a mode."""
        machine = self.machine(number)
        for g in np.unique(guard).tolist():
            these = index[guard == g]
            name = LOST if g < 0 else machine.equations.names[g]
            reset = machine.mode.resets.get(name)
            if reset is None or name in self.options.events:
                batch.stop[these] = self._stop(name)
                continue
            for column in these.tolist():
                self._follow(batch, column, name)

    def _stop(self, name: str) -> int:
        if name not in self.stops:
            self.stops.append(name)
        return self.stops.index(name)

    def _follow(self, batch: Batch, column: int, guard: str) -> None:
        """Apply the reset of a guard to a trajectory."""
        s = MotionState(
            t=float(batch.t[column]),
            x=batch.x[:, column].astype(float),
            mode=self.names[int(batch.mode[column])],
            p=batch.p[:, column].astype(float),
            changes=int(batch.changes[column]),
            changed=float(batch.changed[column]),
        )
        u = batch.u[:, column].astype(float)
        try:
            s = self._machine.after(s, guard, lambda _t, _x: u)
        except ChatterError:
            batch.stop[column] = self._stop(CHATTERS)
            return
        batch.changes[column], batch.changed[column] = s.changes, s.changed
        self._put(batch, column, s)
        if not batch.stop[column]:
            self.enter(batch, np.array([column]), int(batch.mode[column]))

    def _put(self, batch: Batch, column: int, s: MotionState) -> None:
        """Set a trajectory's state and mode, or stop it where the motion has ended."""
        batch.t[column], batch.x[:, column], batch.p[:, column] = s.t, s.x, s.p
        if s.ended is not None:
            batch.stop[column] = self._stop(s.stopped)
        else:
            batch.mode[column] = self.names.index(s.mode)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sampled:
    """
    Motions of many trajectories.

    Attributes
    ----------
    states
        States at the output times, shape (T, trajectories, n); zero after the end of a trajectory.
    values
        Outputs at the output times, shape (T, trajectories, K).
    ends, reached, steps
        End time [s], number of output times reached, and number of steps of each trajectory.
    stopped
        Reason for an early end, as in :attr:`BatchSimulator.stopped`.

    """

    states: Array
    values: Array
    ends: Array
    reached: NDArray[np.int64]
    steps: NDArray[np.int64]
    stopped: list[str]


class Outputs:
    """Functions ``(x, u, t, p)`` of a system, stacked, as machine code."""

    def __init__(self, system: RollingSystem, functions: list[ca.Function]) -> None:
        """Compile the functions; raises ParameterError where there is no compiler."""
        joint = joined('guards', system, functions)
        self.size = joint.numel_out(0)
        these = equations(system, next(iter(system.modes)))._replace(
            guards=joint, names=tuple(map(str, range(self.size)))
        )
        made = compiled_kernel(these, 'double', '')
        if made is None:
            raise ParameterError('trajectories are simulated together only by compiled code')
        self._kernel = made

    def __call__(self, states: Array, u: Array, times: Array, p: Array) -> Array:
        """Return their values at all states, shape (T, trajectories, K)."""
        rows = states.reshape(-1, states.shape[-1])
        padded = -(-len(rows) // self._kernel.width) * self._kernel.width
        batch = Batch.empty((rows.shape[1], u.shape[-1], 0, p.shape[1], 0), padded, 'float64')
        batch.x[:, : len(rows)], batch.u[:, : len(rows)] = rows.T, u.reshape(len(rows), -1).T
        batch.p[:, : len(rows)] = np.tile(p, (len(times), 1)).T
        batch.t[: len(rows)] = np.repeat(times, len(p))
        found = self._kernel.guards(batch)[:, : len(rows)]
        return np.asarray(found.T.reshape(len(times), len(p), self.size))


def simulate_many(
    system: RollingSystem,
    p: Array,
    x0: Array,
    control: tuple[Array, Array],
    times: Array,
    outputs: Outputs,
    *,
    rtol: float,
    atol: float,
    events: Mapping[str, str],
) -> Sampled:
    """
    Return trajectories of a system in its first mode, from time 0 to the last output time.

    Parameters
    ----------
    system
        The system; its charts are not changed.
    p, x0
        A row for each trajectory.
    control
        Times [s], shape (N,), and values, shape (N, trajectories, m), interpolated linearly.
    times
        Output times [s], increasing.
    outputs
        Functions to evaluate at the output times.
    rtol, atol
        Relative and absolute tolerance of a step.
    events
        Guard -> ``stop`` or ``ignore``; those not named stop.

    """
    size, n = x0.shape
    given, m = control[1].reshape(len(control[0]), -1), system.control.size
    driven = PiecewiseLinear(control[0], given, given.shape[1])
    options = Options(
        method=ADAPTIVE, max_step=np.inf, tolerance=(rtol, atol), dtype='float64', events=events
    )
    modes = Modes(system, options)
    batch = Batch.empty((n, m, m, p.shape[1], modes.most_guards), size, 'float64')
    batch.x[...], batch.p[...], batch.stop[...] = x0.T, p.T, 0
    modes.enter(batch, np.arange(size), 0)
    taken = _Samples(times, n, size)
    for piece in driven.pieces(0.0, float(times[-1])):
        value, slope = (a.reshape(size, m).T for a in (piece.value, piece.slope))
        going = batch.stop == 0
        batch.u[:, going], batch.slope[...] = value[:, going], slope
        batch.goal[...] = piece.end
        modes.advance(batch, taken.take)
    reached = np.searchsorted(times, batch.t, side='right')
    at_end = np.flatnonzero((reached > 0) & (times[np.maximum(reached - 1, 0)] == batch.t))
    taken.states[reached[at_end] - 1, at_end] = batch.x[:, at_end].T
    _normalise(system, taken.states)
    u = driven.sample(times, times).reshape(len(times), size, m)
    return Sampled(
        states=taken.states,
        values=outputs(taken.states, u, times, p),
        ends=batch.t,
        reached=reached,
        steps=taken.steps,
        stopped=[modes.stops[k] for k in batch.stop],
    )


class _Samples:
    """States at output times, from the dense output of steps."""

    def __init__(self, times: Array, n: int, size: int) -> None:
        self.times, self.states = times, np.zeros((times.size, size, n))
        self.steps = np.zeros(size, np.int64)

    def take(self, index: Index, before: Batch, h: Array, step: Attempt) -> None:
        """Take a step of some trajectories."""
        self.steps[index[h > 0]] += 1
        first = np.searchsorted(self.times, before.t, side='left')
        count = np.searchsorted(self.times, before.t + h, side='left') - first
        count[h == 0] = 0
        column = np.repeat(np.arange(index.size), count)
        if not column.size:
            return
        k = np.arange(column.size) - np.repeat(np.cumsum(count) - count, count) + first[column]
        theta = (self.times[k] - before.t[column]) / h[column]
        self.states[k, index[column]] = interpolated(before.x, step.dense, theta, column).T


def _normalise(system: RollingSystem, states: Array) -> None:
    """Normalise quaternions, whose norm interpolation does not keep."""
    for entry in system.state.entries:
        if entry.has_unit_norm:
            part = states[..., system.state.slice(entry.name)]
            norm = np.linalg.norm(part, axis=-1, keepdims=True)
            part /= np.where(norm > 0, norm, 1.0)
