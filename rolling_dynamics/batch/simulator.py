"""Many trajectories of one system at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
import math
import os

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.batch.modes import ADAPTIVE, Modes, NOT_STARTED, Options
from rolling_dynamics.batch.trajectories import Array, Batch
from rolling_dynamics.contract.capabilities import offers, StartMode
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import check_names, check_positive, ParameterError

LEAST = 256  # trajectories for which a thread pays off
FRACTIONS = (0.75, 0.25)  # of a thread's trajectories: the first to finish takes the small part
Policy = Callable[[Array, NDArray[np.float64]], ArrayLike]


@dataclass(frozen=True, eq=False, kw_only=True)
class Rollout:
    """
    States of all trajectories over time.

    Attributes
    ----------
    times
        Clocks [s], shape (steps + 1, size); the clock of a trajectory that stopped is constant.
    states
        Shape (steps + 1, size, state.size).
    stopped
        Reason for the end of each trajectory, as in :attr:`BatchSimulator.stopped`.

    """

    times: NDArray[np.float64]
    states: Array
    stopped: NDArray[np.str_]


class BatchSimulator:
    """
    Many trajectories of one system, each with its own parameters, state, control and clock.

    A trajectory runs until one of its guards falls through zero. It then keeps the state and time
    of that event. Each trajectory depends on its own values only: bit by bit, neither the number
    of trajectories, its position among them, nor the number of threads matters.
    """

    def __init__(
        self,
        system: RollingSystem,
        size: int,
        dt: float,
        *,
        method: str = 'RK4',
        max_step: float | None = None,
        rtol: float = 1e-12,
        atol: float = 1e-14,
        dtype: str = 'float64',
        mode: str | None = None,
        events: Mapping[str, str] | None = None,
        threads: int | None = None,
    ) -> None:
        """
        Create trajectories that are not started; a new system is compiled first.

        Parameters
        ----------
        system
            Any rolling system.
        size
            Number of trajectories.
        dt
            Time [s] for which :meth:`step` holds a control, positive.
        method
            ``RK4``: steps of a fixed length; ``DOP853``: adaptive steps, as in ``simulate``.
        max_step
            Longest internal step [s]. If None, 1 ms for RK4 and no limit for DOP853. RK4 divides
            ``dt`` evenly.
        rtol, atol
            Relative and absolute tolerance of a step of DOP853.
        dtype
            ``float64`` or, for RK4, ``float32``.
        mode
            Mode of motion at a reset. If None, the mode of each state, for a system that offers
            :class:`StartMode`, else the first.
        events
            Guard -> ``stop``, even where the system has a reset for it, or ``ignore``.
        threads
            Number of threads; None for one per processor.

        Raises
        ------
        ParameterError
            An argument is out of range.

        """
        if not (isinstance(size, (int, np.integer)) and size > 0):
            raise ParameterError(f'size must be a positive number of trajectories, got {size!r}')
        check_positive('dt', dt, 's')
        if threads is not None and threads < 1:
            raise ParameterError(f'threads must be at least 1, got {threads!r}')
        longest = {'RK4': 1e-3}.get(method, math.inf) if max_step is None else float(max_step)
        check_names([] if mode is None else [mode], list(system.modes), 'mode: none')
        options = Options(
            method=method,
            max_step=longest,
            tolerance=(float(rtol), float(atol)),
            dtype=dtype,
            events=dict(events or {}),
        )
        self.system, self.size, self.dt, self.mode = system, int(size), float(dt), mode
        self._modes = Modes(system, options)
        self._first = 0 if mode is None else self._modes.names.index(mode)
        self._kernel = self._modes.machine(self._first).kernel
        self._threads = threads or len(os.sched_getaffinity(0))
        several = self._threads > 1 and self.compiled  # CasADi keeps Python's lock
        self._pool = ThreadPoolExecutor(self._threads - 1) if several else None
        padded = -(-self.size // self._kernel.width) * self._kernel.width
        layouts = (system.state, system.control, system.parameters)
        n, m, q = (layout.size for layout in layouts)
        sizes = (n, m, m if method == ADAPTIVE else 0, q, self._modes.most_guards)
        self._batch = Batch.empty(sizes, padded, dtype)
        self._parts = self._divided(padded)

    def _divided(self, size: int) -> list[tuple[slice, Batch]]:
        """Return the trajectories in parts, each for one thread at a time."""
        width, ends = self._kernel.width, [0]
        for fraction in FRACTIONS if self._pool is not None else ():
            each = math.ceil(max(fraction * size / self._threads, LEAST) / width) * width
            ends += [ends[-1] + each * (k + 1) for k in range(self._threads)]
        ends = [*(end for end in ends if end < size), size]
        return [(slice(a, b), self._batch.part(slice(a, b))) for a, b in pairwise(ends)]

    @property
    def compiled(self) -> bool:
        """True if the steps are machine code; CasADi's, without a compiler, are slower."""
        return self._kernel.compiled

    @property
    def nbytes(self) -> int:
        """Memory of all trajectories [byte]."""
        return sum(array.nbytes for array in vars(self._batch).values())

    @property
    def states(self) -> Array:
        """States, shape (size, state.size); a view that may be written to."""
        return self._batch.x[:, : self.size].T

    @property
    def controls(self) -> Array:
        """Controls in force, shape (size, control.size)."""
        return self._batch.u[:, : self.size].T

    @property
    def parameters(self) -> Array:
        """Parameters, shape (size, parameters.size); a view that may be written to."""
        return self._batch.p[:, : self.size].T

    @property
    def times(self) -> NDArray[np.float64]:
        """Clocks [s], shape (size,); for a trajectory that stopped, the time at which it did."""
        return self._batch.t[: self.size]

    @property
    def running(self) -> NDArray[np.bool_]:
        """True for trajectories that are running, shape (size,)."""
        return np.equal(self._batch.stop[: self.size], 0)

    @property
    def stopped(self) -> NDArray[np.str_]:
        """
        Name of the guard that ended each trajectory, shape (size,); empty while it runs.

        ``not_finite``: the next state would not be finite; ``not_started``: never reset;
        ``chatters``: too many changes of mode in one instant.
        """
        return np.asarray(np.array(self._modes.stops)[self._batch.stop[: self.size]])

    @property
    def modes(self) -> NDArray[np.str_]:
        """Mode of motion of each trajectory, shape (size,)."""
        return np.asarray(np.array(self._modes.names)[self._batch.mode[: self.size]])

    def reset(
        self,
        mask: ArrayLike | None = None,
        *,
        states: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        times: ArrayLike = 0.0,
    ) -> None:
        """
        Start trajectories again.

        Parameters
        ----------
        mask
            Trajectories to start, shape (size,); all if None. The others are not affected.
        states, parameters
            One for all trajectories, or a row for each trajectory of the batch; rows outside the
            mask are ignored. The present ones if None.
        times
            Initial values of the clocks [s].

        Raises
        ------
        ParameterError
            The shape does not match, or a value is not finite.

        """
        chosen = np.ones(self.size, bool) if mask is None else np.asarray(mask)
        if chosen.shape != (self.size,) or chosen.dtype != bool:
            raise ParameterError(
                f'mask takes {self.size} truth values, got {chosen.dtype} of shape {chosen.shape}'
            )
        where = np.flatnonzero(chosen)
        fresh = (self._batch.stop[where] == self._modes.stops.index(NOT_STARTED)).any()
        if fresh and (states is None or parameters is None):
            raise ParameterError('trajectories that were never started need states and parameters')
        start = np.array(self._rows('times', times, None)[where], dtype=float)
        if states is not None:
            rows = self._rows('states', states, self.system.state.size)
            self._batch.x[:, where] = rows[where].T
        if parameters is not None:
            rows = self._rows('parameters', parameters, self.system.parameters.size)
            self._batch.p[:, where] = rows[where].T
        self._batch.t[where], self._batch.stop[where] = start, 0
        self._batch.changes[where], self._batch.changed[where] = 0, -math.inf
        self._modes.enter(self._batch, where, self._first)
        starts = offers(self.system, StartMode) if self.mode is None else None
        if starts is not None:
            self._modes.start(self._batch, where, starts)

    def step(self, u: ArrayLike) -> None:
        """
        Advance every running trajectory by ``dt`` under a held control.

        Parameters
        ----------
        u
            Control, one for all trajectories or shape (size, control.size).

        """
        rows = self._rows('u', u, self.system.control.size)
        self._everywhere(lambda where, part: self._carry(part, rows[where]))

    def rollout(self, controls: ArrayLike | Policy, steps: int) -> Rollout:
        """
        Take several steps, and return the states of all trajectories.

        Parameters
        ----------
        controls
            One control, held; shape (steps, control.size), or (steps, size, control.size); or a
            policy ``(states, times) -> controls``, called before each step.
        steps
            Number of steps, each of ``dt``.

        """
        if not (isinstance(steps, (int, np.integer)) and steps > 0):
            raise ParameterError(f'steps must be a positive number, got {steps!r}')
        m, steps = self.system.control.size, int(steps)
        times = np.empty((steps + 1, self.size))
        states = np.empty((steps + 1, self.size, self.system.state.size), self._batch.x.dtype)
        times[0], states[0] = self.times, self.states

        def run(where: slice, part: Batch, first: int, rows: list[Array]) -> None:
            for k, u in enumerate(rows, first):
                self._carry(part, u[where])
                times[k, where] = part.t[: len(u[where])]
                states[k, where] = part.x[:, : len(u[where])].T

        if callable(controls):
            for k in range(1, steps + 1):
                rows = [self._rows('u', controls(self.states, self.times), m)]
                self._everywhere(partial(run, first=k, rows=rows))
        else:  # all steps of a part in a row, while it is in the processor's cache
            rows = [self._rows('u', u, m) for u in self._sequence(controls, steps)]
            self._everywhere(partial(run, first=1, rows=rows))
        return Rollout(times=times, states=states, stopped=self.stopped)

    def _sequence(self, controls: ArrayLike, steps: int) -> Array:
        """Return the controls of each step."""
        array = np.asarray(controls, dtype=float)
        if array.ndim == 1:
            return np.broadcast_to(array, (steps, *array.shape))
        if len(array) != steps:
            raise ParameterError(f'controls are needed for {steps} steps, got {len(array)}')
        return array

    def _carry(self, part: Batch, rows: Array) -> None:
        """Advance a part by ``dt`` under held controls, a row for each trajectory."""
        part.u[:, : len(rows)] = rows.T
        np.add(part.t, self.dt, out=part.goal)
        self._modes.advance(part)

    def _everywhere(self, work: Callable[[slice, Batch], None]) -> None:
        """Process all parts; each thread, this one included, takes the next part when free."""
        left = iter(self._parts)

        def carry() -> None:
            for where, part in left:
                work(where, part)

        others = min(self._threads, len(self._parts)) - 1 if self._pool is not None else 0
        working = [self._pool.submit(carry) for _ in range(others)] if self._pool else []
        carry()
        for thread in working:
            thread.result()

    def _rows(self, name: str, given: ArrayLike, width: int | None) -> Array:
        """Return a row for each trajectory; a scalar for each if there is no width."""
        shape = (self.size,) if width is None else (self.size, width)
        array = np.asarray(given, dtype=float)
        if array.shape not in (shape, shape[1:]):
            raise ParameterError(f'{name} takes shape {shape[1:]} or {shape}, got {array.shape}')
        if not np.isfinite(array).all():
            bad = np.argwhere(~np.isfinite(array))[0].tolist()
            raise ParameterError(f'{name} must be finite; at {bad} it is not')
        return np.broadcast_to(array, shape)
