"""The ball on a plate that servos tilt, as a rolling system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.plate import (
    BallOnPlate,
    breakaway_angle,
    carry_ball,
    Drive,
    Gimbal,
    several,
    wave_entries,
    wave_sum,
)
from rolling_dynamics.contract.rolling_system import (
    Jump,
    Mode,
    MotionState,
    number_entry,
    Outcome,
    Transition,
)
from rolling_dynamics.errors import check_choice
from rolling_dynamics.mechanism import Machine

BALL = several('ball', 'm', 'contact on the plate', 0.05, frame='H')
BALL_RATE = several('ball_rate', 'm/s', 'its rate', 0.1, frame='H')
PARAMETERS = (
    number_entry('radius', 'm', 'radius', 'positive'),
    number_entry('mass', 'kg', 'mass', 'positive'),
    number_entry('inertia', 'kg m^2', 'of the ball about its centre', 'positive'),
    number_entry('gravity', 'm/s^2', 'magnitude', 'positive'),
    number_entry('surface_height', 'm', 'of the surface over the axes, or over the ball joints'),
    number_entry('half_width', 'm', 'half the length of a side', 'positive'),
    number_entry('breakaway_low', 'rad', 'minimum tilt at which a ball at rest starts to roll'),
    number_entry('breakaway_high', 'rad', 'maximum'),
    number_entry(
        'kinetic_share', '', 'resistance of a rolling ball over that at rest', 'zero or positive'
    ),
    number_entry(
        'stribeck_speed',
        'm/s',
        'at which smooth resistance has fallen to the kinetic one',
        'positive',
    ),
)


def ball_balancer(drive: Drive) -> Machine:
    """Return the machine, whose servos are controlled by their accelerations."""
    machine, n = Machine('ball_balancer'), drive.servos
    p = {entry.name: machine.parameter(entry) for entry in PARAMETERS}
    maps = (*wave_entries('breakaway', ''), *wave_entries('height', 'm'))
    more = (*drive.parameters.entries, *maps)
    p |= {entry.name: machine.parameter(entry) for entry in more}
    servo = several('servo', 'rad', 'angle', 0.1, n)
    state = BALL, BALL_RATE, servo, several('servo_rate', 'rad/s', 'its rate', 1.0, n)
    ball, _, angle, _ = (machine.variable(entry) for entry in state)
    pose = drive.pose(angle, p)
    carry_ball(machine, state, pose, p)
    slope = ca.gradient(wave_sum('height', ball, p), ball)
    weight = p['mass'] * p['gravity'] * pose[0][2, 2]
    machine.force(-weight * ca.vertcat(slope, 0), on='ball', frame='plate')
    return machine


CREEP = 1e-5  # m/s, below which the ball counts as at rest
START = 3.0  # it starts at this many times the creep
STILL = 1e-14  # m/s: keeps the direction of no motion a number
SLIGHT = 1e-9  # m/s^2 that hold a ball where the plate has no resistance at all
RESISTANCES = ('breakaway', 'smooth')


class BallBalancer(BallOnPlate):
    """
    A homogeneous ball on a square plate whose tilt is accelerated; :func:`driven` adds servos.

    The ball rolls without slip or spin. Rolling resistance holds a ball at rest up to the tilt of
    the breakaway map, and opposes its motion with a fraction of that. ``resistance='smooth'`` has
    one mode, in which resistance is a smooth function of the speed (Stribeck), for optimisation.

    Attributes
    ----------
    drive
        Mechanism between servos and plate.
    resistance
        ``breakaway`` or ``smooth``.

    """

    name = 'ball_balancer'

    def __init__(
        self,
        drive: Drive | None = None,
        *,
        resistance: str = 'breakaway',
    ) -> None:
        """
        Build the system; all numbers are parameters.

        Parameters
        ----------
        drive
            Mechanism; a gimbal if None.
        resistance
            ``breakaway`` or ``smooth``.

        """
        check_choice('resistance', resistance, RESISTANCES)
        self.drive: Drive = Gimbal() if drive is None else drive
        self.resistance = resistance
        super().__init__(ball_balancer(self.drive))

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """Rolling, and with breakaway also at rest on the plate."""
        rolling = self._rolling
        if self.resistance == 'smooth':
            return {'rolling': rolling}
        return {'rolling': rolling, 'stuck': self._stuck}

    @cached_property
    def servo_angles(self) -> ca.Function:
        """``(tilt, p) -> angles of the servos`` for tilts that pull the ball along x and y."""
        tilt = ca.SX.sym('tilt', 2)
        angles = self.drive.servo_angles(tilt, self._params)
        return ca.Function('servo_angles', [tilt, self.symbols.p], [angles])

    def begin(self, p: ArrayLike, x: ArrayLike, u: ArrayLike, t: float) -> MotionState:
        """Return a state with its mode: at rest if it is and the plate holds the ball."""
        s = MotionState(
            t=t, x=np.array(x, dtype=float), mode='rolling', p=np.array(p, dtype=float)
        )
        if self.resistance == 'smooth' or np.hypot(*s.x[2:4]) > START * CREEP:
            return s
        return replace(self._settled(s, np.asarray(u, dtype=float)), events=())

    def state_bounds(self, p: Array) -> Mapping[str, tuple[float, float]]:
        """Return the edges of the plate."""
        half = float(p[self.parameters.slice('half_width')][0])
        return {'ball_x': (-half, half), 'ball_y': (-half, half)}

    # what follows an event

    @cached_property
    def _settled(self) -> Jump:
        """Transition where the speed has vanished: the plate holds the ball, or it rolls on."""
        s, still = self.symbols, ca.vertcat(self.symbols.x[:2], 0, 0, self.symbols.x[4:])
        held = ca.substitute(self._held, s.x, still) >= 0
        x = ca.if_else(held, still, ca.substitute(self._from_rest, s.x, still))
        function = ca.Function('settled', [*s], [ca.densify(x), 1 - held])
        stuck = Outcome('stuck', 'stop', 'the ball comes to rest')
        return Jump(function=function, outcomes=(stuck, Outcome('rolling')))

    @cached_property
    def _from_rest(self) -> ca.SX:
        """State with a first, very small speed along what drives the ball."""
        speed = ca.fmax(ca.norm_2(self.free), 1e-300)
        return ca.vertcat(
            self.symbols.x[:2], START * CREEP * self.free / speed, self.symbols.x[4:]
        )

    @cached_property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Energy [J] of the ball, also in the height of the uneven plate."""
        p, plate = self._params, self.parts.machine.links['plate']
        rise = plate.R_WF[2, 2] * wave_sum('height', self._at['ball'], p)
        return self.functions({'energy': self.parts.energy + p['mass'] * p['gravity'] * rise})

    # expressions

    @cached_property
    def _breakaway(self) -> ca.SX:
        """Acceleration [m/s^2] that the resistance takes from a ball at the breakaway angle."""
        matrix, _ = self.parts.machine.dynamics.equations
        angle = breakaway_angle(self._at['ball'], self._params)
        return self.wrench(self.free)[5] / matrix[0, 0] * angle

    @cached_property
    def _rolling(self) -> Mode:
        v, p = self._at['ball_rate'], self._params
        speed = ca.sqrt(ca.sumsqr(v) + STILL**2)
        fraction = p['kinetic_share']
        if self.resistance == 'smooth':
            slow = speed / p['stribeck_speed']
            fraction = (fraction + (1 - fraction) * ca.exp(-(slow**2))) * ca.tanh(2 * slow)
        acceleration = self.free - fraction * self._breakaway * v / speed
        xdot = self.parts.rate_of_state(acceleration)
        if self.resistance == 'smooth':
            return self._mode(xdot, acceleration, {}, {})
        return self._mode(xdot, acceleration, {'stop': speed - CREEP}, {'stop': self._settled})

    @cached_property
    def _stuck(self) -> Mode:
        still = ca.SX.zeros(2)
        xdot = ca.vertcat(still, self.parts.rate_of_state(still)[2:])
        s = self.symbols
        released = Jump(
            function=ca.Function('released', [*s], [self._from_rest, ca.SX(0)]),
            outcomes=(Outcome('rolling', 'breakaway', 'the ball breaks away'),),
        )
        return self._mode(xdot, still, {'breakaway': self._held}, {'breakaway': released})

    @cached_property
    def _held(self) -> ca.SX:
        """Margin of the drive to breakaway of the ball, 1 without any drive."""
        return 1 - ca.sumsqr(self.free) / (self._breakaway**2 + SLIGHT**2)

    def _mode(
        self,
        xdot: ca.SX,
        acceleration: ca.SX,
        guards: Mapping[str, ca.SX],
        resets: Mapping[str, Transition],
    ) -> Mode:
        wrench = self.wrench(acceleration)
        edge = self._params['half_width'] - ca.mmax(ca.fabs(self._at['ball']))
        guards = {'normal_force': wrench[5], 'edge': edge, **guards}
        slip = ca.Function('slip', [self.symbols.x, self.symbols.p], [self._at['ball_rate']])
        return Mode(
            dynamics=self.function('dynamics', xdot),
            wrench=self.function('wrench', wrench),
            guards=self.functions(guards),
            resets=resets,
            slip=slip if 'stop' in guards else None,
        )
