"""The motion that predictions are to come back to, and what leaving it costs."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.nominal import (
    Linearization,
    LinearSteps,
    nominal_trajectory,
    NominalTrajectory,
    step_functions,
)
from rolling_controller.riccati import Reach, solve_riccati
from rolling_controller.time_varying_lqr import LqrWeights
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_planner.plan import Plan

SUBSTEPS = 4  # gains between two nodes, at least
FINE = 5  # steps of the simulation between two gains
NEGLIGIBLE = 1e-6  # singular values, over the maximum
REST_STEPS = 3  # to the rest that a plan ends near
NEAR = 0.05  # of the end of a plan: rest that is further is another one
STILL = 1e-9  # a slower rate counts as rest
UNMOVED = 1e-3  # fraction of a tangent number that is moved
WEAK = 1e-9  # fraction of the maximum eigenvalue of the Gramian: below it, nothing is moved


class Used(NamedTuple):
    """Indices of the numbers of tangent and control that a law uses."""

    moving: NDArray[np.int_]
    active: NDArray[np.int_]


class Reference:
    """
    A plan on a uniform grid of nodes, its end held for a while, with gains and costs to go.

    Attributes
    ----------
    origin
        Start of the plan [s].
    end
        End of the plan [s].
    plan
        The plan.
    times, states, controls
        Nodes, shapes (k,) [s], (k, n) and (k, m).
    factors
        L of the cost to go |L d|^2 from each node, shape (k, moving, moving).
    left
        Tangent numbers that no control moves at the end of the plan, to first order, or that have
        no weight.

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
        rest: LqrWeights | None = None,
        blocks: int = 1,
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
            Tangent numbers and controls that count.
        weights
            Weights, all of them given.
        step
            Approximate time between nodes [s]: the plan ends at a node.
        tail
            Time for which the end is held [s].
        rest
            Weights of deviations after the plan, all of them given; ``weights`` if None.
        blocks
            Minimum number of parts of a step, for fast modes.
        origin
            Start of the plan [s].
        interrupted
            Called now and then; returns whether to give up.

        Raises
        ------
        ParameterError
            The plan is not one of this system or too long for its knots.
        SimulationError
            The motion under the planned controls, or its linearisation, is not finite.
        CancelledError
            Interrupted.

        """
        p, self.plan = np.asarray(p, dtype=float), plan
        substeps = max(SUBSTEPS, blocks)
        count = FINE * substeps * _stages(plan, step)
        knot = plan.duration / count * (1 + 1e-9)  # that many, however it is rounded
        fine = nominal_trajectory(system, p, plan, None, knot, interrupted)
        motion = NominalTrajectory(
            fine.times[::FINE], fine.states[::FINE], fine.controls[::FINE], fine.unstable
        )
        self._knot = float(motion.times[1] - motion.times[0])
        more = substeps * int(np.ceil(tail / step))
        after, held = _held(
            system, p, motion.states[-1], plan.control_at(plan.times[-1]), used, self._knot, more
        )
        states = np.vstack([motion.states, after])
        controls = np.vstack([motion.controls, np.tile(held, (more, 1))])
        times = np.array(self._knot * np.arange(len(states)), dtype=float)
        self.origin, self.end = origin, origin + float(motion.times[-1] - motion.times[0])
        last = len(motion.times) - 1
        Q_root, held_root, self._end_root = (
            np.diag(np.sqrt(diagonal[used.moving]))
            for diagonal in (
                weights.tracking_diagonal(system.tangent),
                (rest or weights).tracking_diagonal(system.tangent),
                weights.terminal_diagonal(system.tangent),
            )
        )
        roots, R = (Q_root, held_root, self._end_root), weights.control_diagonal(system.control)
        gains, factors, rest_root, self._transitions = _regulated(
            system, p, times, states, controls, used, roots, R[used.active], last
        )
        self._roots = Q_root, rest_root
        moved = np.linalg.norm(rest_root, axis=0) > UNMOVED * np.diag(held_root)
        self.left = used.moving[~moved]
        self.gains = np.concatenate([gains, gains[last : last + 1]])
        nodes = slice(None, None, substeps)
        self.times, self.states, self.controls = (
            origin + times[nodes],
            states[nodes],
            controls[nodes],
        )
        self.factors, self.step = factors[nodes], self._knot * substeps
        self._last = max(self.node_after(self.end) - 1, 0)
        self._fine = states, controls

    def node_after(self, t: float) -> int:
        """Return the number of the first node after a time [s]; negative before the origin."""
        return int(np.floor((t - self.origin) / self.step + 1e-9)) + 1

    def cost_to_go(self, node: int) -> Array:
        """
        Return the matrix L of the cost to go |L d|^2 from a node; after the plan, of rest.

        A deviation d has the units of the tangent space; the cost is a pure number [1].
        """
        return np.array(self.factors[min(max(node, 0), self._last + 1)])

    def roots(self, nodes: NDArray[np.int_], counts: Array) -> Array:
        """
        Return the roots of what deviations cost at nodes, shape (k, moving, moving).

        Parameters
        ----------
        nodes
            Numbers of the nodes.
        counts
            For how long each counts [s]; the end of the plan has its own weight, at once.

        """
        out = np.where((nodes <= self._last)[:, None, None], *self._roots)
        out *= np.sqrt(counts)[:, None, None]
        out[nodes == self._last] = self._end_root
        return out

    def node_times(self, nodes: NDArray[np.int_]) -> Array:
        """
        Return times of nodes [s], also of those after the last one.

        It has the shape of ``nodes``.
        """
        return np.array(self.origin + self.step * nodes, dtype=float)

    def at(self, t: float) -> tuple[Array, Array]:
        """Return state and control at a time [s]; held at the ends."""
        states, controls = self._fine
        position = min(max((t - self.origin) / self._knot, 0.0), len(states) - 1.0)
        k = min(int(position), len(states) - 2)
        s = position - k
        return (1 - s) * states[k] + s * states[k + 1], (1 - s) * controls[k] + s * controls[k + 1]

    def rest_of_plan(self, t: float) -> Plan:
        """Return the rest of the plan after a time [s], which is before its end."""
        return self.plan.after(self.plan.times[0] + t - self.origin)

    def transition(self, t: float) -> Array:
        """Return the matrix of a deviation's way under feedback from a time [s] to the end."""
        k = round((t - self.origin) / self._knot)
        return np.array(self._transitions[min(max(k, 0), len(self._transitions) - 1)])

    def gain(self, t: float) -> Array:
        """Return the gain at a time [s], rows of the active controls; held at the ends."""
        k = round((t - self.origin) / self._knot)
        return np.array(self.gains[min(max(k, 0), len(self.gains) - 1)])


def _stages(plan: Plan, step: float) -> int:
    """Return the number of stages of about a step [s]; nodes stand where controls have kinks."""
    segments = np.diff(plan.times)
    each = float(segments.mean())
    if np.ptp(segments) < 1e-6 * each and each >= step / 2:
        return len(segments) * math.ceil(each / step - 1e-6)
    return max(round(plan.duration / step), 1)


def _regulated(
    system: RollingSystem,
    p: Array,
    times: Array,
    states: Array,
    controls: Array,
    used: Used,
    roots: tuple[Array, Array, Array],
    R: Array,
    last: int,
) -> tuple[Array, Array, Array, Array]:
    """
    Return gains between the times, factors of the cost to go, root of Q at rest, transitions.

    Roots are those of Q along the plan and after it, and of P; R is its diagonal. After the last
    time of the plan only directions that the controls move to first order have a weight. A
    deviation that takes a loop to undo, such as the attitude of a ball at rest, would otherwise
    drive small loops forever.
    """
    h = times[1] - times[0]
    steps = Linearization(system).along(p, times, states, (controls[:-1], controls[1:]))
    kept, active = used
    steps = LinearSteps(steps.A[:, kept][:, :, kept], steps.B[:, kept][:, :, active])
    Q_root, held_root, P_root = roots
    R_root = np.diag(np.sqrt(R * h))
    before = LinearSteps(steps.A[:last], steps.B[:last])
    after = LinearSteps(steps.A[last:], steps.B[last:])
    rest_root = moved_root(after, held_root)
    resting = solve_riccati(after, rest_root * np.sqrt(h), R_root, rest_root)
    end_root = np.array(np.linalg.qr(np.vstack([resting.factors[0], P_root]), mode='r'))
    moving = solve_riccati(before, Q_root * np.sqrt(h), R_root, end_root)
    gains = np.concatenate([moving.gains, resting.gains])
    transitions = np.empty((len(times), len(kept), len(kept)))
    transitions[-1] = np.eye(len(kept))
    for k in range(len(gains) - 1, -1, -1):
        transitions[k] = transitions[k + 1] @ (steps.A[k] - steps.B[k] @ gains[k])
    factors = np.concatenate([moving.factors, resting.factors[1:]])
    return gains, factors, rest_root, transitions


def moved_root(steps: LinearSteps, root: Array) -> Array:
    """
    Return the root of the weights (n, n) without directions that no control moves to first order.

    Unstable directions would hide all others in the Gramian; steps divided by their maximum growth
    reach the same directions.

    Parameters
    ----------
    steps
        Linearised steps about a motion.
    root
        Root of the weights, diagonal, shape (n, n).

    """
    growth = max(1.0, float(np.abs(np.linalg.eigvals(steps.A[0])).max()))
    gramian = Reach.of(LinearSteps(steps.A / growth, steps.B)).gramian
    values, vectors = np.linalg.eigh(root @ gramian @ root)
    reached = vectors[:, values > WEAK * values[-1]]
    return np.array(reached @ reached.T @ root)


def _held(
    system: RollingSystem, p: Array, x: Array, u: Array, used: Used, h: float, count: int
) -> tuple[Array, Array]:
    """
    Return the states after a plan, shape (count, n), and the control: rest, or motion on.

    A plan ends at rest only within its tolerance, and a state with residual tilt and speed cannot
    be held. Rest nearby is found by Gauss-Newton steps of minimum norm. Without one, the plan ends
    in motion, which continues under its last control.
    """
    linearization, step = Linearization(system), step_functions(system)[0]
    times = np.array([0.0, h])

    def drift(x: Array, u: Array) -> Array:
        end = step(x, u, u, 0.0, h, p)
        return np.array(system.difference(end, x)).ravel()[used.moving] / h

    rest, held = x, u.copy()
    kept = np.concatenate([used.moving, system.tangent.size + used.active])
    for _ in range(REST_STEPS):
        ramps = held[None], held[None]
        A, B = linearization.along(p, times, np.array([rest, rest]), ramps)
        J = np.hstack([A[0] - np.eye(len(A[0])), B[0]])[used.moving] / h
        change = np.zeros(J.shape[1])
        change[kept] = -np.linalg.lstsq(J[:, kept], drift(rest, held), rcond=NEGLIGIBLE)[0]
        rest = np.array(system.retract(rest, change[: system.tangent.size])).ravel()
        held = held + change[system.tangent.size :]
    left = np.linalg.norm(drift(rest, held))
    near = np.linalg.norm(np.array(system.difference(rest, x))) < NEAR
    if near and left <= STILL + 0.1 * np.linalg.norm(drift(x, u)):
        return np.tile(rest, (count, 1)), held
    after = np.empty((count, len(x)))
    for k in range(count):
        x = after[k] = np.array(step(x, u, u, 0.0, h, p)).ravel()
    return after, u
