"""A ball on a plate that servos tilt, from parts: ball balancer and labyrinth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
import math

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry, Layout, Symbols, WrittenSystem
from rolling_dynamics.mechanism import (
    Custom,
    Driven,
    Machine,
    MachineSystem,
    PureRolling,
    Revolution,
)

WAVES = 24  # of each map
GRID = 81  # places along each side at which the steepest slope is looked for
SPREAD = 1.5  # how far the breakaway angle goes to the ends of its range
AXES = ('x', 'y')
TURNING = 'turning'  # control of the plate


def wave_entries(name: str, unit: str) -> list[Entry]:
    """Return the parameters of a map."""
    parts = (('amplitude', unit), ('wave_x', 'rad/m'), ('wave_y', 'rad/m'), ('phase', 'rad'))
    return [
        Entry(f'{name}_{part}', tuple(f'{name}_{part}_{k}' for k in range(WAVES)), part_unit)
        for part, part_unit in parts
    ]


def wave_sum(name: str, place: ca.SX, p: Mapping[str, ca.SX]) -> ca.SX:
    """Return the value of a map at a place (2) [m]."""
    angle = p[f'{name}_wave_x'] * place[0] + p[f'{name}_wave_y'] * place[1]
    return ca.dot(p[f'{name}_amplitude'], ca.cos(angle + p[f'{name}_phase']))


def breakaway_angle(place: ca.SX, p: Mapping[str, ca.SX]) -> ca.SX:
    """Return the tilt [rad] at which a ball at rest at a place starts to roll."""
    s = wave_sum('breakaway', place, p)
    fraction = (1 + s / ca.sqrt(1 + s * s)) / 2  # within the range, whatever the waves are
    return p['breakaway_low'] + fraction * (p['breakaway_high'] - p['breakaway_low'])


def random_waves(
    name: str, length: float, amplitude: float, rng: np.random.Generator
) -> dict[str, Array]:
    """
    Return a map drawn from a Gaussian field, as entries of p.

    Parameters
    ----------
    name
        ``breakaway`` or ``height``.
    length
        Correlation length [m]: the covariance at a distance d is exp(-d^2 / (2 length^2)).
    amplitude
        Standard deviation, in the unit of the map.
    rng
        Source of random numbers.

    """
    waves = rng.normal(scale=1 / length, size=(2, WAVES))
    return {
        f'{name}_amplitude': np.full(WAVES, amplitude * math.sqrt(2 / WAVES)),
        f'{name}_wave_x': waves[0],
        f'{name}_wave_y': waves[1],
        f'{name}_phase': rng.uniform(0, 2 * math.pi, WAVES),
    }


def random_maps(
    *, seed: int, breakaway_length: float, slope: float, slope_length: float, half_width: float
) -> dict[str, Array]:
    """
    Return both maps of a plate, as entries of p.

    Parameters
    ----------
    seed
        Random seed.
    breakaway_length, slope_length
        Correlation lengths of breakaway angle and height [m].
    slope
        Steepest slope of the uneven plate [rad].
    half_width
        Of the part on which it is the steepest [m].

    """
    rng = np.random.default_rng(seed)
    resistance = random_waves('breakaway', breakaway_length, SPREAD, rng)
    height = random_waves('height', slope_length, 1.0, rng)
    height['height_amplitude'] *= slope / max(_steepest(height, half_width), 1e-300)
    return resistance | height


def _steepest(height: Mapping[str, Array], half_width: float) -> float:
    along = np.linspace(-half_width, half_width, GRID)
    x, y = (axis[..., None] for axis in np.meshgrid(along, along))
    k_x, k_y = height['height_wave_x'], height['height_wave_y']
    wave = height['height_amplitude'] * np.sin(k_x * x + k_y * y + height['height_phase'])
    return float(np.hypot(wave @ k_x, wave @ k_y).max())


Parameters = Mapping[str, ca.SX]


class Gimbal:
    """Two axes: the outer one along y, the inner one along -x, both through the origin of W."""

    servos, parameters = 2, Layout(())

    def pose(self, angles: ca.SX, p: Parameters) -> tuple[ca.SX, ca.SX]:
        """Return R_WH and the origin of the surface."""
        R = tilted(angles)
        return R, p['surface_height'] * R[:, 2]

    def servo_angles(self, tilt: ca.SX, p: Parameters) -> ca.SX:  # noqa: ARG002
        """Return the tilts: each servo turns an axis."""
        return tilt


class Legs:
    """
    Three servos whose arms carry the plate by ball joints, each in a groove towards its middle.

    The arms turn in vertical planes at 0, 120 and 240 degrees from x; at angle zero they point
    outwards and are level. The joints lie in the plane of the plate. Its middle is the Fermat
    point of their triangle, from which they are 120 degrees apart.
    """

    servos = 3
    parameters = Layout(
        (
            Entry('axle_radius', ('axle_radius',), 'm', text='of the servos about the middle'),
            Entry('arm_length', ('arm_length',), 'm', text='from axle to ball joint'),
        )
    )

    def pose(self, angles: ca.SX, p: Parameters) -> tuple[ca.SX, ca.SX]:
        """Return R_WH and the origin of the surface."""
        reach = p['axle_radius'] + p['arm_length'] * ca.cos(angles)
        rise = p['arm_length'] * ca.sin(angles)
        joints = [ca.vertcat(reach[k] * _outwards(k), rise[k]) for k in range(3)]
        across = ca.cross(joints[1] - joints[0], joints[2] - joints[0])
        double_area = ca.norm_2(across)
        weights = _fermat_weights(joints, double_area)
        middle = sum(w * joint for w, joint in zip(weights, joints, strict=True)) / sum(weights)
        z = across / double_area
        x = (joints[0] - middle) / ca.norm_2(joints[0] - middle)
        return ca.horzcat(x, ca.cross(z, x), z), middle + p['surface_height'] * z

    def servo_angles(self, tilt: ca.SX, p: Parameters) -> ca.SX:
        """Return where each joint's circle meets a plane through the middle of the axles."""
        n = tilted(tilt)[:, 2]
        out = []
        for k in range(3):
            radial = ca.dot(n[:2], _outwards(k))
            to_go = -radial * p['axle_radius'] / p['arm_length']
            size = ca.sqrt(radial**2 + n[2] ** 2)
            out.append(ca.atan2(n[2], radial) - ca.acos(to_go / size))
        return ca.vertcat(*out)


def tilted(tilt: ca.SX) -> ca.SX:
    """Return R of a turn about y and then about the turned -x."""
    c, s = ca.cos(tilt[0]), ca.sin(tilt[0])
    outer = ca.vertcat(ca.horzcat(c, 0, s), ca.horzcat(0, 1, 0), ca.horzcat(-s, 0, c))
    c, s = ca.cos(tilt[1]), ca.sin(tilt[1])
    inner = ca.vertcat(ca.horzcat(1, 0, 0), ca.horzcat(0, c, s), ca.horzcat(0, -s, c))
    return outer @ inner


def _outwards(leg: int) -> ca.SX:
    angle = leg * 2 * ca.pi / 3
    return ca.vertcat(ca.cos(angle), ca.sin(angle))


def _fermat_weights(joints: list[ca.SX], double_area: ca.SX) -> list[ca.SX]:
    """Return the barycentric coordinates of the Fermat point, X(13) of Kimberling."""
    sides = [ca.sumsqr(joints[(k + 1) % 3] - joints[(k + 2) % 3]) for k in range(3)]
    out = []
    for k in range(3):
        a, b, c = sides[k], sides[(k + 1) % 3], sides[(k + 2) % 3]
        out.append(a**2 - 2 * (b - c) ** 2 + a * (b + c + 2 * ca.sqrt(3) * double_area))
    return out


Drive = Gimbal | Legs
DRIVES: Mapping[str, type[Drive]] = {'gimbal': Gimbal, 'legs': Legs}


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
    p: Mapping[str, ca.SX],
) -> ca.SX:
    """
    Add a driven plate, and a homogeneous ball that rolls on it without slip or spin.

    The control ``turning``, the acceleration of the servos, is returned; :func:`driven` has
    servos give it.

    Parameters
    ----------
    machine
        The machine; the angles of the servos are declared as its variable.
    state
        Entries: contact point on the plate and its rate, angles of the servos and their rates.
    pose
        R_WH (3, 3) and origin of the surface in W (3) [m], in the angles of the servos.
    p
        ``radius``, ``mass`` and ``inertia`` of the ball, ``gravity``.

    """
    ball, ball_rate, servo, servo_rate = state
    machine.gravity_W = ca.vertcat(0, 0, -p['gravity'])
    names = tuple(f'turning{c.removeprefix(servo.name)}' for c in servo.components)
    text = 'acceleration of each servo'
    acceleration = machine.control(Entry(TURNING, names, 'rad/s^2', text=text, scale=10.0))
    plate = Custom(coordinates=servo, speed=servo_rate, R_PB=pose[0], p_PB=pose[1])
    machine.body('plate', Driven(joint=plate, rates=acceleration))
    rolling = PureRolling(radius=p['radius'], contact=ball, speed=ball_rate)
    machine.body('ball', rolling, Revolution(p['mass'], p['inertia']), on='plate')
    return acceleration


class BallOnPlate(WrittenSystem):
    """
    A ball on a plate as a rolling system; subclasses fill in its modes.

    Attributes
    ----------
    parts
        The machine as a system that only rolls.

    """

    def __init__(self, machine: Machine) -> None:
        """Take a machine with a ball on a plate."""
        self.parts = MachineSystem(machine)
        self.conserved = self.parts.conserved
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

    @property
    def contact_frame(self) -> ca.Function:
        """``(x, p) -> X_WP`` at the contact, in axes of the plate."""
        return self.parts.contact_frame

    @cached_property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Energy [J] of the ball, which servos, walls and resistance change."""
        return self.parts.invariants

    @cached_property
    def free(self) -> ca.SX:
        """Acceleration (2) [m/s^2] of the contact on the plate without resistance."""
        return self.parts.machine.dynamics.rates

    def wrench(self, acceleration: ca.SX) -> ca.SX:
        """Return torque and force (6) on the ball at the contact, in H, for an acceleration."""
        return self.parts.wrench(acceleration, 'ball')
