"""
The experiments of the laboratory in the plane, with what success means in each.

Woodruff & Lynch, Sections VIII-C (damping), VIII-D (flip-up) and VIII-E (throw and catch).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import math
from types import MappingProxyType
from typing import Any

from rolling_controller.laboratory.experiment_model import subject_of
from rolling_controller.law import Law
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario_model import load_model
from rolling_hw_interface.arm_chain import ArmModel
from rolling_planner.laboratory.laboratory import FLAT, Laboratory, UPRIGHT
from rolling_robotics.trials.judge import AngleHeld

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
