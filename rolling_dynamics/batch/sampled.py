"""Motions of a batch at output times, as ``simulate`` gives them one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.batch.kernels import compiled_kernel
from rolling_dynamics.batch.lanes import Attempt, equations, Index, Lanes
from rolling_dynamics.batch.modes import ADAPTIVE, Modes, Options
from rolling_dynamics.batch.steps import interpolated
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation.control import PiecewiseLinear
from rolling_dynamics.simulation.guards import joined

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Sampled:
    """
    Motions of many trajectories.

    Attributes
    ----------
    states
        At the output times, shape (T, trajectories, n); zero after the end of a trajectory.
    values
        Outputs there, shape (T, trajectories, K).
    ends, reached, steps
        When each trajectory ended [s], how many output times it reached, and in how many steps.
    stopped
        What ended it before its time, as in :attr:`BatchSimulator.stopped`.

    """

    states: Array
    values: Array
    ends: Array
    reached: NDArray[np.int64]
    steps: NDArray[np.int64]
    stopped: list[str]


class Outputs:
    """Functions ``(x, u, t, p)`` of a system, one below the other, as machine code."""

    def __init__(self, system: RollingSystem, functions: list[ca.Function]) -> None:
        """Wait for the compiler; raises ParameterError where there is none."""
        joint = joined('guards', system, functions)
        self.size = joint.numel_out(0)
        these = equations(system, next(iter(system.modes)))._replace(
            guards=joint, names=tuple(map(str, range(self.size)))
        )
        made = compiled_kernel(these, 'double', '')
        if made is None:
            raise ParameterError('motions are simulated together only by compiled code')
        self._kernel = made

    def __call__(self, states: Array, u: Array, times: Array, p: Array) -> Array:
        """Return them at all states, shape (T, trajectories, K)."""
        rows = states.reshape(-1, states.shape[-1])
        padded = -(-len(rows) // self._kernel.width) * self._kernel.width
        lanes = Lanes.empty((rows.shape[1], u.shape[-1], 0, p.shape[1], 0), padded, 'float64')
        lanes.x[:, : len(rows)], lanes.u[:, : len(rows)] = rows.T, u.reshape(len(rows), -1).T
        lanes.p[:, : len(rows)] = np.tile(p, (len(times), 1)).T
        lanes.t[: len(rows)] = np.repeat(times, len(p))
        found = self._kernel.guards(lanes)[:, : len(rows)]
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
    Return motions of a system in its first mode, from time 0 to the last output time.

    Parameters
    ----------
    system
        The system; charts are not changed.
    p, x0
        A row for each trajectory.
    control
        Times [s], shape (N,), and values, shape (N, trajectories, m), straight between them.
    times
        Output times [s], increasing.
    outputs
        What is evaluated there.
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
    lanes = Lanes.empty((n, m, m, p.shape[1], modes.most_guards), size, 'float64')
    lanes.x[...], lanes.p[...], lanes.stop[...] = x0.T, p.T, 0
    modes.enter(lanes, np.arange(size), 0)
    taken = _Samples(times, n, size)
    for piece in driven.pieces(0.0, float(times[-1])):
        value, slope = (a.reshape(size, m).T for a in (piece.value, piece.slope))
        going = lanes.stop == 0
        lanes.u[:, going], lanes.slope[...] = value[:, going], slope
        lanes.goal[...] = piece.end
        modes.advance(lanes, taken.take)
    reached = np.searchsorted(times, lanes.t, side='right')
    at_end = np.flatnonzero((reached > 0) & (times[np.maximum(reached - 1, 0)] == lanes.t))
    taken.states[reached[at_end] - 1, at_end] = lanes.x[:, at_end].T
    _normalise(system, taken.states)
    u = driven.sample(times, times).reshape(len(times), size, m)
    return Sampled(
        states=taken.states,
        values=outputs(taken.states, u, times, p),
        ends=lanes.t,
        reached=reached,
        steps=taken.steps,
        stopped=[modes.stops[k] for k in lanes.stop],
    )


class _Samples:
    """States at output times, from the dense output of steps."""

    def __init__(self, times: Array, n: int, size: int) -> None:
        self.times, self.states = times, np.zeros((times.size, size, n))
        self.steps = np.zeros(size, np.int64)

    def take(self, index: Index, before: Lanes, h: Array, step: Attempt) -> None:
        """Take a step of some trajectories."""
        self.steps[index[h > 0]] += 1
        first = np.searchsorted(self.times, before.t, side='left')
        count = np.searchsorted(self.times, before.t + h, side='left') - first
        count[h == 0] = 0
        lane = np.repeat(np.arange(index.size), count)
        if not lane.size:
            return
        k = np.arange(lane.size) - np.repeat(np.cumsum(count) - count, count) + first[lane]
        theta = (self.times[k] - before.t[lane]) / h[lane]
        self.states[k, index[lane]] = interpolated(before.x, step.dense, theta, lane).T


def _normalise(system: RollingSystem, states: Array) -> None:
    """Give quaternions their norm back, which interpolation does not keep."""
    for entry in system.state.entries:
        if entry.has_unit_norm:
            part = states[..., system.state.slice(entry.name)]
            norm = np.linalg.norm(part, axis=-1, keepdims=True)
            part /= np.where(norm > 0, norm, 1.0)
