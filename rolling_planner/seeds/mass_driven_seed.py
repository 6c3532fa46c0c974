"""
Initial guesses for balls driven by internal masses.

The ball rolls along a path without spin, at a smooth speed. The masses keep the common centre of
mass at the position for which gravity causes the torque of the acceleration: below the centre, and
slightly ahead of it while the ball accelerates. The collocation starts from this motion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.internal_masses.masses import RailMass
from rolling_dynamics.mechanism.rolling import PlanePath
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem
from rolling_planner.progress import Watch
from rolling_planner.seeds.guess import Guess
from scipy.interpolate import CubicSpline
from transforms3d.quaternions import qmult, quat2mat

NEWTON = 30
CLOSE = 1e-12  # kg m
NODES, STEPS = 201, 8  # samples of a seed, and midpoint rotations between two


def smooth_step(t: Array) -> Array:
    """
    Return the polynomial from 0 to 1 with three derivatives zero at both ends.

    Its value is a fraction, in the shape of the given times from 0 to 1.
    """
    return t**4 * (35 - 84 * t + 70 * t**2 - 20 * t**3)


def straight_path(start: Array, goal: Array) -> PlanePath:
    """Return the straight path from a point to another, 2 components each [m], s from 0 to 1."""
    x, y = (float(v) for v in start)
    dx, dy = float(goal[0]) - x, float(goal[1]) - y
    return PlanePath([f'{x!r}+({dx!r})*s', f'{y!r}+({dy!r})*s'])


def rolling_seed(
    ball: PointMassBall,
    p: Array,
    x_start: Array,
    path: PlanePath,
    ends: tuple[float, float],
    horizon: float,
) -> Plan:
    """
    Return a motion of the ball along a path from rest to rest, to start a plan from.

    Parameters
    ----------
    ball, p, x_start
        A rolling ball, its parameters, its state at the start: at rest, in balance.
    path
        Path of the contact point.
    ends
        Parameter s of the path at start and end.
    horizon
        Duration [s].

    Returns
    -------
    Plan
        It satisfies the rolling constraint, and balance in the quasi-static limit. Its last state
        is at rest and in balance, so that it is a possible goal.

    Raises
    ------
    ParameterError
        The masses cannot keep the balance along this path.

    """
    times = np.linspace(0.0, horizon, NODES)
    s = ends[0] + (ends[1] - ends[0]) * smooth_step(times / horizon)
    place, _ = path.samples(s)
    spline = CubicSpline(times, place, bc_type=((1, [0.0, 0.0]), (1, [0.0, 0.0])))
    v, a = spline(times, 1), spline(times, 2)
    a[[0, -1]] = 0.0
    radius = float(p[ball.parameters.slice('radius')][0])
    w_W = np.column_stack([-v[:, 1], v[:, 0], 0 * times]) / radius  # v = w x r e3
    q = _attitudes(x_start[ball.state.slice('q_WB')], spline, times, radius)
    theta = _balanced(ball, p, x_start, q, a)
    curve = CubicSpline(times, theta, bc_type=((1, 0 * theta[0]), (1, 0 * theta[0])))
    w_B = np.array([quat2mat(k).T @ w for k, w in zip(q, w_W, strict=True)])
    where = np.column_stack([s, 0 * s]) if ball.path is not None else place
    name = 'path' if ball.path is not None else 'p'
    states = np.array(
        [
            ball.state.pack(
                theta=theta[k],
                theta_rate=curve(t, 1),
                q_WB=q[k],
                w_WB_B=w_B[k],
                **{name: where[k]},
            )
            for k, t in enumerate(times)
        ]
    )
    return Plan.of(
        ball,
        times=times,
        states=states,
        controls=curve(times, 2),
        report={'method': 'seed'},
    )


def _attitudes(q0: Array, spline: CubicSpline, times: Array, radius: float) -> Array:
    """Return the attitudes of a ball that rolls without spin, by midpoint rotations."""
    out, q = [np.array(q0)], np.array(q0)
    steps = np.diff(times) / STEPS
    middles = times[:-1, None] + (np.arange(STEPS) + 0.5) * steps[:, None]
    for h, velocities in zip(steps, spline(middles, 1), strict=True):
        for vx, vy in velocities:
            turn = np.array([-vy, vx, 0.0]) / radius * h
            angle = float(np.linalg.norm(turn))
            axis = turn / angle if angle > 0 else turn
            q = qmult(np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis]), q)
        out.append(q / np.linalg.norm(q))
    return np.array(out)


def _balanced(ball: PointMassBall, p: Array, x_start: Array, q: Array, a: Array) -> Array:
    """Return continuous positions on the rails that give the torque for the accelerations a."""
    params = ball.parameters.unpack(p)
    radius, g = float(params['radius'][0]), -float(params['gravity_W'][2])
    total = float(params['mass'][0] + params['masses'].sum())
    inertia = float(params['inertia'][:3].mean())
    theta, out = np.array(x_start[ball.state.slice('theta')]), []
    moment = _moment(ball, params)
    value, slope = moment(theta)
    for quaternion, acceleration in zip(q, a, strict=True):
        R = quat2mat(quaternion)
        reach = abs((R @ value)[2])
        wanted = (total * radius**2 + inertia) * acceleration / (radius * g)
        # the ball rolls ahead of its lowered centre of mass
        wanted *= max(0.2, 1 - 2 * reach / (total * radius))
        for _ in range(NEWTON):
            miss = (R @ value)[:2] - wanted
            if np.linalg.norm(miss) < CLOSE:
                break
            theta = theta - np.linalg.pinv((R @ slope)[:2], rcond=1e-6) @ miss
            value, slope = moment(theta)
        if not np.linalg.norm((R @ value)[:2] - wanted) <= 1e-3 * total * radius:
            raise ParameterError(
                'no initial guess: the masses cannot move the centre of mass as this path needs; '
                'give a longer horizon, or rails that reach further'
            )
        out.append(theta.copy())
    return np.array(out)


def _moment(
    ball: PointMassBall, params: dict[str, Array]
) -> Callable[[Array], tuple[Array, Array]]:
    """Return the function theta -> (sum of m zeta, its Jacobian) in the body."""
    rails = [m.rail for m in ball.masses if isinstance(m, RailMass)]
    if len(rails) != len(ball.masses):
        raise ParameterError('an initial guess needs masses on rails alone')
    fixed = float(params['mass'][0]) * params['centre_of_mass']

    def moment(theta: Array) -> tuple[Array, Array]:
        parts = [
            m * r.derivatives(t)[:2]
            for m, r, t in zip(params['masses'], rails, theta, strict=True)
        ]
        return fixed + sum(b[0] for b in parts), np.column_stack([b[1] for b in parts])

    return moment


class BallSeeds:
    """Seeds of a ball with masses on rails that rolls."""

    def prepare(self, problem: PlanProblem) -> None:
        """Do nothing: a guess is fast."""

    def guesses(self, problem: PlanProblem, watch: Watch) -> Iterator[Guess]:  # noqa: ARG002
        """Yield the guess that rolls straight, or along the path, to the goal."""
        seed = _seed_of(problem)
        if seed is not None:
            yield Guess.from_samples(seed.times, seed.states, seed.controls, 1e-4, 'rolling')


SEEDS = BallSeeds()


def _seed_of(problem: PlanProblem) -> Plan | None:
    """Return an initial guess, or None."""
    ball = cast('PointMassBall', problem.system)  # which names these seeds
    p, x = problem.p, np.asarray(problem.x_start, dtype=float)
    if ball.unilateral or not len(ball.control.names):
        return None
    entry = 'p' if ball.path is None else 'path'
    where = ball.state.slice(entry)
    goal, matters = problem.goal_state
    if not matters[where].any():
        return None
    path, ends = ball.path, (float(x[where][0]), float(goal[where][0]))
    if path is None:
        path, ends = straight_path(x[where], goal[where]), (0.0, 1.0)
    try:
        return rolling_seed(ball, p, x, path, ends, problem.horizon)
    except ParameterError:
        return None
