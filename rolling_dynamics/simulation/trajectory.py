"""The result of a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.rolling_system import Event as Event  # noqa: PLC0414  of the package
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError


@lru_cache(maxsize=32)
def _mapped(function: ca.Function, count: int) -> ca.Function:
    """Return a function of many points, in columns."""
    return function.map(count)


@dataclass(frozen=True, kw_only=True)
class Drift:
    """
    Corrected drift of one entry of the state from its constraint.

    Attributes
    ----------
    largest
        Largest correction after a step, in the unit of the entry.
    total
        Sum of all corrections.

    """

    largest: float
    total: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Segment:
    """
    A segment of a trajectory in one mode, on one set of charts.

    Attributes
    ----------
    system
        The system on the charts in use, in its mode.
    parameters
        Its parameters there.
    start, end
        Times [s].
    interpolate
        ``times (N,) -> states (N, n)`` between start and end; None without dense output.
    to_given
        Conversion of a state to the charts of the simulated system; None if they are the same.

    """

    system: RollingSystem
    parameters: Array
    start: float
    end: float
    interpolate: Callable[[Array], Array] | None
    to_given: Callable[[Array], Array] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Trajectory:
    """
    States over time, events and the report of constraint drift.

    Attributes
    ----------
    system
        The system that was simulated; a segment's may be on other charts.
    parameters
        Vector p at the start.
    times
        Output times [s], shape (N,).
    recorded, controls
        States on the charts in use at each time, see :meth:`system_at`, shape (N, n), and
        controls (N, m).
    events
        Events in order of time, states on the charts of ``system``; the last one may be terminal.
    drift
        Drift by name of the state's entry.
    segments
        Segments in one mode, on one set of charts, with dense output.
    steps
        Number of accepted steps.
    followed
        Result of the follower at the output times, shape (N, k); None without a follower.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario, simulate
    >>> s = load_scenario('spin_rolling_straight')
    >>> motion = simulate(s.system, s.p, s.x0, s.control.simplest, 1.0)
    >>> motion.pose(0.5)['object'].shape, motion.events
    ((4, 4), ())
    >>> motion.state_at(motion.end).shape
    (6,)

    """

    system: RollingSystem
    parameters: Array
    times: Array
    recorded: Array
    controls: Array
    control: Callable[[float, Array], Array]
    events: tuple[Event, ...] = ()
    drift: Mapping[str, Drift] = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()
    steps: int = 0
    followed: Array | None = None

    @cached_property
    def states(self) -> Array:
        """States at the output times on the charts of ``system``; NaN where those degenerate."""
        return self._on_given_charts(self.times, self.recorded)

    @property
    def end(self) -> float:
        """Time at its end [s]."""
        return self.segments[-1].end

    @property
    def terminal_event(self) -> Event | None:
        """The event that ended the simulation early, or None."""
        return self.events[-1] if self.events and self.events[-1].terminal else None

    def segment_at(self, t: float) -> Segment:
        """Return the segment that contains time t; at a border, the later one."""
        for segment in reversed(self.segments):
            if segment.start <= t <= segment.end:
                return segment
        raise ParameterError(
            f't = {t:.9g} s lies outside the simulated time, '
            f'{self.segments[0].start:.9g} to {self.segments[-1].end:.9g} s'
        )

    def system_at(self, t: float) -> RollingSystem:
        """Return the system on the charts in use at time t."""
        return self.segment_at(t).system

    def state_at(self, t: ArrayLike) -> Array:
        """
        Return the state at any time of the simulation, on the charts of ``system``.

        Parameters
        ----------
        t
            A time [s], or times of shape (N,). Without dense output, one of the output times.

        Returns
        -------
        Array
            Shape (n,) or (N, n); nan where the charts of ``system`` degenerate.

        Raises
        ------
        ParameterError
            A time lies outside the simulation, or between the output times without dense output.

        """
        times = np.atleast_1d(np.asarray(t, dtype=float))
        out = self._on_given_charts(times, self.state_in_use(times))
        return out[0] if np.ndim(t) == 0 else out

    def state_in_use(self, t: ArrayLike) -> Array:
        """Return the state as :meth:`state_at`, but on the charts of :meth:`system_at`."""
        times = np.atleast_1d(np.asarray(t, dtype=float))
        low, high = self.segments[0].start, self.segments[-1].end
        for outside in times[~((times >= low) & (times <= high))]:
            self.segment_at(float(outside))  # raises
        owner = self._owner(times)
        out = np.empty((times.size, self.recorded.shape[1]))
        for k in np.unique(owner):
            interpolate, here = self.segments[k].interpolate, owner == k
            out[here] = (
                self._recorded(times[here]) if interpolate is None else interpolate(times[here])
            )
        return out[0] if np.ndim(t) == 0 else out

    def _on_given_charts(self, times: Array, states: Array) -> Array:
        owner = self._owner(times)
        changed = [k for k in np.unique(owner) if self.segments[k].to_given is not None]
        if not changed:
            return states
        states = states.copy()
        for k in changed:
            to_given = cast(Callable[[Array], Array], self.segments[k].to_given)
            for row in np.flatnonzero(owner == k):
                states[row] = to_given(states[row])
        return states

    def _recorded(self, times: Array) -> Array:
        """Return the states at some of the output times."""
        index = np.minimum(np.searchsorted(self.times, times), self.times.size - 1)
        if not np.array_equal(self.times[index], times):
            raise ParameterError('this trajectory was simulated without dense output')
        return np.asarray(self.recorded[index])

    @property
    def is_dense(self) -> bool:
        """True if it can be evaluated at any time."""
        return all(segment.interpolate is not None for segment in self.segments)

    def _owner(self, times: Array) -> NDArray[np.intp]:
        """Return the segment of each time; at a border, the later one."""
        starts = [s.start for s in self.segments]
        return np.maximum(np.searchsorted(starts, times, side='right') - 1, 0)

    def control_at(self, t: float) -> Array:
        """Return the control at time t."""
        return self.control(t, self.state_in_use(t))

    def pose(self, t: float) -> dict[str, Array]:
        """
        Return the poses of the bodies at any time of the simulation.

        They are exact also where a state on the charts of ``system`` is NaN.

        Parameters
        ----------
        t
            Time [s].

        Returns
        -------
        dict
            Homogeneous matrices in the world, shape (4, 4), by the name of the body or frame.

        Raises
        ------
        ParameterError
            The time lies outside the simulation.

        """
        segment = self.segment_at(t)
        function = segment.system.pose
        poses = function.call([self.state_in_use(t), segment.parameters])
        return {name: np.array(X) for name, X in zip(function.name_out(), poses, strict=True)}

    def evaluate(self, function: Callable[..., ca.Function]) -> Array:
        """
        Return an output of the system at every output time.

        Parameters
        ----------
        function
            ``system -> Function (x, u, t, p)``, for example
            ``lambda system: system.mode.wrench``.

        Returns
        -------
        Array
            Shape (N, size of the output).

        """
        owner = self._owner(self.times)
        parts = []
        for k in np.unique(owner):
            segment = self.segments[k]
            parts.append(self._values(function(segment.system), segment.parameters, owner == k))
        return np.vstack(parts)

    def _values(self, f: ca.Function, parameters: Array, here: NDArray[np.bool_]) -> Array:
        """Return the values of a function at some of the output times, one a row."""
        count = int(here.sum())
        t, size = self.times[here], f.numel_out(0)
        if not f.sparsity_out(0).is_dense():
            value = f(self.recorded[here].T, self.controls[here].T, t[None, :], parameters)
            return np.array(value).T
        fast = FastFunction(_mapped(f, count))
        p = np.tile(parameters, count)
        given = self.recorded[here], self.controls[here], t, p
        for array, values in zip(fast.inputs, given, strict=True):
            array[:] = values.reshape(-1)
        return fast.evaluate().reshape(count, size)
