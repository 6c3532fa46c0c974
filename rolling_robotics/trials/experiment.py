"""One experiment of the laboratory: where it starts, its laws, and what success means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rolling_controller.laboratory.laws import ExperimentLaw
from rolling_dynamics.arrays import Array
from rolling_dynamics.hybrid_contact.laboratory import Laboratory
from rolling_hw_interface.arm_model import ArmModel
from rolling_robotics.trials.judge import Criterion


@dataclass(frozen=True, eq=False, kw_only=True)
class Experiment(Criterion):
    """
    An experiment; the angle is the turn of the object in the world.

    Attributes
    ----------
    name, laboratory
        Which, and with what.
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
    laws: Mapping[str, Callable[[], ExperimentLaw]]
    arm: ArmModel = field(default_factory=ArmModel)
