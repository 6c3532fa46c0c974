"""What each demonstration does beyond its experiment, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_robotics.demo import places, request
from rolling_robotics.demo.record import Record

FIGURES = 'rolling_robotics.demo.figures'


@dataclass(frozen=True, kw_only=True, slots=True)
class Demo:
    """
    What is planned, and how the executions begin.

    Attributes
    ----------
    experiment
        Name of the experiment.
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
    figure
        Module of ``figures`` that draws it.

    """

    experiment: str
    request: Callable[[Scenario], request.PlanRequest]
    places: Callable[[Scenario], places.Places]
    position_off: tuple[float, float]
    rotation_off: tuple[float, float, float]
    plant_file: str = ''
    plant_text: str = ''
    watched: Mapping[str, str]
    pace: float = 1.0
    figure: str

    def perturbation_text(self) -> str:
        """Return how the executions begin, in words."""
        parts = []
        if any(self.position_off):
            x, y = (1e3 * v for v in self.position_off)
            parts.append(f'({x:g}, {y:g}) mm off in position')
        if any(self.rotation_off):
            turn = ', '.join(f'{v:g}' for v in self.rotation_off)
            parts.append(f'({turn}) rad off in attitude')
        return '; '.join([*parts, *([self.plant_text] if self.plant_text else [])])

    def draw(self, record: Record, path: Path) -> None:
        """Write the figure, a PNG file."""
        import_module(f'{FIGURES}.{self.figure}').draw(record, path)


ROBOT_WATCHED = {'robot/state': 'joints', 'contact/wrench': 'force'}
CONTACT_WATCHED = {'contact/coordinates': 'joints', 'contact/wrench': 'force'}

DEMOS: Mapping[str, Demo] = {
    demo.experiment: demo
    for demo in (
        Demo(
            experiment='ball_on_plate',
            request=request.state_goal,
            places=places.on_plate,
            position_off=(0.003, 0.0),
            rotation_off=(0.05, 0.0, 0.0),
            watched=CONTACT_WATCHED,
            figure='ball_on_plate',
        ),
        Demo(
            experiment='point_mass_ball',
            request=request.state_goal,
            places=places.on_floor,
            position_off=(0.02, 0.01),
            rotation_off=(0.03, 0.03, 0.0),
            watched=ROBOT_WATCHED,
            pace=10.0,
            figure='point_mass_ball',
        ),
        Demo(
            experiment='pendulum_sphere',
            request=request.manoeuvre,
            places=places.on_floor,
            position_off=(0.02, -0.02),
            rotation_off=(0.0, 0.0, 0.0),
            plant_file='pendulum_course_plant.yaml',
            plant_text='masses 10 % off those of the plan',
            watched=ROBOT_WATCHED,
            pace=10.0,
            figure='pendulum_sphere',
        ),
        Demo(
            experiment='spin_rolling',
            request=request.contact_goal,
            places=places.on_floor,
            position_off=(0.001, -0.001),
            rotation_off=(0.05, -0.1, 0.1),
            watched={'robot/state': 'joints'},
            pace=10.0,
            figure='spin_rolling',
        ),
    )
}


def find_demo(name: str) -> Demo:
    """Return a demonstration, or raise ParameterError naming those that exist."""
    try:
        return DEMOS[name]
    except KeyError:
        known = ', '.join(DEMOS)
        raise ParameterError(f'no demonstration {name!r}; there are: {known}') from None
