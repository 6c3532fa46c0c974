"""The ball on a plate that servos tilt, as a rolling system."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
import hashlib
from types import MappingProxyType

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.ball_balancer.drives import Drive, Gimbal
from rolling_dynamics.ball_balancer.equations import (
    ball_equations,
    BallEquations,
    plate_motion,
    PlateMotion,
)
from rolling_dynamics.ball_balancer.layouts import (
    control_layout,
    parameter_layout,
    state_layout,
)
from rolling_dynamics.ball_balancer.plate_maps import breakaway_angle, wave_sum
from rolling_dynamics.ball_balancer.servo import servo_acceleration
from rolling_dynamics.contract.mode import Mode, MotionState, Transition
from rolling_dynamics.contract.rolling_system import WrittenSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.rotations import homogeneous

Array = NDArray[np.float64]
CREEP = 1e-5  # m/s, below which the ball counts as at rest
START = 3.0  # it starts at this many times the creep
STILL = 1e-14  # m/s: keeps the direction of no motion a number
SLIGHT = 1e-9  # m/s^2 that hold a ball where the plate has no resistance at all
RESISTANCES = ('breakaway', 'smooth')


class BallBalancer(WrittenSystem):
    """
    A homogeneous ball on a square plate that servos tilt.

    The ball rolls without slip or spin. Rolling resistance holds a ball at rest up to the tilt of
    the breakaway map, and opposes its motion with a share of that. ``resistance='smooth'`` has one
    mode, in which resistance is a smooth function of the speed (Stribeck), for optimisation.

    Attributes
    ----------
    drive
        Mechanism between servos and plate.
    resistance
        ``breakaway`` or ``smooth``.

    """

    name = 'ball_balancer'
    invariants: Mapping[str, ca.Function] = MappingProxyType({})

    def __init__(
        self,
        drive: Drive | None = None,
        *,
        resistance: str = 'breakaway',
        lagged: bool = False,
    ) -> None:
        """
        Build the system; all numbers are parameters.

        Parameters
        ----------
        drive
            Mechanism; a gimbal if None.
        resistance
            ``breakaway`` or ``smooth``.
        lagged
            Whether a command reaches its servo through a lag; without, ``servo_lag`` has no
            effect.

        """
        if resistance not in RESISTANCES:
            raise ParameterError(f'resistance must be one of {RESISTANCES}, got {resistance!r}')
        self.drive: Drive = Gimbal() if drive is None else drive
        self.resistance, self.lagged = resistance, lagged
        self.state = state_layout(self.drive.servos, lagged=lagged)
        self.control = control_layout(self.drive.servos)
        self.parameters = parameter_layout(self.drive.parameters)
        self._at, self._params = self.symbols.values, self.symbols.params

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """Rolling, and with breakaway also at rest on the plate."""
        rolling = self._rolling
        if self.resistance == 'smooth':
            return {'rolling': rolling}
        return {'rolling': rolling, 'stuck': self._stuck}

    @cached_property
    def pose(self) -> ca.Function:
        """``(x, p) -> ball, plate, contact``."""
        plate, R = self._plate, self._plate.R_WH
        centre, contact = (
            plate.origin + R @ ca.vertcat(self._at['ball'], z) for z in (self._params['radius'], 0)
        )
        poses = [homogeneous(R, where) for where in (centre, plate.origin, contact)]
        inputs = [self.symbols.x, self.symbols.p]
        return ca.Function('pose', inputs, poses, ['x', 'p'], ['ball', 'plate', 'contact'])

    @cached_property
    def servo_angles(self) -> ca.Function:
        """``(tilt, p) -> angles of the servos`` for tilts that pull the ball along x and y."""
        tilt = ca.SX.sym('tilt', 2)
        angles = self.drive.servo_angles(tilt, self._params)
        return ca.Function('servo_angles', [tilt, self.symbols.p], [angles])

    @cached_property
    def tilt(self) -> ca.Function:
        """``(angles of the servos, p) -> tilt`` that pulls the ball along x and y [rad]."""
        angles = self._at['servo']
        normal = self.drive.pose(angles, self._params)[0][:, 2]
        tilt = ca.vertcat(ca.atan2(normal[0], normal[2]), ca.asin(normal[1]))
        return ca.Function('tilt', [angles, self.symbols.p], [tilt])

    @cached_property
    def model_hash(self) -> str:
        """Content hash of the motion."""
        texts = [mode.dynamics.serialize() for mode in self.modes.values()]
        return hashlib.sha256(''.join(texts).encode()).hexdigest()[:16]

    def begin(self, p: ArrayLike, x: ArrayLike, u: ArrayLike, t: float) -> MotionState:
        """Return a state with its mode: at rest if it is and the plate holds the ball."""
        s = MotionState(
            t=t, x=np.array(x, dtype=float), mode='rolling', p=np.array(p, dtype=float)
        )
        if self.resistance == 'smooth' or np.hypot(*s.x[2:4]) > START * CREEP:
            return s
        return self._settled(s, np.asarray(u, dtype=float))

    def at_rest(self, u: ArrayLike) -> Array:
        """Return the servos' part of x while they rest at their commands (servos) [rad]."""
        u = np.asarray(u, dtype=float)
        return np.concatenate([u, np.zeros_like(u), *([u] if self.lagged else [])])

    def state_bounds(self, p: Array) -> Mapping[str, tuple[float, float]]:
        """Return the edges of the plate and the greatest speed of the servos."""
        half, speed = (
            float(p[self.parameters.slice(name)][0]) for name in ('half_width', 'servo_speed')
        )
        names = self.state.entry('servo_rate').components
        return {
            'ball_x': (-half, half),
            'ball_y': (-half, half),
            **dict.fromkeys(names, (-speed, speed)),
        }

    # what follows an event

    def _stopped(self, s: MotionState, u: Array) -> MotionState:
        after = self._settled(s, u)
        return after.noted('stop', 'the ball comes to rest') if after.mode == 'stuck' else after

    def _released(self, s: MotionState, u: Array) -> MotionState:
        return self._rolling_from_rest(s, u).noted('breakaway', 'the ball breaks away')

    def _settled(self, s: MotionState, u: Array) -> MotionState:
        """Return the mode of a ball whose speed has vanished."""
        x = s.x.copy()
        x[2:4] = 0.0
        still = MotionState(t=s.t, x=x, mode='stuck', p=s.p, events=s.events)
        held = float(self._margin(x, u, s.t, s.p)) >= 0
        return still if held else self._rolling_from_rest(still, u)

    def _rolling_from_rest(self, s: MotionState, u: Array) -> MotionState:
        drive = np.array(self._drive(s.x, u, s.t, s.p)).ravel()
        x = s.x.copy()
        x[2:4] = START * CREEP * drive / max(float(np.hypot(*drive)), 1e-300)
        return MotionState(t=s.t, x=x, mode='rolling', p=s.p, events=s.events)

    # expressions

    @cached_property
    def _servo_acceleration(self) -> ca.SX:
        target = self._at['servo_lagged'] if self.lagged else self.symbols.u
        return servo_acceleration(target, self._at['servo'], self._at['servo_rate'], self._params)

    @cached_property
    def _plate(self) -> PlateMotion:
        at, p = self._at, self._params
        pose = self.drive.pose(at['servo'], p)
        angles = (at['servo'], at['servo_rate'], self._servo_acceleration)
        return plate_motion(pose, angles, at['ball'], at['ball_rate'], p['radius'])

    @cached_property
    def _equations(self) -> BallEquations:
        height = wave_sum('height', self._at['ball'], self._params)
        slope = ca.gradient(height, self._at['ball'])
        return ball_equations(self._plate, self._at['ball_rate'], slope, self._params)

    @cached_property
    def _breakaway(self) -> ca.SX:
        return breakaway_angle(self._at['ball'], self._params)

    @cached_property
    def _rolling(self) -> Mode:
        e, v, p = self._equations, self._at['ball_rate'], self._params
        speed = ca.sqrt(ca.sumsqr(v) + STILL**2)
        share = p['kinetic_share']
        if self.resistance == 'smooth':
            slow = speed / p['stribeck_speed']
            share = (share + (1 - share) * ca.exp(-(slow**2))) * ca.tanh(2 * slow)
        acceleration = e.drive - share * e.per_angle * self._breakaway * v / speed
        guards = self._envelope
        if self.resistance == 'smooth':
            return self._mode('rolling', v, acceleration, guards, {})
        guards = {**guards, 'stop': speed - CREEP}
        return self._mode('rolling', v, acceleration, guards, {'stop': self._stopped})

    @cached_property
    def _stuck(self) -> Mode:
        nothing = ca.SX.zeros(2)
        guards = {**self._envelope, 'breakaway': self._held}
        return self._mode('stuck', nothing, nothing, guards, {'breakaway': self._released})

    @property
    def _envelope(self) -> dict[str, ca.SX]:
        ball, half = self._at['ball'], self._params['half_width']
        return {
            'normal_force': self._equations.normal_force,
            'edge': half - ca.mmax(ca.fabs(ball)),
        }

    @cached_property
    def _held(self) -> ca.SX:
        """How far the drive is from what breaks the ball away, 1 without any drive."""
        most = self._equations.per_angle * self._breakaway
        return 1 - ca.sumsqr(self._equations.drive) / (most**2 + SLIGHT**2)

    @cached_property
    def _margin(self) -> ca.Function:
        return self.function('held', self._held)

    @cached_property
    def _drive(self) -> ca.Function:
        return self.function('drive', self._equations.drive)

    def _mode(
        self,
        name: str,
        rate: ca.SX,
        acceleration: ca.SX,
        guards: Mapping[str, ca.SX],
        resets: Mapping[str, Transition],
    ) -> Mode:
        at = self._at
        rates = [rate, acceleration, at['servo_rate'], self._servo_acceleration]
        if self.lagged:
            rates.append((self.symbols.u - at['servo_lagged']) / self._params['servo_lag'])
        slides = name == 'rolling' and self.resistance == 'breakaway'
        return Mode(
            dynamics=self.function('dynamics', ca.vertcat(*rates)),
            wrench=self.function('wrench', self._equations.wrench(acceleration)),
            guards=self.functions(guards),
            resets=resets,
            slip=ca.Function('slip', [self.symbols.x, self.symbols.p], [at['ball_rate']])
            if slides
            else None,
        )
