"""A run of the laboratory: a law moves the hand until its time is over."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
import os
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, TYPE_CHECKING

import numpy as np
from rolling_controller.balance.hand_over import balancing_since
from rolling_controller.laboratory.laws import subject_of
from rolling_controller.law import answered, gathered, MODE, STATE
from rolling_dynamics.arrays import Array
from rolling_dynamics.configuration import find_config
from rolling_dynamics.hybrid_contact.emulated_object import held_object
from rolling_dynamics.scenario_model import load_model
from rolling_hw_interface.arm import Chain
from rolling_hw_interface.arm_urdf import chain_from
from rolling_robotics.arrays import Series
from rolling_robotics.calibration_report import read_parameters
from rolling_robotics.demo.demo import Demo
from rolling_robotics.experiments import find_experiment, parameters_of
from rolling_robotics.hardware import EMULATED, SIMULATED
from rolling_robotics.recordings.recorded_topics import (
    read_joints,
    read_modes,
    read_poses,
    RecordedJoints,
)
from rolling_robotics.trials.chain import Imperfections
from rolling_robotics.trials.run import ANGLE, AngleHeld, CRITERIA, OnArm, PROCESSORS
from rolling_robotics.trials.trial import NodesTask, OPEN_LOOP, Record, Runner, say, Trial

if TYPE_CHECKING:
    from rolling_robotics.nodes.trial_client import TrialClient


EVERY = 5  # periods between two samples that are kept


class LockstepTrials:
    """The plant and the laws of an experiment, as its nodes have them."""

    def __init__(self, experiment: str) -> None:
        """Plan and design; takes seconds."""
        given = parameters_of(experiment, 'simulator')
        model = load_model(given['scenario_file'])
        self._dt = 1.0 / float(given['rate'])
        self._subject = subject_of(experiment, model)
        self._prepared = self._subject.prepare()
        self._plant = held_object(model, {'rolling_resistance': 0.0, **given}.__getitem__)

    def run(self, trial: Trial) -> tuple[Record, Array]:
        """
        Run one trial.

        Returns
        -------
        Record, NDArray
            The record without arrays; attitudes of the object (w, x, y, z) at its times, shape
            (k, 4).

        """
        plant, subject = self._plant, self._subject
        d = trial.disturbances
        plant.factors = {
            'inertia': d['inertia_factor'], 'rolling_resistance': d['resistance_factor'],
        }  # fmt: skip
        plant.reset(position=trial.position, rotation=trial.rotation)
        plant.release()
        subject.source.restart()
        chosen = self._prepared.law(trial.law)
        rows: list[np.ndarray] = []
        modes = [(0.0, plant.contact_mode)]

        def motion() -> Generator[tuple[float, Array], Array, None]:
            for k in range(round(trial.duration / self._dt) + 1):
                t, view, mode = k * self._dt, plant.observe(), plant.contact_mode
                if k % EVERY == 0:
                    rows.append(view.object_[:4].copy())
                x, _ = subject.source.state(view.hand, view.object_)
                touching = np.array([float(mode != 'separated')])
                u = yield t, gathered(chosen.inputs, {STATE: x, MODE: touching})
                plant.step(subject.widened(u), self._dt)
                if plant.contact_mode != modes[-1][1]:
                    modes.append((t, plant.contact_mode))
                if plant.fault:
                    break

        _, memory = answered(chosen, motion())
        since = balancing_since(chosen, memory)
        record = Record(
            times=np.arange(len(rows), dtype=float) * EVERY * self._dt,
            events=contact_events(modes),
            end=trial.duration,
            ended=f'ended early: {plant.fault}' if plant.fault else '',
            values={} if since is None else {'balancing_since': since},
        )
        return record, np.array(rows)


lockstep_trials = cache(LockstepTrials)  # of an experiment; they are prepared once


def joint_use(chain: Chain, joints: RecordedJoints) -> dict[str, Array]:
    """
    Return the maximum use of each limit, 1 where it is met, without unit; shape (joints,) each.

    Of an angle it is the distance from the middle of its range.
    """
    middle, half = (chain.high + chain.low) / 2, (chain.high - chain.low) / 2
    fractions = {
        'angle': (joints.position - middle) / half,
        'rate': joints.velocity / chain.speed,
        'torque': joints.effort / chain.torque,
    }
    return {name: np.nanmax(np.abs(fraction), axis=0) for name, fraction in fractions.items()}


def limits_kept(recording: Path, experiment: str) -> bool:
    """Return whether the joints of a recording kept their limits, and print their maxima."""
    given = read_parameters(find_config(find_experiment(experiment).params_file))
    chain = chain_from(given)
    names = chain.joint_names
    used = joint_use(chain, read_joints(recording, 'robot_joint_states', names))
    worst = {name: int(np.argmax(fraction)) for name, fraction in used.items()}
    fractions = (f'{used[n][k]:.2f} of its {n} ({names[k]})' for n, k in worst.items())
    say(f'limits of the joints, at most: {", ".join(fractions)}')
    return bool(max(fraction.max() for fraction in used.values()) <= 1)


TRUTH = 'object/ground_truth'
MODES: Mapping[str, str] = {SIMULATED: 'contact/state', EMULATED: 'contact/ground_truth'}
LOST = {'separated': 'lift_off', 'slipping': 'slip'}  # mode of the contact -> its start
CORES = 4  # processors that emulated hardware needs in wall-clock time, at its full rate
SLOW_RATE = 250.0  # of those loops where there are fewer [Hz]
CAMERA_RATE = 250.0  # images per second at most, and one for two turns of the loops [Hz]
PATIENT = 50.0  # turns for which a late message is waited for, beyond which the arm is stopped
LOCKSTEP_TIMEOUT = 30.0  # for which hardware in simulated time waits for a busy node [s]


def pitch(attitudes: Array) -> Array:
    """Return the turn about y [rad] of attitudes (w, x, y, z), without jumps; from -pi to pi."""
    q = np.atleast_2d(attitudes)
    angle = np.unwrap(2 * np.arctan2(q[:, 2], q[:, 0]))
    return np.asarray(angle - 2 * np.pi * np.round(angle[0] / (2 * np.pi)))


def tilt(attitudes: Array) -> Array:
    """Return the angle between z of the object and z of the world [rad], of quaternions wxyz."""
    q = np.atleast_2d(attitudes)
    return np.asarray(2 * np.arcsin(np.minimum(np.hypot(q[:, 1], q[:, 2]), 1.0)))


def contact_events(modes: Sequence[tuple[float, str]]) -> tuple[tuple[float, str], ...]:
    """Return time and name of what happened to the contact, lift_off or slip, by its modes."""
    out, before = [], ''
    for t, mode in modes:
        if mode != before and mode in LOST:
            out.append((t, LOST[mode]))
        before = mode
    return tuple(out)


@dataclass(frozen=True, kw_only=True)
class LaboratoryTask(NodesTask):
    """
    Task: run a law of the laboratory for some time.

    Attributes
    ----------
    angle
        From attitudes of the object, shape (k, 4), to the evaluated angle [rad], shape (k,).
    spatial
        Whether the object moves in space.

    """

    named_laws: ClassVar[bool] = True
    angle: Callable[[Array], Array] = pitch
    spatial: bool = False

    def on(self, hardware: str) -> dict[str, Any]:
        """Return the task on a kind of hardware; raise ParameterError for real hardware."""
        fields = super().on(hardware)
        # the estimator has to see the object for some time before a trial
        if hardware == EMULATED:
            fields |= {'plant': 'emulated_motors', 'idle_pace': 1.0}
            fields['workers'] = 1 if self.spatial else PROCESSORS
        return fields

    @property
    def is_slow(self) -> bool:
        """True if this machine has too few processors for emulated hardware in wall-clock time."""
        return self.hardware == EMULATED and (os.cpu_count() or 1) < CORES

    def ask(self, client: TrialClient, trial: Trial) -> Record:
        """Place the object, and have the law run."""
        if self.hardware == EMULATED:
            client.place(trial)
        else:
            client.reset(trial.position, trial.rotation, **trial.disturbances)
        return client.run(trial.law, trial.duration)

    def read(self, recording: Path, records: Sequence[Record]) -> list[Record]:
        """Return records with the true angle of the object and what happened to the contact."""
        poses, modes = read_poses(recording, TRUTH), read_modes(recording, MODES[self.hardware])
        broken = ''
        if self.hardware == EMULATED and not limits_kept(recording, self.experiment):
            broken = 'a joint passed its limits'
        out = []
        for record in records:
            begin, end = record.begin, record.begin + record.end
            keep = (poses.stamps >= begin) & (poses.stamps <= end)
            before = [(0.0, mode) for t, mode in modes if t < begin][-1:]
            during = [(t - begin, mode) for t, mode in modes if begin <= t <= end]
            out.append(
                replace(
                    self.with_angle(record, poses.stamps[keep] - begin, poses.q[keep]),
                    events=contact_events([*before, *during]),
                    ended=record.ended or broken,
                )
            )
        return out

    def with_angle(self, record: Record, times: Array, attitudes: Array) -> Record:
        """Return a record with the angle of attitudes, shape (k, 4), at its times (k,) [s]."""
        angle = self.angle(attitudes) if len(times) else np.zeros(0)
        series = Series(angle, 'rad', components=(ANGLE,), text='of the object')
        return replace(record, times=times, arrays={ANGLE: series})

    def runner(self, records: Sequence[Record] = ()) -> Runner:  # noqa: ARG002
        """
        Prepare the laws for the simulated hand, or for the emulated arm.

        In space it is a simulated hand, whatever the hardware.
        """
        if self.hardware == EMULATED and not self.spatial:
            return OnArm(name=self.experiment).run
        made = lockstep_trials(self.experiment)

        def run(trial: Trial) -> Record:
            record, attitudes = made.run(trial)
            return self.with_angle(record, record.times, attitudes)

        return run

    def overrides(self, *, use_sim_time: bool, rate: float) -> dict[str, dict[str, object]]:
        """Return what lets hardware wait for the other nodes, or its loops run at a rate [Hz]."""
        if self.hardware != EMULATED:
            return {}
        if use_sim_time:
            return {'motor_bridge': {'lockstep_timeout': LOCKSTEP_TIMEOUT}}
        rate = rate or (SLOW_RATE if self.is_slow else 0.0)
        return _at_rate(rate) if rate else {}


def _at_rate(rate: float) -> dict[str, dict[str, object]]:
    """Return what lets the loops of emulated hardware run at another rate [Hz]."""
    images = min(CAMERA_RATE, rate / 2)
    say(f'wall-clock time: hardware loops at {rate:g} Hz, camera at {images:g} Hz')
    late = PATIENT / rate
    return {
        'emulated_motors': {
            'rate': rate, 'motors.command_timeout': late, 'camera.rate': images,
        },
        'motor_bridge': {
            'rate': rate, 'drive.command_timeout': late, 'drive.state_timeout': late,
        },
        'estimator': {'rate': rate},
        # a command waits for a turn of the bridge and one of the motors, half of each in the mean
        'controller': {'rate': rate, 'state_timeout': 2 * late, 'command_delay': 1.5 / rate},
    }  # fmt: skip


def start(seed: int) -> dict[str, Any]:
    """Return start and disturbances of a trial: of full size, with signs drawn from the seed."""
    draw = Imperfections().draw(seed)
    return {
        'position': (draw.shift, 0.0),
        'rotation': (0.0, draw.turn, 0.0),
        'disturbances': {
            'inertia_factor': draw.inertia,
            'resistance_factor': draw.friction_torque,
        },
    }


def _demo(experiment: str, duration: float, compared: Mapping[str, float], **given: Any) -> Demo:
    known = {'task': LaboratoryTask(experiment=experiment), 'trials': 12, **given}
    criterion = known.pop('criterion', CRITERIA.get(experiment))
    return Demo(duration=duration, compared=compared, criterion=criterion, start=start, **known)


FLIP_UP = _demo('flip_up', 7.0, {'replay_balance': 7.0, OPEN_LOOP: 7.0})
REST = 28.0  # s; without feedback it is at rest after 20 to 24 s
DAMPING = _demo('damping', 4.0, {OPEN_LOOP: REST}, trials=4, faster=5.0)
THROW_CATCH = _demo('throw_catch', 5.0, {OPEN_LOOP: 5.0})
BALANCE_3D = _demo(
    'balance_3d',
    5.0,
    {OPEN_LOOP: 1.0},
    task=LaboratoryTask(experiment='balance_3d', angle=tilt, spatial=True),
    criterion=AngleHeld(goal=0.0),
)
LABORATORY: Mapping[str, Demo] = MappingProxyType(
    {demo.task.experiment: demo for demo in (DAMPING, FLIP_UP, THROW_CATCH, BALANCE_3D)}
)
