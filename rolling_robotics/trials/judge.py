"""When a trial in the laboratory has succeeded: one criterion, in lockstep and through ROS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
import math
from types import MappingProxyType
from typing import Any

import numpy as np
from rolling_controller.laboratory.experiment_model import subject_of
from rolling_controller.law import Law
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario_model import load_model
from rolling_hw_interface.arm_chain import ArmModel
from rolling_planner.laboratory.laboratory import FLAT, Laboratory, UPRIGHT
from rolling_robotics.trials.trial import Criterion, Motion, Outcome, Record

ANGLE = 'angle'  # of the object, in a record
# Longest time without a sample [s]: to leave the tolerance of 0.05 rad and to be back unseen, an
# object would have to turn at over 20 rad/s^2, which one that rocks or is balanced does not.
SLACK = 0.2
FATAL = ('edge', 'missed', 'painleve')  # events that end every trial


@dataclass(frozen=True, kw_only=True)
class AngleHeld(Criterion):
    """
    The object comes to an angle, without losing the plate, and is held there.

    Attributes
    ----------
    goal, tolerance
        Angle of the object in the end, and its greatest distance from there [rad].
    every
        Turn after which the object looks the same, where any of these will do [rad].
    duration, last
        Length of a trial, and of its end in which the angle is judged [s].
    flights
        How often the object may leave the plate; it has to, as often.
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
        """Judge the angle of the object, and what happened to the contact."""
        angles = np.ravel(record[ANGLE]) if record.arrays else np.zeros(0)
        judge = Judge(replace(self, duration=record.end))
        events = [(t, 0, name, 0.0) for t, name in record.events]
        seen = zip(record.times.tolist(), angles.tolist(), strict=True)
        looks = [(t, 1, '', angle) for t, angle in seen]
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
        """Begin to watch."""
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
        """Judge what can only be known in the end."""
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


LAWS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        'damping': ('open_loop', 'closed_loop'),
        'flip_up': ('open_loop', 'replay_balance', 'closed_loop'),
        'throw_catch': ('open_loop', 'closed_loop'),
    }
)


def setting(name: str) -> dict[str, Any]:
    """Return the fields of :class:`LaboratorySetup` of an experiment but its laws, at once."""
    if name not in CRITERIA:
        raise ParameterError(f'no experiment {name!r}; there are: {", ".join(CRITERIA)}')
    laboratory, known = Laboratory.of_paper(), vars(CRITERIA[name])
    if name == 'throw_catch':  # it is caught 0.2 m on, and the hand goes further to balance it
        known = {**known, 'arm': ArmModel(base=THROWING_BASE)}
    start = _start(name, laboratory)
    return {**known, 'name': name, 'laboratory': laboratory, 'start': start, 'duration': DURATION}


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
