"""
A demonstration, end to end: plan a motion, execute it open loop and under feedback.

Nodes run as processes on real ROS 2; this process is one more client of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
import time
from typing import Any, TYPE_CHECKING

from rolling_dynamics.errors import RollingError
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_dynamics.text import printable
from rolling_robotics.bringup import (
    Bringup,
    private_domain,
)
from rolling_robotics.demo.demo import Demo
from rolling_robotics.demo.record import Execution, Record
from rolling_robotics.demo.report import conclude, ending_text, progress_text
from rolling_robotics.demo.verdict import in_simulated_time, judged, MISSED, say
from rolling_robotics.experiments import find_experiment

if TYPE_CHECKING:
    from rolling_robotics.nodes.demo_client import DemoClient

START_TIMEOUT = 300.0  # for nodes that compile for the first time [s]
PLAN_TIMEOUT = 300.0
EXECUTION_TIMEOUT = 600.0
LOCKSTEP_TIMEOUT = 30.0  # for which a plant in simulated time waits for a busy controller [s]
HEALTH_PERIOD = 0.2  # between two diagnostics of loops in wall-clock time [s]
PRINT_EVERY = 0.1  # s between two lines of feedback
IDLE_PACE = 0.05  # simulated seconds in a second while nothing is executed


def run_demo(
    name: str, out_dir: str | Path, *, use_sim_time: bool | None = None, law: str = ''
) -> int:
    """
    Run the demonstration of an experiment.

    Parameters
    ----------
    name
        Name of the experiment, for example ``ball_on_plate``.
    out_dir
        Folder for the figure, the recording and the logs of the nodes; made if it is not there.
    use_sim_time
        True: lockstep in simulated time. False: wall-clock time. None: wall-clock time where the
        machine keeps the clock, and once more in simulated time if it turns out not to.
    law
        One of the laws of the experiment's controller; empty for its usual one.

    Returns
    -------
    int
        0 if the goal was reached under feedback, 1 if it was missed, 4 if the last run was void.

    Raises
    ------
    RollingError
        There is no such demonstration, or a node did not do its part.

    """
    experiment = find_experiment(name)
    experiment.check_law(law)
    demo = replace(experiment.load_demo(), law=law)
    perform = partial(_outcome, demo) if isinstance(demo, Demo) else demo.perform
    out = Path(out_dir)
    out.mkdir(parents=True, exist_ok=True)
    need_nodes()
    return judged(
        lambda sim: perform(out, use_sim_time=sim),
        use_sim_time,
        sim=in_simulated_time(use_sim_time),
    )


def _outcome(demo: Demo, out: Path, *, use_sim_time: bool) -> int:
    """Run it once; return REACHED, MISSED or VOID."""
    record, recording = performed(demo, out, use_sim_time=use_sim_time)
    outcome = MISSED if record is None else conclude(demo, record, out)
    say(f'recording: {recording}')
    return outcome


def performed(demo: Demo, out: Path, *, use_sim_time: bool) -> tuple[Record | None, Path]:
    """Start the nodes, plan, execute, stop them; return what was seen, and the recording."""
    experiment = find_experiment(demo.experiment)
    scenario = load_scenario(experiment.scenario_file)
    recording, pace = fresh_folder(out / 'recording'), demo.pace if use_sim_time else None
    say(f'{experiment.text}')
    with brought_up(
        out,
        time_text(pace),
        experiment=experiment,
        record=recording,
        use_sim_time=use_sim_time,
        overrides=_overrides(demo, use_sim_time=use_sim_time),
    ) as (domain, bringup):
        record = _run(demo, scenario, domain, bringup, pace=pace)
    return record, recording


def time_text(pace: float | None) -> str:
    """Return which time the nodes keep: simulated, up to so many seconds in one, or the clock."""
    if pace is None:
        return 'time: that of the clock'
    return f'time: simulated, plant and controller in lockstep, up to {pace:g} times real time'


@contextmanager
def brought_up(out: Path, text: str, **options: Any) -> Iterator[tuple[int, Bringup]]:
    """
    Run the nodes of a demonstration on a ROS domain of their own.

    Parameters
    ----------
    out
        Folder of the logs.
    text
        Told after the names of the nodes.
    options
        See :class:`Bringup`.

    Yields
    ------
    int, Bringup
        The domain, and the nodes, which are started; they are stopped at the end.

    """
    with private_domain() as (domain, environment):
        bringup = Bringup(environment=environment, log_folder=out / 'logs', **options)
        say(f'starting {", ".join(bringup.commands())} on ROS domain {domain}, this machine only')
        say(text)
        with bringup:
            try:
                yield domain, bringup
            finally:
                failed = {n: s for n, s in bringup.stop().items() if s != 0}
                if failed:
                    say(f'nodes that did not stop cleanly, by exit status: {failed}')


def need_nodes() -> None:
    """Raise RollingError where ROS or the messages are missing."""
    missing = [name for name in ('rclpy', 'rolling_interfaces') if find_spec(name) is None]
    if missing:
        raise RollingError(
            f'the demonstration needs ROS 2, {" and ".join(missing)} cannot be imported: run '
            '`make demo`, or build the package in a ROS 2 workspace'
        )


def fresh_folder(folder: Path) -> Path:
    """Return a folder that does not exist yet."""
    k, made = 0, folder
    while made.exists():
        k += 1
        made = folder.with_name(f'{folder.name}_{k}')
    return made


def _overrides(demo: Demo, *, use_sim_time: bool) -> dict[str, dict[str, object]]:
    """Return the parameters that go over those of the experiment's file, by node."""
    simulator: dict[str, object] = {}
    controller: dict[str, object] = {}
    if demo.plant_file:
        simulator['scenario_file'] = demo.plant_file
    if use_sim_time:
        simulator |= {'rate_factor': IDLE_PACE, 'lockstep_timeout': LOCKSTEP_TIMEOUT}
    else:
        simulator['diagnostics_period'] = controller['diagnostics_period'] = HEALTH_PERIOD
    if demo.law:
        controller['law'] = demo.law
    return {'simulator': simulator, 'controller': controller}


def _run(
    demo: Demo, scenario: Scenario, domain: int, bringup: Bringup, *, pace: float | None
) -> Record | None:
    """Return what was seen, or None if there is no plan."""
    from rolling_planner.nodes.conversions import message_to_plan  # noqa: PLC0415
    from rolling_robotics.nodes.demo_client import DemoClient  # noqa: PLC0415

    with DemoClient(domain=domain, check=bringup.check, watched=demo.watched) as client:
        begin = time.monotonic()
        client.wait_until_ready(START_TIMEOUT)
        say(f'nodes are up after {time.monotonic() - begin:.1f} s')
        plan = _plan(client, demo, scenario)
        if plan is None:
            return None
        say(f'start: {demo.perturbation_text()}')
        runs: dict[str, Execution] = {}
        for label, settings in demo.runs.items():
            client.reset(demo.position_off, demo.rotation_off)
            client.set_parameters('controller', settings)
            runs[label] = client.execute(
                plan,
                open_loop=bool(settings.get('open_loop', False)),
                timeout=EXECUTION_TIMEOUT,
                on_start=lambda: _set_pace(client, pace),
            )
            _set_pace(client, IDLE_PACE if pace else None)
            say(f'{label}: {ending_text(runs[label])}')
    return Record(
        scenario=scenario,
        places=demo.places(scenario),
        plan=message_to_plan(plan),
        runs=runs,
    )


def _set_pace(client: DemoClient, pace: float | None) -> None:
    """Let the plant simulate this many seconds in a second; None leaves it to the clock."""
    if pace is not None:
        client.set_parameters('simulator', {'rate_factor': pace})


def _plan(client: DemoClient, demo: Demo, scenario: Scenario) -> Any:
    """Return the plan, or None after saying why there is none."""
    wanted = demo.request(scenario)
    say(f'goal: {wanted.text}')
    last = [0.0]

    def show(feedback: Any) -> None:
        now = time.monotonic()
        if now - last[0] < PRINT_EVERY:
            return
        last[0] = now
        say(f'  planning: {progress_text(feedback)}')

    client.reset((0.0, 0.0), (0.0, 0.0, 0.0))
    result = client.plan(wanted.goal, wanted.horizon, show, PLAN_TIMEOUT)
    if result.error_code:
        say(f'no plan: {printable(result.error_string)}')
        return None
    times = result.plan.times
    say(
        f'planned {times[-1]:.4g} s of motion, {len(times)} samples, in '
        f'{result.planning_time:.2f} s'
    )
    return result.plan
