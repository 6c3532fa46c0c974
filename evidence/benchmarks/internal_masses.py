"""Balls driven by internal masses: simulation against real time, plans from rest to rest."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from evidence.benchmarks.row import DURATION, Row, simulated, timed, TOLERANCE
from evidence.papers import disk_and_ball
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.configuration import find_config
from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.internal_masses.masses import RailMass
from rolling_dynamics.internal_masses.rails import Circle
from rolling_dynamics.mechanism.rolling import PlanePath
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem
from rolling_planner.refinement.planner import plan_rolling
from rolling_planner.seeds.mass_driven_seed import rolling_seed, straight_path

FREE = 3  # masses with which attitude and place at the end can be chosen apart


def plan_along(
    ball: PointMassBall,
    p: Array,
    x_start: Array,
    path: PlanePath,
    ends: tuple[float, float],
    horizon: float,
    **options: Any,  # noqa: ANN401 (of PlanProblem)
) -> Plan:
    """
    Return a plan that follows a path from rest to rest and stays at rest where it ends.

    Parameters
    ----------
    ball, p, x_start, path, ends, horizon
        See :func:`rolling_seed`. Where the state of the ball holds ``path``, a limit of
        ``path_aside`` among the ``state_limits`` is the tube that is kept; else only the end of
        the path is.
    options
        Of :class:`PlanProblem`.

    Raises
    ------
    ParameterError, PlanningError
        No first guess, or no plan.

    """
    seed = rolling_seed(ball, p, x_start, path, ends, horizon)
    names = ['theta', 'p' if ball.path is None else 'path']
    if ball.control.size >= FREE:  # with fewer masses the attitude follows from the place
        names.append('q_WB')
    goal = {name: seed.states[-1][ball.state.slice(name)] for name in names}
    problem = PlanProblem(
        system=ball,
        p=p,
        x_start=x_start,
        goal=goal,
        horizon=horizon,
        active_controls=ball.control.names,
        warm_start=seed,
        **options,
    )
    return plan_rolling(problem)


CORES = 2
SWEEP = 'point_mass_disk_sweep.yaml'
AXES = (
    np.eye(3),
    np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
    np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
)
BALANCED = (-2.51052635, 0.63106631, -0.93973002)  # centre of mass below the centre


def rows() -> Iterator[Row]:
    """Yield the figures."""
    ex = disk_and_ball.ball()
    seconds, error = simulated(ex.system, ex.p, ex.x0, ex.control.simplest)
    title = 'ball of the paper, 20 s'
    against = f'tolerance {TOLERANCE:g}, {1e3 * seconds:.3g} ms'
    yield Row(title, DURATION / seconds, 'times real time', 'at least 2000', against)
    title = 'ball of the paper, error after 20 s'
    yield Row(title, error, goal='at most 1e-6', reference='against tolerance 3e-14')
    yield _sweep()
    for name, plan, limit in (
        ('straight run of 5 m', straight_run, 2),
        ('S-shaped path', s_shaped_path, 10),
    ):
        plan()  # compiles
        cpu, found = timed(plan, 3)
        margins = found.report['least_margins']
        yield Row(
            name=f'plan {name}, CPU time',
            value=statistics.median(cpu),
            unit='s',
            goal=f'at most {limit}',
            reference=f'{found.report["segments"]} segments, goal error '
            f'{found.report["goal_error"]:.2g}, least N {margins["normal_force"]:.3g} weights',
        )


def _sweep() -> Row:
    """Return the time of a sweep of the disk as a user starts it, from the first to the last."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, 'disk.parquet')
        command = [sys.executable, '-m', 'rolling_robotics.cli', 'sweep', str(find_config(SWEEP))]
        command += ['--out', str(out), '--workers', str(CORES)]
        (seconds,), done = timed(
            partial(subprocess.run, command, check=False, capture_output=True, text=True),
            clock=time.perf_counter,
        )
    head = done.stdout.partition('hash')[0].strip(' ,\n') or done.stderr[-200:]
    name = 'sweep of 10,000 parameter sets of the disk'
    against = f'{CORES} processes, with their start; {head}'
    return Row(name, seconds if done.returncode == 0 else None, 's', 'at most 8', against)


def straight_run() -> Plan:
    """Return the plan of a ball with one mass over 5 m, from rest to rest in 6 s."""
    ball = PointMassBall([RailMass(1.0, Circle(0.2))])
    p = ball.pack_parameters(mass=1.0, inertia=0.04, radius=0.3, mu=0.5)
    x0 = ball.state.pack(
        theta=[-np.pi / 2], theta_rate=[0], q_WB=[1, 0, 0, 0], w_WB_B=[0, 0, 0], p=[0, 0]
    )
    path = straight_path(np.zeros(2), np.array([5.0, 0.0]))
    return plan_along(ball, p, x0, path, (0.0, 1.0), 6.0, control_limits=100.0)


def s_shaped_path() -> Plan:
    """Return the plan of a ball with three masses along an S of 3.4 m, within 2 cm, in 10 s."""
    path = PlanePath(['s', '0.5*(1-cos(pi*s/3))'])
    ball = PointMassBall([RailMass(1.0, Circle(0.22, frame=F)) for F in AXES], path=path)
    p = ball.pack_parameters(mass=1.0, inertia=0.04, radius=0.3, mu=0.5)
    x0 = ball.state.pack(
        theta=BALANCED, theta_rate=np.zeros(3), q_WB=[1, 0, 0, 0], w_WB_B=np.zeros(3), path=[0, 0]
    )
    return plan_along(
        ball,
        p,
        x0,
        path,
        (0.0, 3.0),
        10.0,
        segments=140,
        control_limits=200.0,
        state_limits={'path_aside': (-0.02, 0.02)},
    )
