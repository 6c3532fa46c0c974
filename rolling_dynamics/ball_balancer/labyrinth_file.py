"""Model of a scenario file with ``system: labyrinth``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any, ClassVar

import casadi as ca
import numpy as np
from pydantic import Field
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.labyrinth import from_walls, Labyrinth, PARAMETERS
from rolling_dynamics.ball_balancer.plate import TURNING
from rolling_dynamics.ball_balancer.rig_file import CameraSection, RigFile
from rolling_dynamics.driven import driven, DrivenSystem, limited, speed_servo
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.scenario.fields import (
    described,
    formulas,
    numbers,
    quantity,
    Section,
    section,
    several,
    whole,
)
from rolling_dynamics.scenario.scenario import ScenarioFile
from rolling_dynamics.scenario.surface_section import sphere_volume


def _rows(text: str, columns: int) -> Any:  # noqa: ANN401  a field
    row: Any = Annotated[several(count=columns), Field(json_schema_extra={'unit': 'm'})]
    return numbers(text, 'm', of=row, count=(1, None))


class SolidBallSection(Section):
    """A solid ball."""

    radius: float = described(PARAMETERS, 'radius')
    mass: float = described(PARAMETERS, 'mass')


class BoardSection(Section):
    """The board; lengths from its middle."""

    restitution: float = described(PARAMETERS, 'restitution', most=1)
    hole_radius: float = described(PARAMETERS, 'hole_radius')
    walls: Array = _rows('x and y of both ends of each', 4)
    holes: Array = _rows('middles', 2)
    path: Array = _rows('corners from start to goal', 2)


class SpeedServoSection(Section):
    """A servo for each axis, commanded by its speed."""

    reach: float = quantity('greatest tilt', 'rad', positive=True)
    speed: float = quantity('maximum', 'rad/s', positive=True)
    lag: float = quantity('time constant of the speed', 's', positive=True)
    dead_time: float = quantity('before a command takes effect', 's', least=0, default=0.0)


class UnknownSection(Section):
    """Standard deviations of what no law is given."""

    offset: float = quantity('angle by which the board is not level', 'rad', least=0, default=0.0)
    start: float = quantity('of the ball from the start of the path', 'm', least=0, default=0.0)


class WaySection(Section):
    """Margins that a plan leaves to the law that follows it."""

    margin: float = quantity('from walls to the ball, from holes to its centre', 'm', least=0)
    share: float = quantity("of the servos' reach and speed", positive=True, most=1)


class LabyrinthFile(RigFile, ScenarioFile):
    """A ball on a board with walls and holes, tilted by servos, seen by a camera."""

    commanded: ClassVar[str] = 'speeds'
    message: ClassVar[str] = 'velocities'
    unmodelled: ClassVar[tuple[float, float]] = (1.0, 0.35)  # hits of walls; level as it is given

    ball: SolidBallSection
    board: BoardSection
    servo: SpeedServoSection
    camera: CameraSection = section(CameraSection)
    gravity: float = described(PARAMETERS, 'gravity', default=9.81)
    unknown: UnknownSection = section(UnknownSection)
    seed: int = whole('random seed of what is unknown, and of the camera', 0, default=0)
    speeds: list[ca.SX] | None = formulas(
        'commanded over time to the servos; none by default', 'rad/s', count=2, default=None
    )

    @property
    def way(self) -> WaySection:
        """The section ``plan``, checked; raises ScenarioError."""
        return check(WaySection, self.plan or {}, 'plan')

    def nominal(self) -> LabyrinthFile:
        """Return it level, with the ball where the path starts."""
        return self.model_copy(update={'unknown': UnknownSection(offset=0.0, start=0.0)})

    def bodies(self) -> Iterable[tuple[str, float, float]]:
        """Return path, mass and volume of the ball."""
        yield 'ball.mass', self.ball.mass, sphere_volume(self.ball.radius)

    @property
    def length(self) -> float:
        """Length of the path [m]."""
        return float(np.hypot(*np.diff(self.board.path, axis=0).T).sum())

    @property
    def edges(self) -> tuple[Array, Array]:
        """Bounds of x and y of the centre of the ball [m], shape (2,) each."""
        corners = self.board.walls.reshape(-1, 2)
        return corners.min(axis=0) + self.ball.radius, corners.max(axis=0) - self.ball.radius

    def room(self, places: Array) -> tuple[Array, Array]:
        """Return the clearance of places (k, 2) from walls, with the ball, and from holes [m]."""
        board, r = self.board, self.ball.radius
        walls = [np.hypot(*from_walls(board.walls, p).T).min() - r for p in places]
        holes = [np.hypot(*(board.holes - p).T).min() - board.hole_radius for p in places]
        return np.array(walls), np.array(holes)

    def start(self, seed: int | None = None) -> Array:
        """Return the start of the ball (2) [m], for a seed; the file's if None."""
        return np.asarray(self.board.path[0] + self.unknown.start * self._drawn(seed)[2:])

    @property
    def greatest(self) -> float:
        """Maximum speed commanded to a servo [rad/s]."""
        return self.servo.speed

    @property
    def ball_at_start(self) -> Array:
        """Place [m] and rate [m/s] of the ball at the start, shape (4,)."""
        return np.concatenate([self.start(), np.zeros(2)])

    def system_and_parameters(
        self, seed: int | None = None
    ) -> tuple[DrivenSystem[Labyrinth], Array]:
        """Return the system and its parameters p, for a seed; the file's if None."""
        board, servo = self.board, self.servo
        system = _plant(len(board.walls), len(board.holes))
        p = system.parameters.pack(
            radius=self.ball.radius,
            mass=self.ball.mass,
            gravity=self.gravity,
            restitution=board.restitution,
            hole_radius=board.hole_radius,
            reach=servo.reach,
            servo_speed=servo.speed,
            servo_lag=servo.lag,
            offset=self.unknown.offset * self._drawn(seed)[:2],
            walls=board.walls.ravel(),
            holes=board.holes.ravel(),
        )
        return system, p

    def _drawn(self, seed: int | None) -> Array:
        return np.random.default_rng(self.seed if seed is None else seed).normal(size=4)

    def at_rest(self, command: Array) -> Array:
        """Return the servos' part of x on a level board: zeros."""
        return np.zeros(2 * command.size)

    def commanding(self, system: DrivenSystem[Labyrinth]) -> ca.Function:
        """Return ``(speeds, p) -> command``: speeds (2) [rad/s] within their maximum."""
        return _commanding(system, self.servo.speed)


@once_per_system
def _commanding(system: DrivenSystem[Labyrinth], most: float) -> ca.Function:
    speeds, p = ca.SX.sym('speeds', 2), ca.SX.sym('p', system.parameters.size)
    return ca.Function('commanding', [speeds, p], [limited(speeds, ca.SX(most))])


@cache
def _plant(walls: int, holes: int) -> DrivenSystem[Labyrinth]:
    """Return the board with its servos, one for all files of the same equations."""
    rig = Labyrinth(walls, holes)
    return driven(
        rig, speed_servo(TURNING, rig.state.entry('servo'), rig.state.entry('servo_rate'))
    )
