"""Servos of joints: at commanded angles, and at commanded speeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import casadi as ca
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import Entry
from rolling_dynamics.driven import Servo, ServoValues

QUICKER = 4.0  # rate of the inner loop over the stiffness: critical damping
SPEED = ('servo_speed', 'rad/s', 'maximum')
POSITION_PARAMETERS = (
    SPEED,
    ('servo_acceleration', 'rad/s^2', 'maximum'),
    ('servo_stiffness', '1/s', 'rate over error near the target'),
    ('servo_lag', 's', 'time constant of the lag of the command'),
    ('dead_band', 'rad', 'of the servo: smaller errors are left alone'),
)
SPEED_PARAMETERS = (
    ('reach', 'rad', 'of each servo'),
    SPEED,
    ('servo_lag', 's', 'time constant with which the speed follows its command'),
)


def position_servo(control: str, angle: Entry, rate: Entry, *, lagged: bool) -> Servo:
    """
    Return a servo at commanded angles, which gives angular accelerations.

    Far from its target it takes the greatest acceleration, cruises at the greatest speed and
    brakes along the parabola of the greatest acceleration; close to it, it is linear with its
    stiffness, critically damped.

    Parameters
    ----------
    control
        Control of a system that it gives: accelerations [rad/s^2].
    angle, rate
        Entries of the state of that system: angles [rad] and rates [rad/s] of the joints.
    lagged
        Whether a command reaches it through a lag; without, ``servo_lag`` has no effect.

    """
    lag = _like(angle, 'servo_lagged', angle.unit, 'command after the lag')

    def law(v: ServoValues) -> tuple[ca.SX, ca.SX]:
        x, p = v.state, v.params
        target = x[lag.name] if lagged else v.command
        follows = (v.command - target) / p['servo_lag'] if lagged else ca.SX(0, 1)
        return servo_acceleration(target, x[angle.name], x[rate.name], p), follows

    return Servo(
        control=control,
        command=_like(angle, 'command', angle.unit, 'angle commanded to each servo'),
        state=(lag,) if lagged else (),
        parameters=_entries(POSITION_PARAMETERS),
        law=law,
        bounds=lambda p: dict.fromkeys(rate.components, _within(p['servo_speed'])),
    )


def speed_servo(control: str, angle: Entry, rate: Entry) -> Servo:
    """
    Return a servo at commanded speeds, which gives angular accelerations; see the position servo.

    The speed follows its command through a lag, and slows before the end of the reach.
    """

    def law(v: ServoValues) -> tuple[ca.SX, ca.SX]:
        p, at, speed = v.params, v.state[angle.name], v.state[rate.name]
        left = [(p['reach'] - sign * at) / p['servo_lag'] for sign in (1, -1)]
        asked = ca.fmax(ca.fmin(limited(v.command, p['servo_speed']), left[0]), -left[1])
        return (asked - speed) / p['servo_lag'], ca.SX(0, 1)

    return Servo(
        control=control,
        command=_like(rate, 'command', rate.unit, 'speed of each servo'),
        parameters=_entries(SPEED_PARAMETERS),
        law=law,
        bounds=lambda p: {
            **dict.fromkeys(angle.components, _within(p['reach'])),
            **dict.fromkeys(rate.components, _within(p['servo_speed'])),
        },
    )


def servo_acceleration(target: ca.SX, angle: ca.SX, rate: ca.SX, p: Mapping[str, ca.SX]) -> ca.SX:
    """Return the angular accelerations [rad/s^2] of servos at angles; see position_servo."""
    most, k, band = p['servo_acceleration'], p['servo_stiffness'], p['dead_band']
    off = target - angle
    off -= limited(off, band)
    before = off - rate * ca.fabs(rate) / (2 * most) - rate / k  # where braking begins
    inner = QUICKER * k
    wanted = inner * before / (ca.fabs(rate) / most + 1 / k)  # its slope by the rate is inner
    speed = p['servo_speed']
    wanted = ca.fmax(ca.fmin(wanted, inner * (speed - rate)), inner * (-speed - rate))
    return limited(wanted, most)


def limited(value: ca.SX, limit: ca.SX) -> ca.SX:
    """Return a value between -limit and limit."""
    return ca.fmax(ca.fmin(value, limit), -limit)


def _like(entry: Entry, name: str, unit: str, text: str) -> Entry:
    """Return an entry with the components and the scale of another one."""
    names = tuple(f'{name}{c.removeprefix(entry.name)}' for c in entry.components)
    return replace(entry, name=name, components=names, unit=unit, text=text)


def _entries(rows: Sequence[tuple[str, str, str]]) -> tuple[Entry, ...]:
    return tuple(Entry(name, (name,), unit, text=text) for name, unit, text in rows)


def _within(limit: Array) -> tuple[float, float]:
    most = float(limit[0])
    return -most, most
