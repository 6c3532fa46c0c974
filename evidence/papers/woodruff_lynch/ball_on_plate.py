"""Woodruff and Lynch: plans of a ball on a plate, and their figures."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache
import math
import time

from evidence.papers.row import at_most, Row
from matplotlib.figure import Figure
import numpy as np
from rolling_controller import OpenLoop, TimeVaryingLqr
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import PlanningError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario_model import load_model
from rolling_planner import Iteration, Plan, plan_rolling, Planner, PlanProblem
from rolling_planner.problem.scenario import read_problem
from rolling_planner.progress import Watch
from rolling_planner.refinement.attempt import attempt
from rolling_planner.seeds.guess import initial_guesses
from rolling_planner.spin_rolling.motion import Contact, contact_of_attitude, Motion
from rolling_planner.spin_rolling.pure_rolling import plan_pure_rolling
from rolling_robotics.figures.states import COLOURS, WIDTH
from rolling_robotics.trials.standing import Standing
from rolling_robotics.trials.trial import run_trials, Trial
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from transforms3d.quaternions import quat2mat

LOOP_RADIUS = 0.1  # m
PRINTED_TIMES = {50: 171.0, 100: 346.0, 200: 946.0}  # s
TOLERANCE, GRIDS = 0.1, 4  # eta and the number of grids of Table II
COARSE = 50  # segments
TRIANGLES = 6  # from which the shortest is sought


def table_ii(radius: float | None = None) -> PlanProblem:
    """Return the problem as printed, for the radius of a straight roll or another one [m]."""
    raw = load_scenario('ball_on_plate_table_ii').raw
    if radius is not None:
        surface = {**raw['object']['surface'], 'radius': radius}
        raw = {**raw, 'object': {**raw['object'], 'surface': surface}}
    return read_problem(load_scenario(raw))


@cache
def recipe(
    radius: float | None = None, tolerance: float = TOLERANCE
) -> tuple[dict[int, float], float]:
    """Return CPU times by segments [s], and goal error, of the recipe of Table II as printed."""
    seconds: dict[int, float] = {}
    last, error = time.process_time(), math.inf

    def note(iteration: Iteration) -> bool:
        nonlocal last, error
        if iteration.stage == 'optimise':
            now, n = time.process_time(), iteration.segments
            seconds[n], last = seconds.get(n, 0.0) + now - last, now
            error = iteration.goal_error
        return True

    problem = replace(table_ii(radius), goal_tolerance=tolerance)
    # where it stops short, the error of the last iteration says by how much
    with suppress(PlanningError):
        error = float(plan_rolling(problem, note).report['goal_error'])
    return seconds, error


@cache
def loop_problem() -> PlanProblem:
    """Return the goal that needs a loop, by the planner's own choices."""
    return read_problem(load_scenario('ball_on_plate_hard'))


@cache
def loop_plan() -> Plan:
    """Return the optimised plan round a loop."""
    return plan_rolling(loop_problem())


def places(plan: Plan) -> Array:
    """Return the contact point on the plate, shape (k, 2) [m]."""
    return np.asarray(plan.states[:, loop_problem().system.state.slice('contact_h')])


@cache
def geometric_plans() -> dict[str, Motion]:
    """Return plans of straight rolls for the same goal by name."""
    problem = loop_problem()
    layout = problem.system.state
    where, turn = layout.slice('contact_h'), layout.slice('q_HO')
    start, goal = (
        contact_of_attitude(x[where], quat2mat(x[turn]))
        for x in (problem.x_start, problem.goal_state[0])
    )
    return {
        'closed form': plan_pure_rolling(LOOP_RADIUS, start, goal),
        'shortest triangle': _by_triangle(start, goal),
    }


def _by_triangle(start: Contact, goal: Contact) -> Motion:
    """Return a straight roll to the goal, and the shortest triangle found that then turns."""
    way = (np.array(goal[:2]) - start[:2]) / LOOP_RADIUS

    def motion(c: Array) -> Motion:
        sides = way, c[:2], c[2:], -c[:2] - c[2:]
        return Motion(LOOP_RADIUS, start, tuple((-y, x, 0.0) for x, y in sides))

    def missed(c: Array) -> Array:
        turn = np.array(motion(c).end.R_SO) @ np.array(goal.R_SO).T
        return np.asarray(Rotation.from_matrix(turn).as_rotvec())

    rng, exact = np.random.default_rng(0), [{'type': 'eq', 'fun': missed}]
    starts = rng.normal(size=(TRIANGLES, 4)) * rng.uniform(0.5, 3.0, (TRIANGLES, 1))
    found = [minimize(lambda c: motion(c).length, c, constraints=exact) for c in starts]
    return min((motion(f.x) for f in found if f.success), key=lambda m: m.length)


def corners(path: Motion) -> Array:
    """Return the corners of a path on the plate, shape (k, 2) [m]."""
    return np.array([contact[:2] for contact in path.contacts])


def length(points: Array) -> float:
    """Return the length of a path of points, shape (N, 2) [m]."""
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


@cache
def coarse_plan() -> Plan:
    """Return a coarse plan with the states that the trapezoidal rule believes, Eq. (49)."""
    problem = replace(loop_problem(), method='trapezoidal', segments=COARSE)
    planner, watch = Planner(problem), Watch(None, math.inf)
    times = np.linspace(0.0, problem.horizon, COARSE + 1)
    guess = next(initial_guesses(problem, watch))
    found = attempt(problem, planner.formulation, times, guess, {}, watch, iterations=300)
    model = planner.formulation.model
    z = found.optimum.z[found.transcription.segment_nodes]
    split = model.state.size
    states = model.expand_states(z[:, :split], problem.x_start)
    for turn in (problem.system.state.slice(n) for n in ('q_WH', 'q_HO')):
        states[:, turn] /= np.linalg.norm(states[:, turn], axis=1, keepdims=True)
    return Plan.of(
        problem.system,
        times=times,
        states=states,
        controls=model.expand_controls(z[:, split:]),
    )


@cache
def followed() -> tuple[Array, Array, Array]:
    """Return times [s] and distance from a plan in open and closed loop, shape (k,), Fig. 10."""
    model, plan = load_model('ball_on_plate_hard'), coarse_plan()
    system = model.system
    lqr = TimeVaryingLqr(system, model.params, plan, nominal='plan')
    errors = []
    for law in (OpenLoop(system, plan), lqr):
        standing = Standing(model=model, law=law)
        (run,) = run_trials([Trial(task=standing, duration=plan.duration)])
        states = zip(run.times, run.states(system), strict=True)
        apart = [system.difference(x, lqr.nominal(t)[0]) for t, x in states]
        errors.append(np.linalg.norm(np.array(apart), axis=(1, 2)))
    return run.times, errors[0], errors[1]


def rows() -> list[Row]:
    """Return the numbers of Sections VI-A and VII-A."""
    return [*_straight(), *_loop(), *_feedback()]


def _straight() -> list[Row]:
    (seconds, error), every = recipe(), recipe(tolerance=1e-9)[0]
    name = 'Table II, ball of 0.021 m'
    grid = f'{name}: CPU time on the grid of'
    return [
        *(
            at_most(f'{grid} {n} segments (printed: s)', printed, every[n], unit='s')
            for n, printed in PRINTED_TIMES.items()
        ),
        at_most(f'{name}: grids to a valid plan', 3, len(seconds)),
        at_most(f'{name}: simulated goal error (printed: below)', TOLERANCE, error),
    ]


def _loop() -> list[Row]:
    name = 'Table II, ball of 0.1 m'
    (_, printed), plan = recipe(LOOP_RADIUS), loop_plan()
    own, paths = length(places(plan)), geometric_plans()
    seconds, error = (float(plan.report[k]) for k in ('cpu_seconds', 'goal_error'))
    rolls, triangle = (own / paths[name].length for name in ('closed form', 'shortest triangle'))
    recipe_of = f'{name}: goal error of the printed recipe on {GRIDS} grids (printed: below)'
    time_of = f'{name}: CPU time of our planner (printed: 24 minutes)'
    return [
        at_most(recipe_of, TOLERANCE, printed, 0.01, expected=0.623),
        at_most(f'{name}: goal error of our planner (printed: below)', TOLERANCE, error),
        at_most(time_of, sum(PRINTED_TIMES.values()), seconds, unit='s'),
        at_most('Fig. 9: path on the plate over that in closed form (printed: below)', 1.0, rolls),
        Row('Fig. 9: path on the plate over the shortest triangle', None, triangle, 0.0),
    ]


def _feedback() -> list[Row]:
    _, open_loop, closed_loop = followed()
    name = 'Fig. 10: distance at the end,'
    ratio = closed_loop[-1] / open_loop[-1]
    return [
        Row(f'{name} open loop', None, open_loop[-1], 0.0),
        at_most(f'{name} closed over open loop (printed: below)', 1.0, ratio),
    ]


def plan_beside_geometric_plans() -> Figure:
    """Return Fig. 9 (c), (d): the contact point on the plate, the state, and the controls."""
    plan = loop_plan()
    points = places(plan)
    figure = Figure(figsize=(WIDTH, 5.2))
    grid = figure.add_gridspec(2, 2)
    axes = figure.add_subplot(grid[0, :])
    for name, dash, path in zip(
        geometric_plans(), ('--', ':'), geometric_plans().values(), strict=True
    ):
        label = f'{name}, {path.length:.2f} m'
        axes.plot(*corners(path).T, dash, color='black', linewidth=1.0, label=label)
    axes.plot(*points.T, color=COLOURS[0], label=f'optimised, {length(points):.2f} m')
    axes.plot(*points[0], 'x', color='black', markersize=7)
    axes.plot(0.0, -0.033, 'o', color='black', fillstyle='none', markersize=7)
    axes.set(xlabel='$u_h$ [m]', ylabel='$v_h$ [m]', title='contact point on the plate, (c)')
    axes.set_aspect('equal', adjustable='datalim')
    axes.legend(loc='center left', bbox_to_anchor=(1.0, 0.5))
    over_time, controls = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
    for k, name in enumerate(('$u_h$', '$v_h$')):
        over_time.plot(plan.times, points[:, k], color=COLOURS[k], label=name)
    over_time.set(xlabel='time [s]', ylabel='[m]', title='contact point over time, (d)')
    over_time.legend()
    names = plan.control_names
    for k, name in enumerate(loop_problem().active_controls):
        column = plan.controls[:, names.index(name)]
        controls.plot(plan.times, column, color=COLOURS[k], label=name)
    controls.set(xlabel='time [s]', ylabel=r'[rad/s$^2$]', title='controls')
    controls.legend()
    return figure


def coarse_plan_followed() -> Figure:
    """Return Fig. 10: distance from a coarse plan, open and closed loop."""
    times, open_loop, closed_loop = followed()
    figure = Figure(figsize=(WIDTH, 2.8))
    axes = figure.subplots()
    axes.semilogy(times, open_loop, color=COLOURS[1], label='open loop')
    axes.semilogy(times, closed_loop, color=COLOURS[0], label='closed loop')
    axes.set(
        xlabel='time [s]',
        ylabel='distance from the plan',
        ylim=(1e-4, None),
        title=f'a plan of {COARSE} segments, simulated finely',
    )
    axes.legend(loc='lower right')
    return figure
