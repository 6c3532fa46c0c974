"""The demonstrations of the laboratory: what is compared, and when a trial has succeeded."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from rolling_robotics.demo.demo import Demo
from rolling_robotics.demo.laboratory.task import LaboratoryTask, tilt
from rolling_robotics.trials.imperfections import Imperfections
from rolling_robotics.trials.judge import AngleHeld
from rolling_robotics.trials.prepare import CRITERIA
from rolling_robotics.trials.trial import OPEN_LOOP


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


FLIP_UP = Demo(
    experiment='flip_up',
    task=LaboratoryTask(experiment='flip_up'),
    criterion=CRITERIA['flip_up'],
    duration=7.0,
    compared={'replay_balance': 7.0, OPEN_LOOP: 7.0},
    start=start,
    trials=12,
)
DAMPING = Demo(
    experiment='damping',
    task=LaboratoryTask(experiment='damping'),
    criterion=CRITERIA['damping'],
    duration=4.0,
    compared={OPEN_LOOP: 28.0},  # at rest after 20 to 24 s
    start=start,
    trials=4,
    faster=5.0,
)
THROW_CATCH = Demo(
    experiment='throw_catch',
    task=LaboratoryTask(experiment='throw_catch'),
    criterion=CRITERIA['throw_catch'],
    duration=5.0,
    compared={OPEN_LOOP: 5.0},
    start=start,
    trials=12,
)
BALANCE_3D = Demo(
    experiment='balance_3d',
    task=LaboratoryTask(experiment='balance_3d', angle=tilt, spatial=True),
    criterion=AngleHeld(goal=0.0),
    duration=5.0,
    compared={OPEN_LOOP: 1.0},
    start=start,
    trials=12,
)
LABORATORY: Mapping[str, Demo] = MappingProxyType(
    {demo.experiment: demo for demo in (DAMPING, FLIP_UP, THROW_CATCH, BALANCE_3D)}
)
