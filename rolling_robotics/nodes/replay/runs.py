"""
Runs of the laboratory, computed again: the same states through the same laws.

The controller logs which state each command answered and when it was to act. Recorded with the
states and with its parameters, that is all on which its commands depend: they come out bit by bit,
in wall-clock time as well as in simulated time. Plans and laws are computed again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from rolling_controller.answers import Answers
from rolling_controller.laboratory.laws import PREDICTIVE, subject_of
from rolling_controller.laboratory.run_log import (
    BEGIN,
    NO_STATE,
    RESTARTED,
    SAFE,
    Step,
    steps_in,
    TOUCHING,
)
from rolling_controller.law import Law
from rolling_controller.motion_watch import supervision
from rolling_controller.nodes.controlled_laboratory import TABLE
from rolling_controller.nodes.machines import braking, hand_velocity
from rolling_controller.predictive.law import PredictiveLaw
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.fingerprint import other_machine, PORTABLE
from rolling_dynamics.scenario_model import load_model
from rolling_node_kit.cdr import (
    ACCEL,
    decode_odometry,
    decode_stamped,
    hand_control,
)
from rolling_node_kit.parameters import FINGERPRINT
from rolling_robotics.nodes.recorded import Recorded

Timed = tuple[int, Array]  # stamp [ns] and values
NOT_AGAIN = (
    'the commands of predictive control cannot be computed again: they depend on when '
    'each prediction was ready'
)


class Answer(NamedTuple):
    """
    One command or estimate.

    Attributes
    ----------
    stamp
        Its time [ns].
    computed
        Its numbers; None where what they are computed from is not in the recording.
    recorded
        Those in the recording; None where it has none.

    """

    stamp: int
    computed: Array | None
    recorded: Array | None


@dataclass
class Replayed:
    """
    One execution, run or stream, computed again.

    Attributes
    ----------
    title
        What it is.
    noun
        What was computed.
    fingerprint
        That of the machine in the recording; the empty string if there is none.
    answers
        Each of them.

    """

    title: str
    noun: str = 'commands'
    fingerprint: str = ''
    answers: list[Answer] = field(default_factory=list)

    @property
    def _pairs(self) -> list[tuple[Array, Array]]:
        return [
            (a.computed, a.recorded)
            for a in self.answers
            if a.computed is not None and a.recorded is not None
        ]

    @property
    def recorded(self) -> int:
        """Number of answers that are recorded and computed."""
        return len(self._pairs)

    @property
    def equal(self) -> int:
        """Number of answers that are equal: bit by bit, or to 1e-9 of another machine's."""
        pairs = self._pairs
        if not self.rounding:
            return sum(a.tobytes() == b.tobytes() for a, b in pairs)
        largest = max((float(np.abs(b).max()) for _, b in pairs), default=0.0)
        bound = PORTABLE * max(1.0, largest)  # [SI unit]
        return sum(bool(np.abs(a - b).max() <= bound) for a, b in pairs)

    @property
    def rounding(self) -> str:
        """Reason why the machine that recorded may round otherwise; empty if it does not."""
        return other_machine(self.fingerprint)

    @property
    def difference(self) -> float:
        """Greatest difference of a component."""
        return max((float(np.abs(a - b).max()) for a, b in self._pairs), default=0.0)

    @property
    def lost(self) -> int:
        """Number of answers that could not be computed."""
        return sum(a.computed is None for a in self.answers)

    @property
    def same(self) -> bool:
        """True if it was computed whole, and every recorded value came out the same."""
        return not self.lost and 0 < self.equal == self.recorded

    def lines(self) -> Iterator[str]:
        """Yield what to report to a user."""
        how = f'to {PORTABLE:g}' if self.rounding else 'bit by bit'
        yield (
            f'{self.title}: {self.equal} of {self.recorded} {self.noun} equal {how}, '
            f'largest difference {self.difference:.3g}'
        )
        if self.rounding:
            yield f'  not compared bit by bit: {self.rounding}'
        if self.lost:
            yield f'  {self.lost} not computed, a state that they took is not in the recording'
        missing = len(self.answers) - self.lost - self.recorded
        if missing:
            yield f'  {missing} not compared, they are not in the recording'


def recorded_values(recorded: Recorded, topic: str) -> Iterator[Timed]:
    """
    Yield stamps and values of accelerations or odometry, in the order of arrival.

    Raises
    ------
    ParameterError
        The topic holds other messages.

    """
    kind = recorded.topics.get(recorded.topic(topic) or '', '')
    for _, _, data in recorded.raw([topic]):
        if kind.endswith('/Odometry'):
            yield decode_odometry(data)[:2]
        elif kind.endswith('/AccelStamped'):
            accel = decode_stamped(data, ACCEL)
            yield accel.stamp, hand_control(accel.values)
        else:
            raise ParameterError(f'{recorded.path}: {topic} holds {kind}, which is not replayed')


def recorded_by_stamp(recorded: Recorded, topic: str) -> dict[int, deque[Array]]:
    """Return the values of a topic by their stamps [ns], in their order."""
    out: dict[int, deque[Array]] = defaultdict(deque)
    for stamp, values in recorded_values(recorded, topic):
        out[stamp].append(values)
    return out


STEPS, SETTINGS = 'controller/steps', 'controller/settings'
COMMANDS, HAND, OBJECT = 'hand/accel_command', 'hand/odometry', 'object/odometry'


def replay_runs(recorded: Recorded, say: Callable[[str], None] = lambda _: None) -> list[Replayed]:
    """
    Compute the commands of every run again.

    Parameters
    ----------
    recorded
        With the log, the parameters and the states of the controller.
    say
        Called with what is at work.

    Returns
    -------
    list of Replayed
        Those that begin in the recording; empty if there was no run of the laboratory.

    Raises
    ------
    ParameterError
        The beginning of a run is missing.

    """
    steps = [s for _, _, m in recorded.messages([STEPS]) for s in steps_in(m.data)]
    settings = recorded.settings(SETTINGS, TABLE) if steps else []
    if not settings:
        return []
    first = next((k for k, step in enumerate(steps) if step.flags & BEGIN), len(steps))
    steps = steps[first:]  # those before are of a run that began before the recording
    if not steps or sum(step.flags & BEGIN for step in steps) != len(settings):
        raise ParameterError(
            f'{recorded.path}: the log of the controller lacks the beginning of a run; start the '
            'recorder before the run'
        )
    say('laws of the laboratory')
    laboratory = _Laboratory(recorded, settings[0])
    commands = recorded_by_stamp(recorded, COMMANDS)
    say('commands')
    runs: list[Replayed] = []
    for step, at, u in laboratory.commands(steps, settings):
        if step.flags & BEGIN:
            values = settings[len(runs)]
            title = f'run {len(runs) + 1}, {values["law"]}'
            runs.append(Replayed(title, fingerprint=values.get(FINGERPRINT, '')))
        waiting = commands[at]
        runs[-1].answers.append(Answer(at, u, waiting.popleft() if waiting else None))
    return runs


class _Laboratory:
    """Controller of a recorded run, and the states that it read."""

    def __init__(self, recorded: Recorded, values: Mapping[str, Any]) -> None:
        """Load the scenario, plan and design, and read the states."""
        model = load_model(values['scenario_file'])
        plan_file = values.get('plan_file', '')  # older recordings have none
        self._subject = subject_of(values['experiment'], model, plan_file, self._predicting)
        self._brake_time, self._errors = values['brake_time'], model.errors
        self._limits = self._subject.limits(model.control_limits)
        self._velocity = hand_velocity(self._subject.system.state)
        self._prepared = self._subject.prepare()
        raw = (recorded.raw([topic]) for topic in (HAND, OBJECT))
        # poses and twists with their covariances, by stamps
        self._bodies = [
            {s: known for s, *known in (decode_odometry(d) for *_, d in m)} for m in raw
        ]
        self._read: tuple[int, Array] | None = None  # what was read last, and its stamp [ns]

    def commands(
        self, steps: Iterable[Step], settings: Iterable[Mapping[str, Any]]
    ) -> Iterator[tuple[Step, int, Array | None]]:
        """Yield each step, and stamp [ns] and six accelerations of its command, None if lost."""
        subject, runs, lost = self._subject, iter(settings), False
        for step in steps:
            if step.flags & BEGIN:
                values, lost = next(runs), False
                answers = self._begin(values)
            lost = lost or not self._is_recorded(step.stamp)
            if lost:  # a state is read from the one before, a law may remember it
                yield step, step.acts, None
                continue
            if step.flags & RESTARTED:
                subject.source.restart()
            x = self._state(step.stamp)
            if step.flags & SAFE:
                at, u = step.acts, self._safe(x)
            else:
                touching = bool(step.flags & TOUCHING)
                at, x = answers.acting_state(
                    step.stamp,
                    x,
                    step.acts,
                    touching=touching,
                    covariances=np.array([found[step.stamp][1] for found in self._bodies]),
                )
                u = answers.sent(at, answers.command(at, x, touching=touching))
            yield step, at, subject.widened(u)

    def _begin(self, values: Mapping[str, Any]) -> Answers:
        """Return the answers of a run."""
        if values['law'] == PREDICTIVE and not values['use_sim_time']:
            raise ParameterError(NOT_AGAIN)
        subject, self._brake_time = self._subject, values['brake_time']
        subject.source.restart()
        self._read = None
        known = {'noisy_states': False, 'state_period': 0.0, **values}  # older ones have none
        given = subject.system, subject.params, self._limits, known.__getitem__
        watched = supervision(*given, errors=self._errors)
        return Answers(self._prepared.law(values['law']), *watched)

    def _predicting(self, law: PredictiveLaw) -> Law[Any]:
        """Return a predictive law as the controller has it in simulated time."""
        law.safe = self._safe
        return law

    def _safe(self, x: Array) -> Array:
        return braking(x[self._velocity], self._brake_time, self._limits)

    def _state(self, stamp: int) -> Array:
        """Return the state at a stamp [ns], read once as the controller did."""
        if stamp == NO_STATE:
            return self._subject.start
        if self._read is None or self._read[0] != stamp:
            x, _ = self._subject.source.state(*(found[stamp][0] for found in self._bodies))
            self._read = stamp, x
        return self._read[1]

    def _is_recorded(self, stamp: int) -> bool:
        return stamp == NO_STATE or all(stamp in found for found in self._bodies)
