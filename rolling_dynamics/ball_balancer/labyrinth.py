"""A labyrinth as a rolling system: a board with walls and holes whose tilt is accelerated."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.plate import AXES, BallOnPlate, carry_ball, several, tilted
from rolling_dynamics.contract.rolling_system import (
    Entry,
    Jump,
    Mode,
    number_entry,
    Outcome,
    Transition,
)
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism import Machine

ROLLING = 5 / 7  # fraction of gravity along the board that moves a solid ball
RESTING = 5e-3  # m/s towards a wall, below which a ball stays at it
TOUCH = 1e-5  # m from a wall within which a ball that came slowly is held
DEEP = 1e-6  # m into a wall: there a ball that another wall holds meets it
TINY = 1e-24  # m^2: keeps the derivative of a distance a number


class Labyrinth(BallOnPlate):
    """
    A solid ball on a board with walls and holes; :func:`driven` adds servos of speed.

    The ball rolls without slip, spin or resistance. A wall, its ends too, gives back a fraction of
    the speed towards it and leaves the rest as it is: an effective coefficient, since a ball skids
    after a wall until it rolls, and no skid is modelled here. A ball that comes slowly stays at
    it, in the mode ``at_wall``, until it is pulled away. The motion ends with the centre of
    the ball over a hole.

    Attributes
    ----------
    walls, holes
        How many there are.

    """

    name = 'labyrinth'

    def __init__(self, walls: int, holes: int) -> None:
        """Build the system for a number of walls and holes; all else are parameters."""
        if min(walls, holes) < 1:
            raise ParameterError(f'a labyrinth has walls and holes, got {walls} and {holes}')
        self.walls, self.holes = walls, holes
        super().__init__(_machine(walls, holes))

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """Rolling free, and along a wall."""
        away, gaps, at, p = self._away, self._gaps, self._at, self._params
        least, free = ca.mmin(gaps), self.free
        held = free
        for k in range(self.walls):
            normal = away[:, k] / (gaps[k] + p['radius'])
            inward = ca.fmin(ca.dot(held, normal), 0)
            held -= ca.if_else(gaps[k] < TOUCH, inward, 0) * normal
        over = ca.sqrt(ca.mmin(ca.sum1((self._hole_places - at['ball']) ** 2).T) + TINY)
        hole = over - p['hole_radius']
        falls: dict[str, Transition] = {'hole': self._falls, 'wall': self._meets}
        return {
            'rolling': Mode(
                dynamics=self.function('dynamics', self.parts.rate_of_state(free)),
                wrench=self.function('wrench', self.wrench(free)),
                guards=self.functions({'hole': hole, 'wall': least}),
                resets=falls,
            ),
            'at_wall': Mode(
                dynamics=self.function('dynamics', self.parts.rate_of_state(held)),
                wrench=self.function('wrench', self._of_board(held)),
                guards=self.functions(
                    {'hole': hole, 'wall': least + DEEP, 'leave': TOUCH - least}
                ),
                resets={**falls, 'leave': Jump(function=None, outcomes=(Outcome('rolling'),))},
            ),
        }

    def state_bounds(self, p: Array) -> Mapping[str, tuple[float, float]]:
        """Return the edges of the board."""
        corners = self.parameters.unpack(p)['walls'].reshape(-1, 2)
        return {f'ball_{a}': (c.min(), c.max()) for a, c in zip(AXES, corners.T, strict=True)}

    # what follows an event

    @cached_property
    def _falls(self) -> Jump:
        """Transition at a hole: the end of the motion, at the nearest one."""
        away = self._hole_places - ca.repmat(self._at['ball'], 1, self.holes)
        _, k = nearest(ca.sum1(away**2))
        s = self.symbols
        return Jump(
            function=ca.Function('falls', [*s], [s.x, k]),
            outcomes=tuple(
                Outcome('', 'hole', f'the ball falls through hole {k + 1}')
                for k in range(self.holes)
            ),
        )

    @cached_property
    def _meets(self) -> Jump:
        """Transition at a wall: a reflection at the nearest one, or a slow ball held there."""
        s, p = self.symbols, self._params
        distance, k = nearest(ca.sqrt(ca.sum1(self._away**2)))
        normal = sum(ca.if_else(k == j, self._away[:, j], 0) for j in range(self.walls)) / distance
        speed = -ca.dot(normal, s.x[2:4])
        hit = speed > RESTING
        rate = s.x[2:4] + ca.fmax(speed, 0) * (1 + hit * p['restitution']) * normal
        place = s.x[:2] + (p['radius'] - distance) * normal
        x = ca.densify(ca.vertcat(place, rate, s.x[4:]))
        return Jump(
            function=ca.Function('meets', [*s], [x, 2 * k + hit]),
            outcomes=tuple(
                Outcome(mode, 'wall', f'the ball {does} wall {k + 1}')
                for k in range(self.walls)
                for mode, does in (('at_wall', 'comes to'), ('rolling', 'hits'))
            ),
        )

    # expressions

    @cached_property
    def _hole_places(self) -> ca.SX:
        return ca.reshape(self._params['holes'], 2, self.holes)

    @cached_property
    def _away(self) -> ca.SX:
        """From the nearest point of each wall to the contact (2, walls)."""
        ends = ca.reshape(self._params['walls'], 4, self.walls)
        start, way = ends[:2, :], ends[2:, :] - ends[:2, :]
        to = ca.repmat(self._at['ball'], 1, self.walls) - start
        fraction = ca.fmin(ca.fmax(ca.sum1(to * way) / ca.sum1(way**2), 0), 1)
        return to - ca.repmat(fraction, 2, 1) * way

    @cached_property
    def _gaps(self) -> ca.SX:
        return ca.sqrt(ca.sum1(self._away**2).T + TINY) - self._params['radius']

    def _of_board(self, acceleration: ca.SX) -> ca.SX:
        """Return the wrench (6) of the board alone: a wall pushes without torque on the ball."""
        torque, force = ca.vertsplit(self.wrench(acceleration), 3)
        wall = ca.vertcat(torque[1], -torque[0], 0) / self._params['radius']
        return ca.vertcat(0, 0, torque[2], force - wall)


def from_walls(walls: Array, place: Array) -> Array:
    """
    Return the vectors to a place from the nearest point of each wall.

    Parameters
    ----------
    walls
        x and y of both ends of each [m], shape (n, 4).
    place
        On the board (2) [m].

    Returns
    -------
    NDArray
        Shape (n, 2) [m].

    """
    starts = walls[:, :2]
    along, to = walls[:, 2:] - starts, place - starts
    fraction = (to * along).sum(1) / (along**2).sum(1)
    return np.asarray(to - np.minimum(np.maximum(fraction, 0), 1)[:, None] * along)


def nearest(distances: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the least of distances (1, n) [m], and which one it is; the first of equal ones."""
    least, which = distances[0], ca.SX(0)
    for k in range(1, distances.numel()):
        which = ca.if_else(distances[k] < least, k, which)
        least = ca.fmin(distances[k], least)
    return least, which


PARAMETERS = (
    number_entry('radius', 'm', 'radius', 'positive'),
    number_entry('mass', 'kg', 'mass', 'positive'),
    number_entry('gravity', 'm/s^2', 'magnitude', 'positive'),
    number_entry(
        'restitution',
        '',
        'effective coefficient of a wall: speed of rolling after it over that before, the skid '
        'between left out; (5 e - 2)/7 of a smooth wall with coefficient e, so at most 3/7, and '
        'up to 31/49 where friction at the wall takes all the spin that it can',
        'zero or positive',
    ),
    number_entry('hole_radius', 'm', 'the ball falls with its centre over a hole', 'positive'),
)


def _machine(walls: int, holes: int) -> Machine:
    """Return the description: a ball, and a board that turns with its servos from an offset."""
    machine = Machine('labyrinth')
    p = {entry.name: machine.parameter(entry) for entry in PARAMETERS}
    p['inertia'] = 2 / 5 * p['mass'] * p['radius'] ** 2
    offset = machine.parameter(several('offset', 'rad', 'by which the board is not level', 0.01))
    ends, middles = ('x1', 'y1', 'x2', 'y2'), ('x', 'y')
    lists = (
        ('walls', walls, ends, 'both ends of each'),
        ('holes', holes, middles, 'middles'),
    )
    for name, count, parts, text in lists:
        names = tuple(f'{name}_{k + 1}_{c}' for k in range(count) for c in parts)
        machine.parameter(Entry(name, names, 'm', text=text))
    state = (
        several('ball', 'm', 'contact on the board', 0.01),
        several('ball_rate', 'm/s', 'its rate', 0.1),
        several('servo', 'rad', 'tilt that pulls the ball along an axis', 0.1),
        several('servo_rate', 'rad/s', 'its rate', 1.0),
    )
    _, _, angle, _ = (machine.variable(entry) for entry in state)
    carry_ball(machine, state, (tilted(angle + offset), ca.SX(3, 1)), p)
    return machine
