"""A ball on a plate that servos tilt, from parts: ball balancer and labyrinth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import casadi as ca
from rolling_dynamics.contract.layout import Entry, Symbols
from rolling_dynamics.contract.rolling_system import WrittenSystem
from rolling_dynamics.mechanism import (
    Custom,
    Driven,
    Machine,
    MachineSystem,
    PureRolling,
    Revolution,
)

AXES = ('x', 'y')


def several(
    name: str, unit: str, text: str, scale: float, count: int = 2, frame: str = ''
) -> Entry:
    """Return an entry along x and y, or of a number of servos."""
    names = tuple(f'{name}_{AXES[k] if count == 2 else k + 1}' for k in range(count))
    return Entry(name, names, unit, frame, text=text, scale=scale)


def carry_ball(
    machine: Machine,
    state: Sequence[Entry],
    pose: tuple[ca.SX, ca.SX],
    acceleration: ca.SX,
    p: Mapping[str, ca.SX],
) -> None:
    """
    Add a driven plate, and a homogeneous ball that rolls on it without slip or spin.

    Parameters
    ----------
    machine
        The machine; the angles of the servos are declared as its variable.
    state
        Entries: contact point on the plate and its rate, angles of the servos and their rates.
    pose
        R_WH (3, 3) and origin of the surface in W (3) [m], in the angles of the servos.
    acceleration
        Of the servos [rad/s^2].
    p
        ``radius``, ``mass`` and ``inertia`` of the ball, ``gravity``.

    """
    ball, ball_rate, servo, servo_rate = state
    machine.gravity_W = ca.vertcat(0, 0, -p['gravity'])
    plate = Custom(coordinates=servo, speed=servo_rate, R_PB=pose[0], p_PB=pose[1])
    machine.body('plate', Driven(joint=plate, rates=acceleration))
    rolling = PureRolling(radius=p['radius'], contact=ball, speed=ball_rate)
    machine.body('ball', rolling, Revolution(p['mass'], p['inertia']), on='plate')


class BallOnPlate(WrittenSystem):
    """
    A ball on a plate as a rolling system; subclasses fill in its modes.

    Attributes
    ----------
    parts
        The machine as a system that only rolls.

    """

    invariants: Mapping[str, ca.Function] = MappingProxyType({})

    def __init__(self, machine: Machine) -> None:
        """Take a machine with a ball on a plate."""
        self.parts = MachineSystem(machine)
        self.state, self.control = self.parts.state, self.parts.control
        self.parameters = self.parts.parameters
        self._at, self._params = self.symbols.values, self.symbols.params

    @property
    def symbols(self) -> Symbols:
        """Symbols of state, control, time and parameters."""
        return self.parts.symbols

    @cached_property
    def pose(self) -> ca.Function:
        """``(x, p) -> plate, ball, contact``."""
        return self.parts.pose

    @cached_property
    def free(self) -> ca.SX:
        """Acceleration (2) [m/s^2] of the contact on the plate without resistance."""
        return self.parts.machine.dynamics.rates

    def wrench(self, acceleration: ca.SX) -> ca.SX:
        """Return torque and force (6) on the ball at the contact, in H, for an acceleration."""
        return self.parts.wrench(acceleration, 'ball')
