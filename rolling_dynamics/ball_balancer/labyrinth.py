"""A labyrinth: a board with walls and holes, tilted about two axes by velocity servos."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.ball_balancer.drives import tilted
from rolling_dynamics.ball_balancer.equations import ball_equations, plate_motion
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.configuration import find_config
from rolling_dynamics.scenario.entry import Numbers, Quantity, Several
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.scenario.fields import entry, quantity
from rolling_dynamics.scenario.model import Section
import yaml

Array = NDArray[np.float64]
ROLLING = 5 / 7  # share of gravity along the board that moves a solid ball
LONGEST = 1e-3  # s, of a step
HALVINGS = 20  # of a step in which a wall or a hole is met
RESTING = 5e-3  # m/s towards a wall, below which a ball stays at it
PLACE, RATE, TILT, TILT_RATE = (slice(2 * k, 2 * k + 2) for k in range(4))  # of a state


def _rows(text: str, columns: int) -> Any:  # noqa: ANN401  a field
    return entry(Numbers(text, 'm', of=Several('', 'm', Quantity(), columns), count=(1, None)))


class CameraSection(Section):
    """The camera; a frame is known when the next one is taken."""

    rate: float = quantity('frames per second', 'Hz', positive=True)
    noise: float = quantity('standard deviation of each coordinate', 'm', least=0)


class ServoSection(Section):
    """A servo for each axis, commanded by its speed."""

    tilt: float = quantity('maximum', 'rad', positive=True)
    speed: float = quantity('maximum', 'rad/s', positive=True)
    lag: float = quantity('time constant of the speed', 's', positive=True)
    noise: float = quantity('standard deviation of the measured angle', 'rad', least=0)


class UnknownSection(Section):
    """Standard deviations of what no law is told."""

    offset: float = quantity('angle by which the board is not level', 'rad', least=0)
    start: float = quantity('of the ball from the start of the path', 'm', least=0)


class PlanSection(Section):
    """How much a plan leaves to the law that follows it."""

    margin: float = quantity('from walls to the ball, from holes to its centre', 'm', least=0)
    share: float = quantity("of the servos' reach and speed", positive=True, most=1)


class Labyrinth(Section):
    """The numbers of a labyrinth; lengths from the middle of the board."""

    radius: float = quantity('of the ball', 'm', positive=True)
    mass: float = quantity('of the ball', 'kg', positive=True)
    gravity: float = quantity('magnitude', 'm/s^2', positive=True)
    restitution: float = quantity('speed after a wall over that before', least=0, most=1)
    hole_radius: float = quantity('the ball falls with its centre over a hole', 'm', positive=True)
    camera: CameraSection
    servo: ServoSection
    unknown: UnknownSection
    plan: PlanSection
    walls: Array = _rows('x and y of both ends of each', 4)
    holes: Array = _rows('middles', 2)
    path: Array = _rows('corners from start to goal', 2)

    @property
    def length(self) -> float:
        """Length of the path [m]."""
        return float(np.hypot(*np.diff(self.path, axis=0).T).sum())

    def from_walls(self, place: Array) -> Array:
        """Return the vectors to a place (2) from the nearest point of each wall, (n, 2) [m]."""
        starts = self.walls[:, :2]
        along, to = self.walls[:, 2:] - starts, place - starts
        share = (to * along).sum(1) / (along**2).sum(1)
        return np.asarray(to - np.minimum(np.maximum(share, 0), 1)[:, None] * along)

    def room(self, places: Array) -> tuple[Array, Array]:
        """Return by how much places (k, 2) are clear of walls, with the ball, and of holes [m]."""
        walls = [np.hypot(*self.from_walls(p).T).min() - self.radius for p in places]
        holes = [np.hypot(*(self.holes - p).T).min() - self.hole_radius for p in places]
        return np.array(walls), np.array(holes)


def read_labyrinth(path: Path | None = None) -> Labyrinth:
    """Return the labyrinth of a YAML file, checked; that of the suite if None."""
    text = (find_config('labyrinth.yaml') if path is None else path).read_text()
    return check(Labyrinth, yaml.safe_load(text))


@dataclass(frozen=True)
class Met:
    """A wall that was touched, or a hole (`wall` None), at a time [s]."""

    time: float
    wall: int | None


class LabyrinthPlant:
    """
    The ball on the board: Runge-Kutta steps with located walls and holes.

    The servos' speed follows its command through the lag and stops at the ends of their reach.
    Only the speed towards a wall changes at it.

    Attributes
    ----------
    x
        Place, rate, tilt, tilt rate, two of each.
    time
        [s]
    offset
        By which the board is not level (2) [rad].
    met
        What was touched.
    fallen
        Whether the ball fell.

    """

    def __init__(self, board: Labyrinth, place: Array, offset: Array) -> None:
        """Put the ball at rest at a place (2) [m], the servos at zero."""
        self.board, self.offset = board, offset
        self.x, self.time = np.zeros(8), 0.0
        self.x[PLACE] = place
        self.met: list[Met] = []
        self.fallen = False
        self._step = FastFunction(step_function(board))
        self._step.inputs[2][:] = offset

    def advance(self, command: Array, until: float) -> None:
        """Go on to a time [s] with commanded speeds (2) [rad/s]; no further than a fall."""
        most = self.board.servo.speed
        self._step.inputs[1][:] = np.clip(command, -most, most)
        while until - self.time > 1e-12 and not self.fallen:
            h = min(LONGEST, until - self.time)
            after = self._after(h)
            wall, over = self._touched(after)
            if over or (wall is not None and self._approach(after, wall)[0] > RESTING):
                h = self._first(h)
                after = self._after(h)
            self.x = after
            self.time += h
            self._meet()

    def _first(self, h: float) -> float:
        """Return the time within a step at which a wall or a hole is met."""
        early, late = 0.0, h
        for _ in range(HALVINGS):
            middle = (early + late) / 2
            clear = self._touched(self._after(middle)) == (None, False)
            early, late = (middle, late) if clear else (early, middle)
        return late

    def _approach(self, x: Array, wall: int) -> tuple[float, Array, float]:
        """Return speed towards a wall, the unit vector from it, and the distance."""
        away = self.board.from_walls(x[PLACE])[wall]
        distance = float(np.hypot(*away))
        normal = away / distance
        return float(-normal @ x[RATE]), normal, distance

    def _after(self, h: float) -> Array:
        self._step.inputs[0][:] = self.x
        self._step.inputs[3][:] = h
        self._step.call()
        x, most = self._step.output.copy(), self.board.servo.tilt
        stopped = abs(x[TILT]) > most
        x[TILT] = np.clip(x[TILT], -most, most)
        x[TILT_RATE][stopped] = 0.0
        return x

    def _touched(self, x: Array) -> tuple[int | None, bool]:
        """Return the wall that the ball moves into, and whether it is over a hole."""
        away = self.board.from_walls(x[PLACE])
        near = np.flatnonzero((away**2).sum(1) < self.board.radius**2)
        into = [int(k) for k in near if away[k] @ x[RATE] < 0]
        over = ((self.board.holes - x[PLACE]) ** 2).sum(1).min() < self.board.hole_radius**2
        return (into[0] if into else None), bool(over)

    def _meet(self) -> None:
        """Reflect at a wall, or hold a slow ball there, or let it fall."""
        wall, self.fallen = self._touched(self.x)
        hit = self.fallen
        if wall is not None:
            speed, normal, distance = self._approach(self.x, wall)
            hit = hit or speed > RESTING
            back = self.board.restitution if speed > RESTING else 0.0
            self.x[RATE] += (1 + back) * speed * normal
            self.x[PLACE] += (self.board.radius - distance) * normal  # not deeper step by step
        if hit:
            self.met.append(Met(self.time, None if self.fallen else wall))


def step_function(board: Labyrinth) -> ca.Function:
    """Return ``(x, command, offset, h) -> x`` after a step, by the equations of the balancer."""
    x, command, offset, h = (ca.SX.sym(n, k) for n, k in zip('xuoh', (8, 2, 2, 1), strict=True))
    place, rate, tilt, turn = ca.vertsplit(x, 2)
    acceleration = (command - turn) / board.servo.lag
    p = {
        'radius': ca.SX(board.radius),
        'mass': ca.SX(board.mass),
        'gravity': ca.SX(board.gravity),
        'inertia': ca.SX(2 / 5 * board.mass * board.radius**2),
    }
    # the offset turns the board as the servos do, but stands still
    pose = tilted(tilt + offset), ca.SX.zeros(3)
    plate = plate_motion(pose, (tilt, turn, acceleration), place, rate, p['radius'])
    drive = ball_equations(plate, rate, ca.SX.zeros(2), p).drive
    given = [x, command, offset]
    f = ca.Function('f', given, [ca.vertcat(rate, drive, turn, acceleration)])
    k1 = f(x, command, offset)
    k2 = f(x + h / 2 * k1, command, offset)
    k3 = f(x + h / 2 * k2, command, offset)
    k4 = f(x + h * k3, command, offset)
    after = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return ca.Function('labyrinth_step', [*given, h], [after])
