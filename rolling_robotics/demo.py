"""
The main job, end to end: plan a reorientation, execute it open loop and under feedback.

Nodes run as processes on real ROS 2; this process is one more client of theirs.
"""

from __future__ import annotations

from importlib.util import find_spec
import os
from pathlib import Path
import sys
import time
from typing import Any, TYPE_CHECKING

from rolling_dynamics.configuration import find_config
from rolling_dynamics.errors import RollingError
from rolling_dynamics.scenario import load_scenario
from rolling_planner.scenario import read_problem
from rolling_robotics.bringup import (
    Bringup,
    free_domain,
    isolated_environment,
    realtime_allowed,
)
from rolling_robotics.demo_figure import draw_demo
from rolling_robotics.experiments import Experiment, find_experiment

if TYPE_CHECKING:
    from rolling_robotics.nodes.demo_client import DemoClient, Execution

REACHED, MISSED = 0, 1
POSITION_OFF = (0.003, 0.0)  # m
ATTITUDE_OFF = (0.05, 0.0, 0.0)  # rad
START_TIMEOUT = 120.0  # for nodes that compile for the first time [s]
PLAN_TIMEOUT = 120.0
PRINT_EVERY = 0.1  # s between two lines of feedback


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def run_demo(name: str, out_dir: str | Path, *, use_sim_time: bool | None = None) -> int:
    """
    Run the demonstration of an experiment.

    Parameters
    ----------
    name
        Name of the experiment, for example ``ball_on_plate``.
    out_dir
        Folder for the figure, the recording and the logs of the nodes; made if it is not there.
    use_sim_time
        True: plant and controller take turns, step by step, whatever else the machine does. False:
        by the clock, at 1 kHz. None: by the clock where real-time priority is allowed.

    Returns
    -------
    int
        0 if the goal was reached under feedback, 1 if it was missed.

    Raises
    ------
    RollingError
        There is no such experiment, or a node did not do its part.

    """
    experiment = find_experiment(name)
    out = Path(out_dir)
    out.mkdir(parents=True, exist_ok=True)
    _need_ros()
    if use_sim_time is None:
        use_sim_time = not realtime_allowed()
    with free_domain() as domain:
        environment = isolated_environment(domain)
        os.environ.update(
            {k: environment[k] for k in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE')}
        )
        recording = _fresh(out / 'recording')
        bringup = Bringup(
            experiment=experiment,
            environment=environment,
            record=recording,
            use_sim_time=use_sim_time,
            log_folder=out / 'logs',
        )
        say(f'{experiment.text}')
        say(f'starting {", ".join(bringup.commands())} on ROS domain {domain}, this machine only')
        say(
            'time: simulated, plant and controller in lockstep'
            if use_sim_time
            else 'time: that of the clock, plant and controller at 1 kHz'
        )
        with bringup:
            outcome = _run(experiment, domain, bringup, out)
            failed = {n: s for n, s in bringup.stop().items() if s != 0}
            if failed:
                say(f'nodes that did not stop cleanly, by exit status: {failed}')
    say(f'recording: {recording}')
    return outcome


def _need_ros() -> None:
    missing = [name for name in ('rclpy', 'rolling_interfaces') if find_spec(name) is None]
    if missing:
        raise RollingError(
            f'the demonstration needs ROS 2, {" and ".join(missing)} cannot be imported: run '
            '`make demo`, or build the package in a ROS 2 workspace'
        )


def _fresh(folder: Path) -> Path:
    """Return a folder that does not exist yet."""
    k, made = 0, folder
    while made.exists():
        k += 1
        made = folder.with_name(f'{folder.name}_{k}')
    return made


def _run(experiment: Experiment, domain: int, bringup: Bringup, out: Path) -> int:
    from rolling_robotics.nodes.demo_client import DemoClient  # noqa: PLC0415

    with DemoClient(domain=domain, check=bringup.check) as client:
        begin = time.monotonic()
        client.wait_until_ready(START_TIMEOUT)
        say(f'nodes are up after {time.monotonic() - begin:.1f} s')
        plan = _plan(client, experiment)
        if plan is None:
            return MISSED
        say(
            f'start: {1e3 * POSITION_OFF[0]:g} mm off in position, {ATTITUDE_OFF[0]:g} rad off in '
            'attitude'
        )
        runs = {}
        for label, open_loop in (('open loop', True), ('closed loop', False)):
            client.reset(POSITION_OFF, ATTITUDE_OFF)
            runs[label] = client.execute(plan, open_loop=open_loop, timeout=60.0)
            say(f'{label}: {_ending(runs[label])}')
    return _conclude(plan, runs, out)


def _plan(client: DemoClient, experiment: Experiment) -> Any:
    """Return the plan, or None after saying why there is none."""
    problem = read_problem(load_scenario(find_config(experiment.scenario_file)))
    goal: dict[str, float] = {}
    for name, values in problem.goal.items():
        if values is None:
            continue
        layout = problem.system.state
        names = layout.entry(name).components if name in layout else (name,)
        goal |= dict(zip(names, (float(v) for v in values), strict=True))
    say('goal: ' + ', '.join(f'{n} = {v:.4g}' for n, v in goal.items()))
    last = [0.0]

    def show(feedback: Any) -> None:
        now = time.monotonic()
        if now - last[0] < PRINT_EVERY:
            return
        last[0] = now
        say(
            f'  planning: {feedback.segments:4d} segments, iteration {feedback.iteration:3d}, '
            f'cost {feedback.cost:.4g}, violation {feedback.violation:.2e}, '
            f'goal error {feedback.goal_error:.2e}'
        )

    client.reset((0.0, 0.0), (0.0, 0.0, 0.0))
    result = client.plan(goal, problem.horizon, show, PLAN_TIMEOUT)
    if result.error_code:
        say(f'no plan: {result.error_string}')
        return None
    say(
        f'planned {problem.horizon:g} s of motion, {len(result.plan.times) - 1} segments, in '
        f'{result.planning_time:.2f} s'
    )
    return result.plan


def _ending(run: Execution) -> str:
    return f'final error {run.final_error:.3g}' + (f' ({run.text})' if run.text else '')


def _conclude(plan: Any, runs: dict[str, Execution], out: Path) -> int:
    """Print the comparison, draw the figure and return the exit status."""
    open_loop, closed_loop = runs['open loop'], runs['closed loop']
    ratio = open_loop.final_error / max(closed_loop.final_error, 1e-12)
    say('')
    say('final error (norm of m, rad, m/s, rad/s)')
    say(f'  open loop    {open_loop.final_error:10.5f}')
    say(f'  closed loop  {closed_loop.final_error:10.5f}   {ratio:.0f} times smaller')
    figure = out / 'ball_on_plate.png'
    draw_demo(plan, runs, figure)
    say(f'figure: {figure}')
    reached = closed_loop.code == 0
    say('the goal was reached' if reached else f'the goal was missed: {closed_loop.text}')
    return REACHED if reached else MISSED


if __name__ == '__main__':
    sys.exit(run_demo('ball_on_plate', sys.argv[1] if len(sys.argv) > 1 else 'demo'))
