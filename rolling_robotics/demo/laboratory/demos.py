"""What the demonstrations of the laboratory do and when a trial has succeeded, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import math
from types import MappingProxyType

from rolling_dynamics.arrays import Array
from rolling_dynamics.hybrid_contact.laboratory import FLAT, UPRIGHT
from rolling_robotics.demo.laboratory.trial_record import pitch, tilt
from rolling_robotics.trials.judge import Criterion

FEEDBACK = 'closed_loop'


@dataclass(frozen=True, kw_only=True)
class LaboratoryDemo(Criterion):
    """
    Trials of an experiment.

    Attributes
    ----------
    experiment
        Name of the experiment.
    angle
        From attitudes of the object, shape (k, 4), to the angle that matters [rad], shape (k,).
    angle_text
        What that angle is.
    compared
        Laws beside that, with the length of a trial [s].
    law
        The law whose trials have to succeed; beside another one ``closed_loop`` is compared too.
    spatial
        Whether the object moves in space.
    faster
        How many times sooner than under the first of the compared laws the object has to be at
        rest; 0 where that is not asked.
    trials
        Trials of ``law`` by default; of the others there is one for each four.

    """

    experiment: str
    angle: Callable[[Array], Array]
    angle_text: str
    compared: Mapping[str, float]
    law: str = FEEDBACK
    spatial: bool = False
    faster: float = 0.0
    trials: int = 12

    def lengths(self) -> dict[str, float]:
        """Return the length of a trial by law [s]."""
        return {self.law: self.duration, FEEDBACK: self.duration, **self.compared}


TURN = 'turn of the object about y [rad]'
DAMPING = LaboratoryDemo(
    experiment='damping',
    angle=pitch,
    angle_text=TURN,
    goal=FLAT,
    tolerance=0.03,  # a tenth of the turn at the start
    duration=4.0,
    compared={'open_loop': 28.0},  # at rest after 20 to 24 s
    faster=5.0,
    trials=4,
)
FLIP_UP = LaboratoryDemo(
    experiment='flip_up',
    angle=pitch,
    angle_text=TURN,
    goal=UPRIGHT,
    compared={'replay_balance': 7.0, 'open_loop': 7.0},
)
THROW_CATCH = LaboratoryDemo(
    experiment='throw_catch',
    angle=pitch,
    angle_text=TURN,
    goal=UPRIGHT,
    every=math.pi,
    duration=5.0,
    compared={'open_loop': 5.0},
    flights=1,
    may_slip=True,
)
BALANCE_3D = LaboratoryDemo(
    experiment='balance_3d',
    angle=tilt,
    angle_text='tilt of the axis of the object [rad]',
    goal=0.0,
    duration=5.0,
    compared={'open_loop': 1.0},
    spatial=True,
)
LABORATORY: Mapping[str, LaboratoryDemo] = MappingProxyType(
    {demo.experiment: demo for demo in (DAMPING, FLIP_UP, THROW_CATCH, BALANCE_3D)}
)
