"""A demonstration, end to end: nodes as processes, trials, their recording, a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
import time
from typing import Any

from rolling_dynamics.errors import RollingError
from rolling_node_kit.signals import without_ros
from rolling_robotics.bringup import Bringup, private_domain
from rolling_robotics.demo.clock import in_simulated_time, judged
from rolling_robotics.demo.demo import Demo
from rolling_robotics.experiments import find_experiment
from rolling_robotics.figures.beside import records_figure
from rolling_robotics.files import unused_folder
from rolling_robotics.plot import write_figure
from rolling_robotics.trials.trial import (
    LOCKSTEP,
    outcomes,
    Record,
    report,
    ROS,
    run_trials,
    say,
    Trial,
)

START_TIMEOUT = 300.0  # for nodes that compile for the first time [s]
LOCKSTEP_TIMEOUT = 30.0  # for which a plant in simulated time waits for a busy controller [s]
HEALTH_PERIOD = 0.2  # between two diagnostics of loops in wall-clock time [s]
SETTLE = 1.5  # s, in wall-clock time: processes that find each other keep all processors busy
SLOWER = 5.0  # times, for a trial that is repeated
Overrides = dict[str, dict[str, object]]


def run_demo(
    name: str,
    out_dir: str | Path,
    *,
    law: str = '',
    hardware: str = '',
    trials: int = 0,
    use_sim_time: bool | None = None,
    rate: float = 0.0,
    ros: bool = True,
) -> int:
    """
    Run the demonstration of an experiment, on its nodes or in this process.

    Parameters
    ----------
    name
        Name of the experiment, for example ``ball_on_plate``.
    out_dir
        Folder for the figure, the recording and the logs of the nodes; created if missing.
    law
        One of the laws of the experiment's controller; empty for its usual one.
    hardware
        One of the types of hardware of the experiment; empty for the first.
    trials
        Trials under feedback; 0 for the usual number.
    use_sim_time
        True: lockstep in simulated time. False: wall-clock time. None: wall-clock time where the
        computer is fast enough, and once more in simulated time if it proves too slow.
    rate
        Loop rate of emulated hardware in wall-clock time [Hz]; 0 for a rate that suits the
        processors of this computer.
    ros
        Whether nodes carry out the trials; else plant and law alternate in this process.

    Returns
    -------
    int
        0 if every trial under feedback has succeeded, 1 if one has failed, 4 if none has failed
        but one is inconclusive.

    Raises
    ------
    RollingError
        There is no such demonstration, law or hardware, or a node failed.

    """
    experiment = find_experiment(name)
    demo: Demo = experiment.load_demo()
    experiment.check_law(law)
    experiment.nodes_on(hardware)
    demo = demo.on(hardware).under(law)
    out, figure = Path(out_dir), Path(out_dir) / f'{Path(name).stem}.png'
    if missing := ros and without_ros('demo', 'rosbags'):
        raise RollingError(missing)
    demo.task.check()
    out.mkdir(parents=True, exist_ok=True)
    say(experiment.text)
    sim = ros and ((use_sim_time is None and demo.task.is_slow) or in_simulated_time(use_sim_time))

    def run(sim: bool) -> int:
        made = demo.all_trials(trials)
        records, recording = (
            performed(demo, made, out, use_sim_time=sim, law=law, hardware=hardware, rate=rate)
            if ros
            else ([], None)
        )
        here = list(run_trials(made, records, demo.workers))
        driver, beside = (ROS, outcomes(made, here)) if ros else (LOCKSTEP, None)
        records = records if ros else here
        found = outcomes(made, records)
        status = report(made, found, demo.law, faster=demo.faster, driver=driver, beside=beside)
        draw(demo, records, figure)
        say(f'figure: {figure}')
        if recording is not None:
            say(f'recording: {recording}')
        return status

    if ros:
        return judged(run, use_sim_time, sim=sim)
    say('plant and controller take turns in this process, without ROS')
    return run(True)


def draw(demo: Demo, records: Sequence[Record], figure: Path) -> None:
    """Write the figure of trials, a PNG file."""
    if demo.draw is not None:
        demo.draw(records, figure)
        return
    write_figure(demo.task.experiment, lambda: records_figure(records), figure)


def performed(
    demo: Demo,
    trials: Sequence[Trial],
    out: Path,
    *,
    use_sim_time: bool,
    law: str = '',
    hardware: str = '',
    rate: float = 0.0,
) -> tuple[list[Record], Path]:
    """Start the nodes, carry out the trials, stop the nodes; return records and recording."""
    from rolling_robotics.nodes.trial_client import TrialClient  # noqa: PLC0415  (needs ROS)

    experiment, recording = find_experiment(demo.task.experiment), unused_folder(out / 'recording')
    kept = f'simulated, up to {demo.pace:g} times real time' if use_sim_time else "the clock's"
    with (
        brought_up(
            out,
            f'hardware: {hardware}; time: {kept}' if hardware else f'time: {kept}',
            experiment=experiment,
            record=recording,
            hardware=hardware,
            use_sim_time=use_sim_time,
            overrides=_overrides(demo, law, rate, use_sim_time=use_sim_time),
        ) as (domain, bringup),
        TrialClient(domain=domain, check=bringup.check) as client,
    ):
        begin = time.monotonic()
        client.wait_until_active(bringup.processes, START_TIMEOUT)
        client.wait_until_recorded(experiment.recorded, START_TIMEOUT)
        say(f'nodes are up after {time.monotonic() - begin:.1f} s')
        if not use_sim_time:
            time.sleep(SETTLE)
        records = []
        for trial in trials:
            client.pace = (demo.plant, demo.idle_pace, demo.pace) if use_sim_time else None
            record = demo.task.ask(client, trial)
            if record.inconclusive:
                say(f'{trial.text()}: inconclusive: {record.inconclusive}; once more')
                if use_sim_time:
                    client.pace = (demo.plant, demo.idle_pace, demo.pace / SLOWER)
                record = demo.task.ask(client, trial)
            say(f'{trial.text()}: {record.ended or "done"}')
            planned = trial.criterion.planned(trial.duration)
            records.append(replace(record, law=trial.law, seed=trial.seed, planned=planned))
    return demo.task.read(recording, records), recording


@contextmanager
def brought_up(out: Path, text: str, **options: Any) -> Iterator[tuple[int, Bringup]]:
    """
    Run the nodes of a demonstration on a ROS domain of their own.

    Parameters
    ----------
    out
        Folder of the logs.
    text
        Printed after the names of the nodes.
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


def _overrides(demo: Demo, law: str, rate: float, *, use_sim_time: bool) -> Overrides:
    """Return the parameters that override the experiment's file, by node."""
    patient: Mapping[str, object] = {'lockstep_timeout': LOCKSTEP_TIMEOUT}
    plant = {'rate_factor': demo.idle_pace, **patient} if use_sim_time else {}
    out: Overrides = {demo.plant: dict(plant), 'controller': {'law': law} if law else {}}
    if not use_sim_time:
        for node in out.values():
            node['diagnostics_period'] = HEALTH_PERIOD
    for name, values in demo.task.overrides(use_sim_time=use_sim_time, rate=rate).items():
        out[name] = {**values, **out.get(name, {})}
    return out
