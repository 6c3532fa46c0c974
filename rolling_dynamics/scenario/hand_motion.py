"""Attitudes, and the motion of a hand, in a scenario."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from pydantic import model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Layout
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.rotations import conjugate, exponential, product, rotation_matrix
from rolling_dynamics.scenario.control import check_covered, check_finite, Control
from rolling_dynamics.scenario.fields import (
    array,
    formulas,
    note,
    NotNegative,
    numbers,
    OneOf,
    refused,
    Section,
    TIME,
    vector,
)

IDENTITY = (1.0, 0.0, 0.0, 0.0)
NORM_TOLERANCE = 1e-3


def _from_rpy(angles: ca.SX) -> ca.SX:
    about = [ca.vertcat(ca.cos(angles[k] / 2), ca.SX(3, 1)) for k in range(3)]
    for k in range(3):
        about[k][1 + k] = ca.sin(angles[k] / 2)
    return product(about[2], product(about[1], about[0]))


def _from_quaternion(q: ca.SX) -> ca.SX:
    return q / ca.norm_2(q)


FORMS: dict[str, Callable[[ca.SX], ca.SX]] = {
    'quaternion': _from_quaternion,
    'rpy': _from_rpy,
    'rotation_vector': exponential,
}


def attitude_expression(form: str, components: Sequence[ca.SX]) -> ca.SX:
    """Return the unit quaternion (w, x, y, z) of an attitude given in one of ``FORMS``."""
    return FORMS[form](ca.vertcat(*components))


class Attitude(OneOf):
    """An attitude in one of its forms."""

    quaternion: Array | None = numbers('unit quaternion w, x, y, z', count=4, default=None)
    rpy: Array | None = vector(
        'roll, pitch, yaw: rotations about the fixed axes x, y, z in this order',
        'rad',
        default=None,
    )
    rotation_vector: Array | None = vector('axis times angle', 'rad', default=None)

    @model_validator(mode='after')
    def _unit(self) -> Attitude:
        if self.quaternion is not None:
            norm = float(np.linalg.norm(self.quaternion))
            if abs(norm - 1) > NORM_TOLERANCE:
                text = f'a unit quaternion w, x, y, z is needed, got norm {norm:.6g}'
                raise refused(text, 'quaternion')
        return self


def quaternion_of(attitude: Attitude | None) -> Array:
    """Return the unit quaternion (w, x, y, z) of an attitude, the identity if there is none."""
    if attitude is None:
        return np.array(IDENTITY)
    form, values = attitude.only
    q: Array = np.array(ca.DM(attitude_expression(form, [ca.SX(v) for v in values]))).reshape(4)
    unit: Array = q / np.linalg.norm(q)
    return unit


PATH = 'hand_motion'
PARTS = ('alpha_WH_H', 'a_WH_H')
ACCELERATIONS = tuple(f'{name}[{k}]' for name in PARTS for k in range(3))
Samples = tuple[Array, Array]
Formulas = Sequence[ca.SX]
TWIST = ca.SX.sym('twist', 6)  # w_WH_H and v_WH_H


@dataclass(frozen=True, eq=False, kw_only=True)
class HandStart:
    """Configuration and twist of the hand at t = 0; see the layout of the contact system."""

    q_WH: Array
    p_WH: Array
    w_WH_H: Array
    v_WH_H: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Driven:
    """
    Control of the hand.

    Attributes
    ----------
    u
        Control as an expression in the time and in ``TWIST``; by default zero acceleration.
    start
        Start of the hand, where the motion fixes it.
    samples
        Times [s] and values of a control that is linear between them.

    """

    u: ca.SX = field(default_factory=lambda: ca.SX(6, 1))
    start: HandStart | None = None
    samples: Samples | None = None

    def control(self, state: Layout, layout: Layout) -> Control:
        """Return the control of a system with the state of the hand."""
        x = ca.SX.sym('x', state.size)
        twist = ca.vertcat(x[state.slice('w_WH_H')], x[state.slice('v_WH_H')])
        u = ca.densify(ca.substitute(self.u, TWIST, twist))
        return Control(ca.Function('control', [x, TIME], [u]), layout, self.samples)


def _column(values: Formulas | None, path: str, duration: float) -> ca.SX:
    """Return formulas as a column, three zeros if there are none; all must be finite."""
    values = [ca.SX(0)] * 3 if values is None else values
    check_finite({f'{path}[{k}]': value for k, value in enumerate(values)}, TIME, duration)
    return ca.vertcat(*values)


class Acceleration(Section):
    """Formulas of the time `t`."""

    alpha_WH_H: list[ca.SX] | None = formulas(
        'angular acceleration, in H (default: zero)', 'rad/s^2', count=3, default=None
    )
    a_WH_H: list[ca.SX] | None = formulas(
        'true acceleration of the origin, in H (default: zero)', 'm/s^2', count=3, default=None
    )

    def driven(self, duration: float) -> Driven:
        """Return the control."""
        path = f'{PATH}.acceleration'
        u = (_column(getattr(self, part), f'{path}.{part}', duration) for part in PARTS)
        return Driven(u=ca.vertcat(*u))


class MovingAttitude(OneOf):
    """Attitude of H in W."""

    quaternion: list[ca.SX] | None = formulas(
        'w, x, y, z; need not have norm 1', count=4, default=None
    )
    rpy: list[ca.SX] | None = formulas(
        'roll, pitch, yaw about fixed axes x, y, z', 'rad', count=3, default=None
    )
    rotation_vector: list[ca.SX] | None = formulas(
        'axis times angle', 'rad', count=3, default=None
    )


class Motion(Section):
    """Prescribed motion as formulas of `t`; it also gives the start of the hand."""

    position: list[ca.SX] | None = formulas(
        'origin of H in W (default: 0)', 'm', count=3, default=None
    )
    attitude: MovingAttitude | None = note(default=None)

    def driven(self, duration: float) -> Driven:
        """Differentiate position and attitude twice, exactly."""
        path = f'{PATH}.motion'
        p = _column(self.position, f'{path}.position', duration)
        q = ca.SX(ca.DM(IDENTITY))
        if self.attitude is not None:
            form, given = self.attitude.only
            parts = _column(given, f'{path}.attitude.{form}', duration)
            q = attitude_expression(form, ca.vertsplit(parts))
        w = 2 * product(conjugate(q), ca.jacobian(q, TIME))[1:4]
        v_W = ca.jacobian(p, TIME)
        R = rotation_matrix(q)
        u = ca.vertcat(ca.jacobian(w, TIME), R.T @ ca.jacobian(v_W, TIME))
        outputs = [ca.densify(e) for e in (q, p, w, R.T @ v_W, u)]
        values = [
            np.array(v, dtype=float).reshape(-1) for v in ca.Function('start', [TIME], outputs)(0)
        ]
        if not all(np.all(np.isfinite(v)) for v in values):
            raise ScenarioError(
                f'{path}: position and attitude must be twice differentiable at t = 0 (and a '
                'quaternion must not vanish), got a value that is not a number'
            )
        accelerations = (f'{path}: {name} that follows' for name in ACCELERATIONS)
        check_finite(dict(zip(accelerations, ca.vertsplit(u), strict=True)), TIME, duration)
        start = HandStart(q_WH=values[0], p_WH=values[1], w_WH_H=values[2], v_WH_H=values[3])
        return Driven(u=u, start=start)


class Breakpoints(Section):
    """Accelerations at given times, linear between them."""

    times: Array = numbers(
        'increasing times, from 0 to at least the duration',
        's',
        of=NotNegative,
        count=(2, 10_000),
    )
    alpha_WH_H: Array | None = numbers(
        'one vector a time, in H (default: zero)', 'rad/s^2', of=array(count=3), default=None
    )
    a_WH_H: Array | None = numbers(
        'one vector a time, in H (default: zero)', 'm/s^2', of=array(count=3), default=None
    )

    @model_validator(mode='after')
    def _increasing(self) -> Breakpoints:
        if not np.all(np.diff(self.times) > 0):
            raise refused(f'must increase, got {self.times.tolist()}', 'times')
        return self

    def driven(self, duration: float) -> Driven:
        """Return the control."""
        path, times = f'{PATH}.breakpoints', self.times
        check_covered(f'{path}.times', times, duration)
        columns = []
        for part in PARTS:
            values = getattr(self, part)
            if values is None:
                values = np.zeros((times.size, 3))
            elif values.shape != (times.size, 3):
                raise ScenarioError(
                    f'{path}.{part}: takes {times.size} vectors, one for each of the times, got '
                    f'{len(values)}'
                )
            columns.append(values)
        samples = np.hstack(columns)
        u = ca.vertcat(*(ca.pw_lin(TIME, ca.DM(times), ca.DM(column)) for column in samples.T))
        return Driven(u=u, samples=(times, samples))


class HandMotion(OneOf):
    """Motion of the hand; by default it goes on as it started."""

    acceleration: Acceleration | None = note(default=None)
    twist_rate: list[ca.SX] | None = formulas(
        'component-wise derivative of the body twist (w_WH_H, v_WH_H), as in the paper; formulas '
        'of the time `t`',
        count=6,
        default=None,
    )
    motion: Motion | None = note(default=None)
    breakpoints: Breakpoints | None = note(default=None)

    def driven(self, duration: float) -> Driven:
        """Return what drives the hand."""
        form, given = self.only
        if form != 'twist_rate':
            driven: Driven = given.driven(duration)
            return driven
        rate = _column(given, f'{PATH}.twist_rate', duration)
        w_x_v = ca.cross(TWIST[:3], TWIST[3:])  # of the true acceleration, dv/dt + w x v
        return Driven(u=ca.vertcat(rate[0:3], rate[3:6] + w_x_v))
