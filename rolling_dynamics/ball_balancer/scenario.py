"""Model of a scenario file with ``system: ball_balancer``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import ClassVar, Literal

import casadi as ca
import numpy as np
from pydantic import model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.plate import DRIVES, random_maps, TURNING
from rolling_dynamics.ball_balancer.rig_file import CameraSection, RigFile
from rolling_dynamics.ball_balancer.system import BallBalancer, PARAMETERS
from rolling_dynamics.driven import driven, DrivenSystem, limited, position_servo
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.scenario.fields import (
    described,
    formulas,
    note,
    pair,
    quantity,
    refused,
    Section,
    section,
    whole,
)
from rolling_dynamics.scenario.scenario import ScenarioFile
from rolling_dynamics.scenario.surface_section import sphere_volume

INERTIAS = {'solid': 2 / 5, 'shell': 2 / 3}  # over mass and square of the radius


class BallSection(Section):
    """A homogeneous ball."""

    radius: float = described(PARAMETERS, 'radius')
    mass: float = described(PARAMETERS, 'mass')
    inertia: Literal['solid', 'shell'] = note('how its mass is distributed', default='solid')


class PlateSection(Section):
    """A square plate, level at servo angles of zero; not quite even."""

    drive: Literal['gimbal', 'legs'] = note(
        '`gimbal`: a servo for each of two axes; `legs`: three servos whose arms carry the plate '
        'by ball joints in radial grooves',
        default='gimbal',
    )
    half_width: float = described(PARAMETERS, 'half_width')
    surface_height: float = described(PARAMETERS, 'surface_height', default=0.0)
    axle_radius: float = quantity(
        'of the three servos about the middle, with `legs`', 'm', positive=True, default=0.08
    )
    arm_length: float = quantity('of each servo, with `legs`', 'm', positive=True, default=0.04)
    slope: float = quantity('steepest slope of the uneven plate', 'counts', least=0, default=0.0)
    slope_length: float = quantity(
        'correlation length of its height', 'm', positive=True, default=0.05
    )


class ServoSection(Section):
    """The servos; a count is the unit of their commands."""

    count: float = quantity('angle of one count', 'rad', positive=True)
    dead_time: float = quantity('before a command takes effect', 's', least=0, default=0.0)
    lag: float = quantity('time constant of a lag of the command', 's', least=0, default=0.0)
    speed: float = quantity('maximum', 'counts/s', positive=True)
    acceleration: float = quantity('maximum', 'counts/s^2', positive=True)
    reach: float = quantity('maximum command', 'counts', positive=True)
    dead_band: float = quantity('errors that are left alone', 'counts', least=0, default=0.0)
    stiffness: float = quantity(
        'rate over error close to the target', '1/s', positive=True, default=100.0
    )


class ResistanceSection(Section):
    """Rolling resistance: a map of the tilt that breaks a ball away from rest."""

    breakaway: Array = pair('minimum and maximum tilt that is needed', 'counts')
    length: float = quantity('correlation length of the map', 'm', positive=True, default=0.015)
    kinetic_share: float = described(PARAMETERS, 'kinetic_share', most=1, default=1.0)
    model: Literal['breakaway', 'smooth'] = note(
        '`breakaway` has a mode in which the ball is stuck; `smooth` is a smooth function of the '
        'speed, for optimisation',
        default='breakaway',
    )
    stribeck_speed: float = described(PARAMETERS, 'stribeck_speed', default=2e-3)

    @model_validator(mode='after')
    def _ordered(self) -> ResistanceSection:
        low, high = self.breakaway
        if not 0 <= low <= high:
            raise refused(f'must be two numbers 0 <= low <= high, got [{low:g}, {high:g}]')
        return self


class StartSection(Section):
    """At the start; the plate is level and at rest."""

    ball: Array = pair('on the plate', 'm', default=np.zeros(2))
    ball_rate: Array = pair('over the plate', 'm/s', default=np.zeros(2))


class BallBalancerFile(RigFile, ScenarioFile):
    """A ball on a plate that servos tilt, seen by a camera."""

    commanded: ClassVar[str] = 'tilt'
    message: ClassVar[str] = 'positions'
    unmodelled: ClassVar[tuple[float, float]] = (0.15, 0.16)

    ball: BallSection
    plate: PlateSection
    servo: ServoSection
    resistance: ResistanceSection
    camera: CameraSection = section(CameraSection)
    gravity: float = described(PARAMETERS, 'gravity', default=9.81)
    seed: int = whole('random seed of both maps of the plate', 0, default=0)
    initial: StartSection = section(StartSection)
    tilt: list[ca.SX] | None = formulas(
        'commanded over time, in counts that pull the ball along x and y; level by default',
        'counts',
        count=2,
        default=None,
    )

    @property
    def count(self) -> float:
        """Angle of one count [rad]."""
        return self.servo.count

    def nominal(self) -> BallBalancerFile:
        """Return the rig with an even plate, without resistance and dead band."""
        even, quick = {'slope': 0.0}, {'dead_band': 0.0}
        smooth = {'breakaway': np.zeros(2)}
        return self.model_copy(
            update={
                'plate': self.plate.model_copy(update=even),
                'servo': self.servo.model_copy(update=quick),
                'resistance': self.resistance.model_copy(update=smooth),
            }
        )

    @property
    def edges(self) -> tuple[Array, Array]:
        """Bounds of x and y of the ball on the plate [m], shape (2,) each."""
        most = np.full(2, self.plate.half_width - self.ball.radius)
        return -most, most

    @property
    def greatest(self) -> float:
        """Maximum angle commanded to a servo [rad]."""
        return self.servo.reach * self.servo.count

    @property
    def ball_at_start(self) -> Array:
        """Place [m] and rate [m/s] of the ball at the start, shape (4,)."""
        return np.concatenate([self.initial.ball, self.initial.ball_rate])

    def bodies(self) -> Iterable[tuple[str, float, float]]:
        """Return path, mass and volume of the ball, if it is solid."""
        if self.ball.inertia == 'solid':
            yield 'ball.mass', self.ball.mass, sphere_volume(self.ball.radius)

    def system_and_parameters(
        self, seed: int | None = None
    ) -> tuple[DrivenSystem[BallBalancer], Array]:
        """
        Return the system and its parameters p.

        Parameters
        ----------
        seed
            Random seed of the maps; the file's if None.

        """
        system = _plant(self.plate.drive, self.resistance.model, lagged=self.servo.lag > 0)
        rig = system.whole
        count, ball, servo = self.servo.count, self.ball, self.servo
        low, high = self.resistance.breakaway * count
        maps = random_maps(
            seed=self.seed if seed is None else seed,
            breakaway_length=self.resistance.length,
            slope=self.plate.slope * count,
            slope_length=self.plate.slope_length,
            half_width=self.plate.half_width,
        )
        names = rig.drive.parameters.names
        p = system.parameters.pack(
            radius=ball.radius,
            mass=ball.mass,
            inertia=INERTIAS[ball.inertia] * ball.mass * ball.radius**2,
            gravity=self.gravity,
            surface_height=self.plate.surface_height,
            half_width=self.plate.half_width,
            servo_speed=servo.speed * count,
            servo_acceleration=servo.acceleration * count,
            servo_stiffness=servo.stiffness,
            servo_lag=servo.lag,
            dead_band=servo.dead_band * count,
            breakaway_low=low,
            breakaway_high=high,
            kinetic_share=self.resistance.kinetic_share,
            stribeck_speed=self.resistance.stribeck_speed,
            **{name: getattr(self.plate, name) for name in names},
            **maps,
        )
        return system, p

    def at_rest(self, command: Array) -> Array:
        """Return the servos' part of x while they rest at their command (servos) [rad]."""
        lagged = [command] if self.servo.lag > 0 else []
        return np.concatenate([command, np.zeros_like(command), *lagged])

    def commanding(self, system: DrivenSystem[BallBalancer]) -> ca.Function:
        """
        Return ``(tilt, p) -> command``.

        From the counts (2) that pull the ball along x and y to the angles of the servos [rad], in
        whole counts within their reach.
        """
        return _commanding(system, self.servo.count, self.servo.reach)


@cache
def _plant(drive: str, resistance: str, *, lagged: bool) -> DrivenSystem[BallBalancer]:
    """Return the plate with its servos, one for all files of the same equations."""
    rig = BallBalancer(DRIVES[drive](), resistance=resistance)
    joints = rig.state.entry('servo'), rig.state.entry('servo_rate')
    return driven(rig, position_servo(TURNING, *joints, lagged=lagged))


@once_per_system
def _commanding(system: DrivenSystem[BallBalancer], count: float, reach: float) -> ca.Function:
    tilt, p = ca.SX.sym('tilt', 2), ca.SX.sym('p', system.parameters.size)
    rig, own = system.whole, p[: system.whole.parameters.size]
    angles = rig.servo_angles(limited(tilt, ca.SX(reach)) * count, own)
    counts = limited(ca.floor(angles / count + 0.5), ca.SX(reach))
    return ca.Function('commanding', [tilt, p], [ca.densify(counts * count)])
