"""What a demonstration does beyond its experiment, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rolling_dynamics.scenario import Scenario
from rolling_robotics.demo.positions import Places
from rolling_robotics.demo.record import Record
from rolling_robotics.demo.request import PlanRequest

RUNS: Mapping[str, Mapping[str, object]] = {
    'open loop': {'open_loop': True},
    'closed loop': {'open_loop': False},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Demo:
    """
    What is planned, and how the executions begin.

    Attributes
    ----------
    experiment
        Name of the experiment, or a scenario file.
    request
        What is asked of the planner.
    places
        From states to points on the floor or on the plate.
    position_off, rotation_off
        By how much the executions start off in position [m] and attitude [rad].
    plant_file
        Scenario of the plant, where it differs from the one that the plan is made for.
    plant_text
        How it differs.
    watched
        Topics that the figure needs, by name: ``joints`` or ``force``.
    pace
        Simulated seconds in a second at most, in simulated time.
    draw
        Writes the figure, a PNG file.
    law
        Law by which the controller follows the plan; empty for its usual one.
    runs
        Label of an execution -> parameters of the controller for it.

    """

    experiment: str
    request: Callable[[Scenario], PlanRequest]
    places: Callable[[Scenario], Places]
    position_off: tuple[float, float]
    rotation_off: tuple[float, float, float]
    plant_file: str = ''
    plant_text: str = ''
    watched: Mapping[str, str]
    pace: float = 1.0
    draw: Callable[[Record, Path], None]
    law: str = ''
    runs: Mapping[str, Mapping[str, object]] = field(default_factory=lambda: RUNS)

    def perturbation_text(self) -> str:
        """Return how the executions begin, in words."""
        parts = []
        if any(self.position_off):
            x, y = (1e3 * v for v in self.position_off)
            parts.append(f'({x:g}, {y:g}) mm off in position')
        if any(self.rotation_off):
            turn = ', '.join(f'{v:g}' for v in self.rotation_off)
            parts.append(f'({turn}) rad off in attitude')
        return '; '.join([*parts, *([self.plant_text] if self.plant_text else [])]) or 'as planned'


ROBOT_WATCHED = {'robot/state': 'joints', 'contact/wrench': 'force'}
