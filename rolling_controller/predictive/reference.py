"""The motion that predictions are to come back to, and what leaving it costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.linearization import Linearization, LinearSteps
from rolling_controller.lqr_weights import LqrWeights
from rolling_controller.nominal import nominal_trajectory
from rolling_controller.riccati import Reach, solve_riccati
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import SimulationError
from rolling_planner.plan import Plan

Array = NDArray[np.float64]
SUBSTEPS = 4  # gains between two nodes
NEGLIGIBLE = 1e-9  # singular values, over the greatest
WEAK = 1e-9  # share of the greatest eigenvalue of the Gramian: below it, nothing is moved


class Used(NamedTuple):
    """Which numbers of tangent and control a law uses."""

    moving: NDArray[np.int_]
    active: NDArray[np.int_]


class Reference:
    """
    A plan on an even grid of nodes, its end held for a while, with gains and costs to go.

    Attributes
    ----------
    origin
        When the plan begins [s].
    end
        When it is over [s].
    times, states, controls
        Nodes, shapes (k,), (k, n) and (k, m).
    factors
        L of the cost to go |L d|^2 from each node, shape (k, moving, moving).

    """

    def __init__(
        self,
        system: RollingSystem,
        p: ArrayLike,
        plan: Plan,
        used: Used,
        weights: LqrWeights,
        *,
        step: float,
        tail: float,
        origin: float = 0.0,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        """
        Simulate the plan, hold its end, and solve the Riccati equation along both.

        Parameters
        ----------
        system, p
            The system of the plan and its parameters.
        plan
            The plan.
        used
            Which tangent numbers and controls count.
        weights
            Weights, all of them given.
        step
            Time between nodes, about [s].
        tail
            For how long the end is held [s].
        origin
            When the plan begins [s].
        interrupted
            Asked now and then whether to give up.

        Raises
        ------
        ParameterError
            The plan is not one of this system or too long for its knots.
        SimulationError
            The motion under the planned controls, or its linearisation, is not finite.
        CancelledError
            Interrupted.

        """
        p = np.asarray(p, dtype=float)
        knot = step / SUBSTEPS
        motion = nominal_trajectory(system, p, plan, 'simulated', knot, interrupted)
        self._knot = float(motion.times[1] - motion.times[0])
        more = SUBSTEPS * int(np.ceil(tail / step)) + (-len(motion.times) + 1) % SUBSTEPS
        given = plan.control_at(plan.times[-1])
        rest = _resting_control(system, p, motion.states[-1], given, used.active)
        states = np.vstack([motion.states, np.tile(motion.states[-1], (more, 1))])
        controls = np.vstack([motion.controls, np.tile(rest, (more, 1))])
        times = np.array(self._knot * np.arange(len(states)), dtype=float)
        self.origin, self.end = origin, origin + float(motion.times[-1] - motion.times[0])
        last = len(motion.times) - 1
        gains, factors, rest_root = _regulated(
            system, p, times, states, controls, used, weights, last
        )
        Q = weights.tracking_diagonal(system.tangent)[used.moving]
        self._roots = np.diag(np.sqrt(Q)), rest_root
        self.gains = np.concatenate([gains, gains[-1:]])
        nodes = slice(None, None, SUBSTEPS)
        self.times, self.states, self.controls = times[nodes], states[nodes], controls[nodes]
        self.factors, self.step = factors[nodes], self._knot * SUBSTEPS
        self._last = max(self.node_after(self.end), 0)
        self._fine = states, controls

    def node_after(self, t: float) -> int:
        """Return the number of the first node after a time [s]; negative before the origin."""
        return int(np.floor((t - self.origin) / self.step + 1e-9)) + 1

    def cost_to_go(self, node: int) -> Array:
        """Return L of the cost to go |L d|^2 from a node; after the plan, that of its end."""
        return np.array(self.factors[min(max(node, 0), self._last)])

    def roots(self, nodes: NDArray[np.int_]) -> Array:
        """Return the root of Q per second at nodes, shape (k, moving, moving)."""
        return np.where((nodes < self._last)[:, None, None], *self._roots)

    def node_times(self, nodes: NDArray[np.int_]) -> Array:
        """Return times of nodes [s], also of those after the last one."""
        return np.array(self.origin + self.step * nodes, dtype=float)

    def at(self, t: float) -> tuple[Array, Array]:
        """Return state and control at a time [s]; held at the ends."""
        states, controls = self._fine
        position = min(max((t - self.origin) / self._knot, 0.0), len(states) - 1.0)
        k = min(int(position), len(states) - 2)
        s = position - k
        return (1 - s) * states[k] + s * states[k + 1], (1 - s) * controls[k] + s * controls[k + 1]

    def gain(self, t: float) -> Array:
        """Return the gain at a time [s], rows of the active controls; held at the ends."""
        k = round((t - self.origin) / self._knot)
        return np.array(self.gains[min(max(k, 0), len(self.gains) - 1)])


def _regulated(
    system: RollingSystem,
    p: Array,
    times: Array,
    states: Array,
    controls: Array,
    used: Used,
    weights: LqrWeights,
    last: int,
) -> tuple[Array, Array, Array]:
    """
    Return gains between the times, factors of the cost to go at them, and the root of Q at rest.

    After the last time of the plan only what the controls move to first order has a weight: a
    deviation that takes a loop to undo, such as the attitude of a ball at rest, would otherwise
    drive small loops for ever.
    """
    h = times[1] - times[0]
    steps = Linearization(system).along(p, times, states, (controls[:-1], controls[1:]))
    if not (np.isfinite(steps.A).all() and np.isfinite(steps.B).all()):
        raise SimulationError(
            'the linearisation along the plan is not finite: the motion comes near a singularity'
        )
    kept, active = used
    steps = LinearSteps(steps.A[:, kept][:, :, kept], steps.B[:, kept][:, :, active])
    Q_root = np.diag(np.sqrt(weights.tracking_diagonal(system.tangent)[kept]))
    R_root = np.diag(np.sqrt(weights.control_diagonal(system.control)[active] * h))
    P_root = np.diag(np.sqrt(weights.terminal_diagonal(system.tangent)[kept]))
    before = LinearSteps(steps.A[:last], steps.B[:last])
    after = LinearSteps(steps.A[last:], steps.B[last:])
    W = Q_root @ Reach.of(after).gramian @ Q_root
    values, vectors = np.linalg.eigh(W)
    reached = vectors[:, values > WEAK * values[-1]]
    rest_root = reached @ reached.T @ Q_root
    resting = solve_riccati(after, rest_root * np.sqrt(h), R_root, rest_root)
    end_root = np.array(np.linalg.qr(np.vstack([resting.factors[0], P_root]), mode='r'))
    moving = solve_riccati(before, Q_root * np.sqrt(h), R_root, end_root)
    gains = np.concatenate([moving.gains, resting.gains])
    return gains, np.concatenate([moving.factors[:-1], resting.factors]), rest_root


def _resting_control(
    system: RollingSystem, p: Array, x: Array, last: Array, active: NDArray[np.int_]
) -> Array:
    """Return the control under which a state changes least, the nearest to the last of a plan."""
    f = next(iter(system.modes.values())).dynamics
    rate = np.array(f(x, last, 0.0, p)).ravel()
    by_control = np.array(
        [np.array(f(x, last + e, 0.0, p)).ravel() - rate for e in np.eye(len(last))[active]]
    ).reshape(-1, len(x))
    rest = last.copy()
    rest[active] -= np.linalg.lstsq(by_control.T, rate, rcond=NEGLIGIBLE)[0]
    return rest
