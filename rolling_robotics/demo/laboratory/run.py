"""A demonstration of the laboratory, end to end: nodes as processes, trials, verdicts, figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import os
from pathlib import Path
import time
from typing import TYPE_CHECKING

from rolling_dynamics.errors import ParameterError
from rolling_robotics.demo.laboratory.demos import LABORATORY, LaboratoryDemo
from rolling_robotics.demo.laboratory.joint_use import limits_kept
from rolling_robotics.demo.laboratory.recorded_trials import as_recorded
from rolling_robotics.demo.laboratory.report import conclude, trial_text
from rolling_robotics.demo.laboratory.trial_offsets import offset
from rolling_robotics.demo.laboratory.trial_record import TrialSeen
from rolling_robotics.demo.laboratory.verdict import unjudged
from rolling_robotics.demo.run import (
    brought_up,
    fresh_folder,
    LOCKSTEP_TIMEOUT,
    need_nodes,
    START_TIMEOUT,
)
from rolling_robotics.demo.verdict import in_simulated_time, judged, MISSED, say
from rolling_robotics.experiments import find_experiment
from rolling_robotics.hardware import EMULATED, REAL, SIMULATED

if TYPE_CHECKING:
    from rolling_robotics.nodes.trial_client import TrialClient

PLANT: Mapping[str, str] = {SIMULATED: 'simulator', EMULATED: 'emulated_motors'}
# Simulated seconds in a second at most, between trials and in them. The estimator has to see the
# object for some time before a trial.
IDLE_PACE: Mapping[str, float] = {SIMULATED: 0.05, EMULATED: 1.0}
PACE, SLOWER = 10.0, 2.0  # the second one where samples were missed
SLOWEST = 60.0  # seconds that a simulated second may take on a busy machine
CORES = 4  # processors that emulated hardware needs in wall-clock time, at its full rate
SLOW_RATE = 250.0  # of those loops where there are fewer [Hz]
CAMERA_RATE = 250.0  # images a second at most, and one for two turns of the loops [Hz]
SETTLE = 1.5  # s
PATIENT = 50.0  # turns for which a late message is waited for, beyond which the arm is stopped
Overrides = dict[str, dict[str, object]]
PER_COMPARED = 4  # trials under feedback for each one of those that are compared


def run_laboratory(
    name: str,
    out_dir: str | Path,
    *,
    hardware: str = '',
    trials: int = 0,
    use_sim_time: bool | None = None,
    rate: float = 0.0,
    law: str = '',
) -> int:
    """
    Run the demonstration of an experiment of the laboratory.

    Parameters
    ----------
    name
        Name of the experiment, for example ``flip_up``.
    out_dir
        Folder for the figure, the recording and the logs of the nodes; made if it is not there.
    hardware
        ``simulated`` (default) or ``emulated``.
    trials
        Trials under feedback; 0 for the usual number.
    use_sim_time
        True: lockstep in simulated time. False: wall-clock time. None: wall-clock time where the
        machine keeps the clock, and for emulated hardware has processors enough; once more in
        simulated time if trials turn out to prove nothing.
    rate
        Loop rate of emulated hardware in wall-clock time [Hz]; 0 for what the processors of
        this machine carry.
    law
        The law whose trials have to succeed, one of those of the experiment; empty for its usual
        one.

    Returns
    -------
    int
        0 if every trial under feedback has succeeded, 1 if one has failed, 4 if none has failed
        but one could not be judged.

    Raises
    ------
    RollingError
        There is no such demonstration or hardware, or a node did not do its part.

    """
    hardware = hardware or SIMULATED
    experiment = find_experiment(name)
    experiment.nodes_on(hardware)
    experiment.check_law(law)
    demo = replace(LABORATORY[name], law=law) if law else LABORATORY[name]
    if hardware == REAL:
        raise ParameterError(
            'a demonstration speaks to this machine only, and knows the truth; drive hardware by '
            f'`ros2 launch rolling_robotics {name}.launch.py hardware:=real` and a goal of '
            'the action run_experiment'
        )
    need_nodes()
    few = hardware == EMULATED and (os.cpu_count() or 1) < CORES
    sim = (use_sim_time is None and few) or in_simulated_time(use_sim_time)
    out = Path(out_dir)
    out.mkdir(parents=True, exist_ok=True)
    say(experiment.text)

    def run(sim: bool) -> int:
        recording = fresh_folder(out / 'recording')
        hertz = rate or (SLOW_RATE if few and not sim else 0.0)
        overrides = _overrides(hardware, hertz, sim=sim)
        if law:  # designed before the nodes are ready
            overrides.setdefault('controller', {})['law'] = law
        seen = _perform(demo, out, recording, hardware, trials or demo.trials, overrides, sim=sim)
        seen = as_recorded(seen, recording, hardware)
        outcome = conclude(demo, seen, hardware, out)
        say(f'recording: {recording}')
        kept = hardware != EMULATED or limits_kept(recording, experiment.params_file)
        return outcome if kept else MISSED

    return judged(run, use_sim_time, sim=sim, repeats=True)


def _perform(
    demo: LaboratoryDemo,
    out: Path,
    recording: Path,
    hardware: str,
    trials: int,
    overrides: Overrides,
    *,
    sim: bool,
) -> list[TrialSeen]:
    """Start the nodes, run the trials, stop them; return what was seen."""
    from rolling_robotics.nodes.trial_client import TrialClient  # noqa: PLC0415

    with (
        brought_up(
            out,
            f'hardware: {hardware}; time: '
            + ('simulated, the nodes take turns' if sim else 'that of the clock'),
            experiment=find_experiment(demo.experiment),
            record=recording,
            hardware=hardware,
            use_sim_time=sim,
            overrides=overrides,
        ) as (domain, bringup),
        TrialClient(
            domain=domain, check=bringup.check, hardware=hardware, by_clock=not sim
        ) as client,
    ):
        begin = time.monotonic()
        client.wait_until_ready(START_TIMEOUT)
        say(f'nodes are up after {time.monotonic() - begin:.1f} s')
        if not sim:  # processes that find each other keep all of them busy
            time.sleep(SETTLE)
        if client.preparation():
            say(client.preparation())
        return _trials(client, demo, trials, hardware, sim=sim)


def _overrides(hardware: str, rate: float, *, sim: bool) -> Overrides:
    """Return the parameters that go over those of the experiment's file, by node."""
    if not sim:
        return _at_rate(rate) if rate else {}
    patient: dict[str, object] = {'lockstep_timeout': LOCKSTEP_TIMEOUT}
    turns = {'emulated_motors', 'motor_bridge'} if hardware == EMULATED else {'simulator'}
    return {
        **{name: dict(patient) for name in turns},
        PLANT[hardware]: {'rate_factor': IDLE_PACE[hardware], **patient},
    }


def _at_rate(rate: float) -> Overrides:
    """Return what lets the loops of emulated hardware run at another rate [Hz]."""
    images = min(CAMERA_RATE, rate / 2)
    say(f'wall-clock time: hardware loops at {rate:g} Hz, camera at {images:g} Hz')
    late = PATIENT / rate
    return {
        'emulated_motors': {'rate': rate, 'motors.command_timeout': late},
        'emulated_camera': {'rate': rate, 'camera.rate': images},
        'motor_bridge': {
            'rate': rate, 'drive.command_timeout': late, 'drive.state_timeout': late,
        },
        'estimator': {'rate': rate},
        # a command waits for a turn of the bridge and one of the motors, half of each in the mean
        'controller': {'rate': rate, 'state_timeout': 2 * late, 'command_delay': 1.5 / rate},
    }  # fmt: skip


def _trials(
    client: TrialClient, demo: LaboratoryDemo, trials: int, hardware: str, *, sim: bool
) -> list[TrialSeen]:
    """Run the trials of every law, those under feedback first; what proves nothing once more."""

    def set_pace(pace: float) -> None:
        if sim:
            client.set_parameters(PLANT[hardware], {'rate_factor': pace})

    def run(law: str, seed: int, length: float, pace: float = PACE) -> TrialSeen:
        off = offset(seed)
        client.place(off)
        trial = client.run_trial(
            law,
            seed,
            off,
            length,
            slower=SLOWEST if sim else 1.0,
            on_start=lambda: set_pace(pace),
        )
        set_pace(IDLE_PACE[hardware])
        say(trial_text(demo, trial))
        return trial

    seen = []
    for law, length in demo.lengths().items():
        count = trials if law == demo.law else max(1, trials // PER_COMPARED)
        for seed in range(1, count + 1):
            trial = run(law, seed, length)
            again = unjudged(demo, trial)
            seen.append(run(law, seed, length, SLOWER) if again else trial)
    return seen
