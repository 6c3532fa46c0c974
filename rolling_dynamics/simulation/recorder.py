"""What a run leaves: output, dense output, drift."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.simulation.compiled_solver import CompiledSolver
from rolling_dynamics.simulation.scipy_solver import ScipySolver
from rolling_dynamics.simulation.trajectory import Drift, Follower, Segment

Solver = CompiledSolver | ScipySolver
BLOCK = 2048  # steps after which output is written where no dense output is kept


class Recorded(NamedTuple):
    """Output of a run; see :class:`Trajectory`."""

    times: Array
    recorded: Array
    segments: tuple[Segment, ...]
    drift: Mapping[str, Drift]
    steps: int
    followed: Array | None


class Recorder:
    """Collects steps into output."""

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
        """Begin a stretch on a set of charts, in a mode; see :class:`Segment`."""
        self._system, self._start, self._p, self._to_given = system, t, p, to_given

    def step(self, solver: Solver) -> None:
        """Take the solver's last step."""
        solver.keep()
        self.steps += 1
        if solver.kept >= BLOCK and not self._dense:
            self._write(solver, solver.t, last=False)

    def close(self, solver: Solver) -> None:
        """End a stretch."""
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

    def finish(self, solver: Solver, t: float, x: Array) -> Recorded:
        """Return everything; t and x are the end."""
        if solver.kept:
            self._write(solver, t, last=True)
        elif self._t_eval is not None and np.any(self._t_eval[self._done :] <= t):
            # stopped at the start, or right after an event
            self._append(self._t_eval[self._done : self._done + 1], x)
        if not self._segments or self._segments[-1].end < t:
            self._extend(t, lambda times: np.repeat(x[None, :], times.size, axis=0))
        if self._t_eval is None:
            self._append(np.array([t]), x)
        n = self._layout.size
        names = [entry.name for entry in self._layout.entries]
        return Recorded(
            np.concatenate(self._times) if self._times else np.zeros(0),
            np.vstack(self._states) if self._states else np.zeros((0, n)),
            tuple(self._segments),
            {
                name: Drift(largest=float(a), total=float(b))
                for name, a, b in zip(names, self._largest, self._total, strict=True)
                if b > 0
            },
            self.steps,
            np.vstack(self._followed) if self._followed else None,
        )

    def _append(self, time: Array, x: Array) -> None:
        """Write one more time of output."""
        self._times.append(time)
        self._states.append(x[None, :])
        if self._follower is not None:
            self._followed.append(self._follower.at(self._system, x)[None, :])

    def _extend(self, end: float, interpolate: Callable[[Array], Array] | None) -> None:
        """Add a stretch; where nothing is interpolated, one for each set of charts."""
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
