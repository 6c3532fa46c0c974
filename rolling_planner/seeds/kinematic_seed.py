"""Seeds by the kinematics of rolling along a path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.representation import E1
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.rotations import inverse_2x2
from rolling_dynamics.simulation.stepper import step_of_order_4
from rolling_planner.progress import Watch


class RollingPath:
    """
    Integrates the configuration (q_HO, contact_h) under a given motion of the contact.

    The motion is ``v``, 3 components: velocity of the contact point over the hand in Ch [m/s] and
    spin of the object about the normal [rad/s].
    """

    def __init__(self, system: ContactSystem) -> None:
        """
        Build and compile one step.

        Parameters
        ----------
        system
            System in the attitude representation.

        """
        e, state = system.expressions, system.expressions.state
        self.index = np.r_[system.state.slice('q_HO'), system.state.slice('contact_h')]
        frame, velocity = state.geometry.frame, e.values['w_HO_H']
        v = ca.SX.sym('v', 3)
        bend = state.relative_curvature @ v[:2]  # (H~_o + H_h) v = E1 (w_x, w_y), Eq. (32)
        w = frame @ ca.vertcat(bend[1], -bend[0], v[2])
        rate = ca.vertcat(*state.joint.rates.values())
        rate = ca.substitute(rate, velocity, ca.densify(w))
        c, x = ca.SX.sym('c', len(self.index)), ca.SX(e.x)
        x[self.index.tolist()] = c
        rate, w_c = ca.substitute([rate, w], [e.x], [x])
        f = ca.Function('f', [c, v, e.x, e.p], [rate])
        h, *ends = ca.SX.sym('h'), *(ca.SX.sym(f'v{k}', 3) for k in range(3))
        _, end = step_of_order_4(lambda at, k: f(at, ends[k], e.x, e.p), c, h)
        own = frame.T @ velocity  # motion of the contact in a state
        over = inverse_2x2(state.relative_curvature) @ E1 @ own[:2]
        step, self._turning, self._own = compiled(
            ca.Function('rolling_step', [c, *ends, h, e.x, e.p], [end]),
            ca.Function('rolling_velocity', [c, v, e.x, e.p], [w_c]),
            ca.Function('contact_motion', [e.x, e.p], [ca.vertcat(over, own[2])]),
        )
        self._step = step
        self._maps: dict[tuple[int, int], ca.Function] = {}

    def integrate(self, start: Array, motions: Array, horizon: float, x: Array, p: Array) -> Array:
        """
        Return configurations, shape (k, steps, 6), after each step.

        Parameters
        ----------
        start
            Configuration at the start, 6 components.
        motions
            v at the ends and middles of the steps, shape (k, 2 steps + 1, 3).
        horizon
            Duration [s].
        x, p
            A state, for entries other than the configuration, and parameters.

        """
        k, steps = len(motions), len(motions[0]) // 2
        if (k, steps) not in self._maps:
            self._maps[k, steps] = self._step.mapaccum('path', steps, 1).map(k)
        parts = (motions[:, 0:-2:2], motions[:, 1:-1:2], motions[:, 2::2])
        columns = [part.reshape(k * steps, 3).T for part in parts]
        # the state of each path is repeated for all its steps
        out = self._maps[k, steps](np.tile(start, (k, 1)).T, *columns, horizon / steps, x, p)
        return np.array(out).T.reshape(k, steps, -1)

    def turning(self, path: Array, motion: Array, x: Array, p: Array) -> Array:
        """Return w_HO_H [rad/s], shape (k, 3), along a path (k, 6) with a motion (k, 3)."""
        return np.array(self._turning.map(len(path))(path.T, motion.T, x, p)).T

    def own_motion(self, x: Array, p: Array) -> Array:
        """Return the motion v of the contact at a state."""
        return np.array(self._own(x, p)).ravel()


rolling_path = once_per_system(RollingPath)

STEPS, FINE_STEPS = 16, 48  # steps of the search, and of the result
MODES = 4  # functions of time for each direction
STARTS, BATCHES = 6, 4  # loops tried at once, and number of attempts
NEWTON_STEPS, SLIDING_STEPS = 26, 20
SLIDE, NEAR = 0.4, 0.3  # fraction of a step to less effort, and residual below which it is used
LARGEST_STEP = 1.0  # of the residual, in a Newton step
EFFORT = np.tile(np.arange(1.0, MODES + 1.0), 2)  # weights of the coefficients
DIFFERENCE = 1e-6
CLOSE = 1e-3  # residual at which a seed reaches the goal: the optimisation does the rest
SAME = 0.05  # relative difference below which two seeds are equal


@dataclass(frozen=True, eq=False)
class KinematicSeed:
    """
    A path of rolling.

    Attributes
    ----------
    times
        Shape (k,) [s].
    states
        Whole states of the system, shape (k, n); the hand rests.
    rolling_rate
        Rate of the relative angular velocity w_HO_H [rad/s^2], shape (k, 3).
    residual
        Norm of the error from the goal.

    """

    times: Array
    states: Array
    rolling_rate: Array
    residual: float


@dataclass(frozen=True, eq=False, kw_only=True)
class SeedProblem:
    """
    Goal and limits of a seed.

    Attributes
    ----------
    system, p
        The system, in the attitude representation, and its parameters.
    x_start
        State at the start.
    goal
        State at the goal; its ``q_HO``, ``contact_h`` and ``w_HO_H`` are reached.
    weights
        1 or 0 for the 3 rotations and the 2 coordinates, by whether they belong to the goal.
    horizon
        Duration [s].
    seed
        Random seed of the initial loops.

    """

    system: ContactSystem
    p: Array
    x_start: Array
    goal: Array
    weights: Array
    horizon: float
    seed: int = 0


class KinematicPlanner:
    """Shooting on the rolling kinematics."""

    def __init__(self, problem: SeedProblem) -> None:
        """Prepare the boundary values."""
        self.problem = problem
        self.path = rolling_path(problem.system)
        index = self.path.index
        self._start, self._target = problem.x_start[index], problem.goal[index]
        self._used = np.flatnonzero(problem.weights)
        own = [self.path.own_motion(x, problem.p) for x in (problem.x_start, problem.goal)]
        self._ends = np.nan_to_num(np.array(own))  # motion at start and goal, (2, 3)

    def seeds(self, watch: Watch) -> Iterator[KinematicSeed]:
        """
        Yield seeds, the easiest of each batch of starts first.

        Parameters
        ----------
        watch
            Called with each step; ends the search when the time is spent.

        """
        rng = np.random.default_rng(self.problem.seed)
        size = self._size()
        known: list[Array] = []
        for batch in range(BATCHES):
            first = rng.normal(size=(STARTS, 2 * MODES)) * size
            first *= rng.uniform(0.5, 3.0, size=(STARTS, 1)) * 1.5**batch
            if batch == 0:
                first[0] = 0.0
            found = self._newton(first, watch)
            if found is None:
                return
            c, residual = found
            effort = np.sum((EFFORT * c) ** 2, axis=1) + 1e6 * np.maximum(residual - CLOSE, 0)
            for k in np.argsort(effort):
                last_hope = batch == BATCHES - 1 and not known
                if not np.isfinite(effort[k]) or (residual[k] > CLOSE and not last_hope):
                    continue
                if all(np.linalg.norm(c[k] - o) > SAME * np.linalg.norm(o) + 1e-9 for o in known):
                    known.append(c[k])
                    yield self._sample(c[k], float(residual[k]))

    def _size(self) -> float:
        """Return a speed that turns the object by about a radian, or covers the distance."""
        q = self.problem
        w = self.path.turning(self._start[None], np.array([[1.0, 0, 0]]), q.x_start, q.p)
        per_metre = max(float(np.linalg.norm(w)), 1e-9)
        distance = float(np.linalg.norm((self._target - self._start)[4:] * q.weights[3:]))
        return max(1.0 / per_metre, distance) / q.horizon

    def _motions(self, c: Array, s: Array) -> Array:
        """Return the motion of the contact, (k, len(s), 3), from coefficients (k, 2 MODES)."""
        k = np.arange(1, MODES + 1)
        modes = np.sin(np.pi * s)[:, None] * np.sin(np.pi * np.outer(s, k))
        rise = s * s * (3 - 2 * s)
        out = np.outer(1 - rise, self._ends[0]) + np.outer(rise, self._ends[1])
        out = np.tile(out, (len(c), 1, 1))
        out[:, :, :2] += np.einsum('sm,kcm->ksc', modes, c.reshape(-1, 2, MODES))
        return out

    def _paths(self, c: Array, steps: int) -> Array:
        q = self.problem
        motions = self._motions(c, np.linspace(0.0, 1.0, 2 * steps + 1))
        return self.path.integrate(self._start, motions, q.horizon, q.x_start, q.p)

    def _newton(self, c: Array, watch: Watch) -> tuple[Array, Array] | None:
        """Return coefficients (k, n) and residuals (k,), None if the time is spent."""
        k, n = c.shape
        steps = np.vstack([np.zeros(n), DIFFERENCE * np.eye(n)])
        residual = np.full(k, np.inf)
        for iteration in range(NEWTON_STEPS):
            trials = (c[:, None] + steps).reshape(-1, n)
            misses = _misses(self._paths(trials, STEPS)[:, -1], self._target)[:, self._used]
            misses = np.nan_to_num(misses, nan=1e6).reshape(k, n + 1, -1)
            r, J = misses[:, 0], (misses[:, 1:] - misses[:, :1]).transpose(0, 2, 1) / DIFFERENCE
            residual = np.linalg.norm(r, axis=1)
            if not watch.seeking(iteration, float(residual.min())):
                return None
            pseudo = np.linalg.pinv(J / EFFORT, rcond=1e-5) / EFFORT[:, None]
            damping = np.minimum(1.0, LARGEST_STEP / np.maximum(residual, 1e-12))
            step = -np.einsum('kij,kj->ki', pseudo, r) * damping[:, None]
            if iteration < SLIDING_STEPS:
                back = c - np.einsum('kij,kj->ki', pseudo, np.einsum('kij,kj->ki', J, c))
                step -= SLIDE * back * (residual < NEAR)[:, None]
            elif residual.min() < CLOSE and np.all((residual < CLOSE / 10) | (residual > NEAR)):
                break
            if iteration < NEWTON_STEPS - 1:
                c = c + step
        return c, residual

    def _sample(self, c: Array, residual: float) -> KinematicSeed:
        q, s = self.problem, np.linspace(0.0, 1.0, FINE_STEPS + 1)
        path = np.vstack([self._start, self._paths(c[None], FINE_STEPS)[0]])
        motion = self._motions(c[None], s)[0]
        states = np.tile(q.x_start, (FINE_STEPS + 1, 1))
        states[:, self.path.index] = path
        w = self.path.turning(path, motion, q.x_start, q.p)
        states[:, q.system.state.slice('w_HO_H')] = w
        times = s * q.horizon
        return KinematicSeed(times, states, np.gradient(w, times, axis=0), residual)


def _misses(ends: Array, target: Array) -> Array:
    """Return rotations (3) and displacements (2) from the target, shape (k, 5)."""
    q = ends[:, :4] / np.linalg.norm(ends[:, :4], axis=1)[:, None]
    g = target[:4]
    w = q @ g
    v = g[0] * q[:, 1:] - q[:, :1] * g[1:] + np.cross(q[:, 1:], g[1:])
    v *= np.where(w < 0, -1.0, 1.0)[:, None]
    n = np.linalg.norm(v, axis=1)
    factor = np.where(n < 1e-9, 2.0, 2 * np.arctan2(n, np.abs(w)) / np.maximum(n, 1e-300))
    return np.hstack([v * factor[:, None], ends[:, 4:] - target[4:]])
