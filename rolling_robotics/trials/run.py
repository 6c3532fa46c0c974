"""Trials of an experiment on the emulated hardware, over seeds, and their criterion of success."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
import math
import os
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from rolling_controller import law as inputs
from rolling_controller.laboratory.laws import subject_of
from rolling_controller.law import Law
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.emulated_object import Observation as Truth
from rolling_dynamics.scenario_model import load_model
from rolling_hw_interface.arm import ArmModel
from rolling_planner.laboratory.laboratory import FLAT, Laboratory, turn_about_y, UPRIGHT
from rolling_robotics.arrays import Series
from rolling_robotics.trials.chain import HardwareInterface, Imperfections, Observation, PERIOD
from rolling_robotics.trials.trial import (
    Criterion,
    Motion,
    Outcome,
    Record,
    run_trials,
    seeded,
    Task,
    Trial,
)

ANGLE = 'angle'  # of the object, in a record
# Maximum time without a sample [s]. To leave the tolerance of 0.05 rad and return undetected, an
# object would need over 20 rad/s^2, more than one that rocks or is balanced has.
SLACK = 0.2
FATAL = ('edge', 'missed', 'painleve')  # events that end every trial


@dataclass(frozen=True, kw_only=True)
class AngleHeld(Criterion):
    """
    Criterion: the object reaches an angle in contact with the plate, and is held there.

    Attributes
    ----------
    goal, tolerance
        Final angle of the object, and the maximum distance from it [rad].
    every
        Angle of symmetry of the object, where any equivalent one is accepted [rad].
    duration, last
        Length of a trial, and of its end in which the angle is evaluated [s].
    flights
        Number of times that the object has to leave the plate.
    may_slip
        Whether the contact may slip.

    """

    goal: float
    tolerance: float = 0.05
    every: float = math.inf
    duration: float = 7.0
    last: float = 2.0
    flights: int = 0
    may_slip: bool = False

    def outcome(self, record: Record) -> Outcome:
        """Evaluate the angle of the object, and the events of the contact."""
        angles = np.ravel(record[ANGLE]) if record.arrays else np.zeros(0)
        judge = Judge(replace(self, duration=record.end))
        events = [(t, 0, name, 0.0) for t, name in record.events]
        sampled = zip(record.times.tolist(), angles.tolist(), strict=True)
        looks = [(t, 1, '', angle) for t, angle in sampled]
        for t, is_look, name, angle in sorted(events + looks):
            if is_look:
                judge.look(t, angle)
            else:
                judge.happened(t, name)
        judge.close()
        late = record.times > record.end - self.last
        rest, since = self.rest_time(record.times, angles), record.values.get('balancing_since')
        balanced = since is not None and math.isfinite(since)
        return Outcome(
            failure=record.ended or judge.failure,
            error=float(np.abs(self.error(angles[late])).max()) if late.any() else math.nan,
            tolerance=self.tolerance,
            unit='rad',
            inconclusive=record.missing(SLACK) or record.inconclusive,
            time=rest,
            text=f'at rest after {rest:.2f} s'
            + (f', balancing since {since:.3f} s' if balanced else ''),
        )

    def planned(self, duration: float) -> Motion:
        """Return the goal over a trial of a duration [s]."""
        return {ANGLE: (np.array([0.0, duration]), np.full(2, self.goal))}

    def error(self, angles: Array) -> Array:
        """Return angles from the goal [rad], in the shape of ``angles``."""
        away = np.asarray(angles, dtype=float) - self.goal
        if not math.isfinite(self.every):
            return away
        return np.asarray(away - self.every * np.round(away / self.every))

    def rest_time(self, times: Array, angles: Array) -> float:
        """
        Return when [s] angles [rad], shape (N,), come to within the tolerance for good.

        Infinite if they never do.
        """
        away = np.flatnonzero(np.abs(self.error(angles)) > self.tolerance)
        if not away.size:
            return 0.0
        after = int(away[-1]) + 1
        return float(times[after]) if after < len(times) else math.inf


class Judge:
    """
    Watches a trial.

    Attributes
    ----------
    failure
        What went wrong first; empty as long as nothing did.

    """

    def __init__(self, criterion: AngleHeld) -> None:
        """Start to watch."""
        self._criterion, self._flights = criterion, 0
        self._judged_from = criterion.duration - criterion.last
        self.failure = ''

    def happened(self, t: float, *events: str) -> None:
        """Take what happened to the contact at a time [s]: ``lift_off``, ``slip``, ``FATAL``."""
        c = self._criterion
        self._flights += events.count('lift_off')
        if self.failure:
            return
        fatal = [name for name in events if name in FATAL]
        if fatal:
            self.failure = f'{fatal[0]} at {t:.3f} s'
        elif self._flights > c.flights:
            self.failure = f'contact lost at {t:.3f} s'
        elif 'slip' in events and not c.may_slip:
            self.failure = f'friction cone left at {t:.3f} s'

    def look(self, t: float, angle: float) -> None:
        """Take the angle of the object [rad] at a time [s]."""
        if self.failure or t <= self._judged_from:
            return
        away = float(self._criterion.error(np.asarray(angle)))
        if not abs(away) <= self._criterion.tolerance:
            self.failure = f'{away:+.3f} rad off the goal at {t:.3f} s'

    def close(self) -> None:
        """Evaluate conditions at the end."""
        if not self.failure and self._flights != self._criterion.flights:
            self.failure = f'{self._flights} flights, {self._criterion.flights} are wanted'


DURATION = 7.0  # s
TURNED = 0.3  # rad: from where the rocking of the object is damped
THROWING_BASE = (-0.35, -0.25)  # m, of the arm that throws
REST = 0.1  # fraction of that below which it rests


@dataclass(frozen=True, eq=False, kw_only=True)
class LaboratorySetup(AngleHeld):
    """
    A laboratory before its trials; the angle is the turn of the object in the world.

    Attributes
    ----------
    name, laboratory
        The experiment, and its object and plate.
    start
        State of planar rolling from which it is believed to start, at rest.
    laws
        Makers of the laws that are compared, by name.
    arm
        Which carries the plate.

    """

    name: str
    laboratory: Laboratory
    start: Array
    laws: Mapping[str, Callable[[], Law[Any]]]
    arm: ArmModel = field(default_factory=ArmModel)


# A thrown object turns over in flight: upright is every half turn.
CRITERIA: Mapping[str, AngleHeld] = MappingProxyType(
    {
        'damping': AngleHeld(goal=FLAT, tolerance=REST * TURNED),
        'flip_up': AngleHeld(goal=UPRIGHT),
        'throw_catch': AngleHeld(goal=UPRIGHT, every=math.pi, flights=1, may_slip=True),
    }
)


def _start(name: str, laboratory: Laboratory) -> Array:
    if name == 'flip_up':
        return laboratory.rest(FLAT, -laboratory.circumference / 4)
    return laboratory.rest(FLAT + TURNED * (name == 'damping'))


def setting(name: str) -> dict[str, Any]:
    """Return the fields of :class:`LaboratorySetup` of an experiment but its laws, at once."""
    if name not in CRITERIA:
        raise ParameterError(f'no experiment {name!r}; there are: {", ".join(CRITERIA)}')
    laboratory, known = Laboratory.of_paper(), vars(CRITERIA[name])
    if name == 'throw_catch':  # it is caught 0.2 m on, and the hand goes further to balance it
        known = {**known, 'arm': ArmModel(base=THROWING_BASE)}
    start = _start(name, laboratory)
    return {**known, 'name': name, 'laboratory': laboratory, 'start': start, 'duration': DURATION}


@lru_cache(maxsize=1)
def build(name: str) -> LaboratorySetup:
    """
    Plan an experiment of the paper's object and plate and design its laws; takes seconds.

    Parameters
    ----------
    name
        ``damping``, ``flip_up`` or ``throw_catch``.

    Raises
    ------
    ParameterError
        There is no such experiment.

    """
    known = setting(name)
    subject = subject_of(name, load_model(f'laboratory_{name}'))
    return LaboratorySetup(laws=subject.prepare().laws, **known)


OTHERS = ('estimate', 'control', 'hand', 'object')
EVERY = 10  # periods between two samples that are kept


class Moment(NamedTuple):
    """
    One period of a trial.

    Attributes
    ----------
    time
        Time at its start, since the release of the object [s].
    held
        Whether the object is held.
    view, truth, plant
        True states then: of everything, of rolling in the plane, shape (11,), and of the hybrid
        plant.
    estimate
        The estimate then, shape (11,), or None.
    sent
        The command that answered it, shape (3,), or None.
    control
        Accelerations of the hand in the period, shape (3,).
    events
        Events of the contact in it.
    angle
        Angle of the object in the world at its end [rad].
    clipped
        Periods so far in which a limit of the joints changed a command.

    """

    time: float
    held: bool
    view: Truth
    truth: Array
    plant: Array
    estimate: Array | None
    sent: Array | None
    control: Array
    events: tuple[str, ...]
    angle: float
    clipped: int


def moments(
    experiment: LaboratorySetup,
    law_name: str,
    seed: int,
    imperfections: Imperfections,
    judge: Judge | None = None,
    *,
    exact: bool = False,
    to_the_end: bool = False,
) -> list[Moment]:
    """
    Return the periods of a trial of a random seed, the warm-up first.

    An evaluated trial ends where it fails, unless ``to_the_end``. Where ``exact``, the law is
    given the true state and inertia instead of the estimate.
    """
    law = experiment.laws[law_name]()

    def motion() -> Generator[tuple[float, Array], Array, list[Moment]]:
        place = experiment.laboratory, experiment.start
        chain = HardwareInterface(*place, imperfections, seed, experiment.arm)
        model, truth, out = experiment.laboratory.model()[0], chain.truth, []
        machine, first = chain.machine.emulation, -round(imperfections.warm_up / PERIOD)
        for k in range(first, round(experiment.duration / PERIOD)):
            t, held, view, plant = k * PERIOD, k < 0, chain.view, machine.state.x
            machine.held = held
            estimate, sent = chain.sense(), None
            if exact:
                estimate = Observation(truth, touching=True, inertia=chain.draw.inertia)
            if held:
                sent = np.zeros(3)
            elif estimate is not None:
                signals = {
                    inputs.STATE: estimate.x,
                    inputs.MODE: np.array([float(estimate.touching)]),
                    'inertia': np.array([estimate.inertia]),
                }
                sent = yield t, inputs.gathered(law.inputs, signals)
            chain.act(sent)
            before, truth = truth, chain.truth
            now = Moment(
                time=t,
                held=held,
                view=view,
                truth=before,
                plant=plant,
                estimate=None if estimate is None else estimate.x,
                sent=sent,
                control=machine.u,
                events=chain.machine.events,
                angle=float(turn_about_y(model, truth)),
                clipped=chain.bridge.clipped,
            )
            out.append(now)
            if judge is not None and not held:
                judge.happened(t + PERIOD, *now.events)
                judge.look(t + PERIOD, now.angle)
                if judge.failure and not to_the_end:
                    return out
        if judge is not None:
            judge.close()
        return out

    return inputs.answered(law, motion())[0]


PROCESSORS = len(os.sched_getaffinity(0))


@dataclass(frozen=True, kw_only=True)
class OnArm(Task):
    """
    An experiment on the emulated arm.

    Attributes
    ----------
    name
        Name of the experiment, see :func:`build`.
    imperfections
        Sizes of the imperfections; those published by default.
    to_the_end
        Whether a trial continues after a failure.

    """

    name: str
    imperfections: Imperfections = field(default_factory=Imperfections)
    to_the_end: bool = False

    def run(self, trial: Trial) -> Record:
        """
        Carry out a trial, for the experiment's time where it has none of its own.

        Returns
        -------
        Record
            Every 10 ms from the release of the object on: the true turn ``angle`` of the object,
            true and estimated ``state`` and ``estimate`` of planar rolling, commands ``control``,
            poses ``hand`` and ``object`` in the world, q (w, x, y, z) and p [m]; no numbers where
            there was no estimate. ``ended`` is why it failed; the value ``limited`` is the number
            of periods in which a limit of the joints changed a command.

        """
        experiment = build(self.name)
        experiment = replace(experiment, duration=trial.duration or experiment.duration)
        model, samples, events = experiment.laboratory.model()[0], [], []
        nothing, judge, limited = np.full(model.state.size, np.nan), Judge(experiment), 0
        given = experiment, trial.law, trial.seed, self.imperfections, judge
        for moment in moments(*given, to_the_end=self.to_the_end):
            if moment.held:
                continue
            if round(moment.time / PERIOD) % EVERY == 0:
                estimate = nothing if moment.estimate is None else moment.estimate
                sent = np.full(3, np.nan) if moment.sent is None else moment.sent
                poses = moment.view.hand[:7], moment.view.object_[:7]
                samples.append((moment.time, moment.truth, estimate, sent, *poses))
            limited = moment.clipped
            events += [(moment.time, name) for name in moment.events]
        times, states, *others = (np.array(c) for c in zip(*samples, strict=True))
        angle = Series(np.unwrap(turn_about_y(model, states)), 'rad', components=(ANGLE,))
        return Record(
            times=times,
            arrays={
                ANGLE: angle,
                'state': Series(states, ''),
                **{name: Series(values, '') for name, values in zip(OTHERS, others, strict=True)},
            },
            events=tuple(events),
            end=experiment.duration,
            ended=judge.failure,
            values={'limited': limited},
        )


def run_many(
    name: str,
    laws: Iterable[str],
    seeds: Iterable[int],
    imperfections: Imperfections | None = None,
    *,
    to_the_end: bool = False,
    duration: float | None = None,
    workers: int | None = None,
) -> Iterator[Record]:
    """
    Run trials of an experiment, in as many processes as there are processors.

    Parameters
    ----------
    name, laws
        Which experiment, and in which ways; see :func:`build`.
    seeds
        Of the trials of each law.
    imperfections, to_the_end, duration
        See :class:`OnArm`; the experiment's duration [s] if None.
    workers
        Number of processes; 1 runs everything in this one.

    Returns
    -------
    Iterator of Record
        Law by law, in the order of the seeds.

    """
    task = OnArm(name=name, imperfections=imperfections or Imperfections(), to_the_end=to_the_end)
    one, seeds = Trial(task=task, criterion=CRITERIA[name], duration=duration or 0.0), tuple(seeds)
    trials = [trial for law in laws for trial in seeded(replace(one, law=law), seeds)]
    return run_trials(trials, workers=workers or PROCESSORS)
