"""Servos of joints, and systems that a servo drives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.carried import CARRIED, CarriedSystem, Carrier, Whole, with_states
from rolling_dynamics.contract.rolling_system import Entry, Jump, Layout, MotionState, Transition
from rolling_dynamics.errors import ParameterError, suggestion

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
    Return a servo with commanded angles, whose output is angular accelerations.

    Far from its target it uses the maximum acceleration, cruises at the maximum speed and brakes
    along the parabola of the maximum acceleration. Near the target it is linear with its
    stiffness, critically damped.

    Parameters
    ----------
    control
        Control of a system that it provides: accelerations [rad/s^2].
    angle, rate
        Entries of the state of that system: angles [rad] and rates [rad/s] of the joints.
    lagged
        Whether a command passes through a lag; if not, ``servo_lag`` has no effect.

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
        follows=angle.components + rate.components + (lag.components if lagged else ()),
    )


def speed_servo(control: str, angle: Entry, rate: Entry) -> Servo:
    """
    Return a servo with commanded speeds, whose output is angular accelerations.

    The speed follows its command through a lag, and slows before the end of its range.
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
    """Return the angular accelerations [rad/s^2] of position servos; see position_servo."""
    most, k, band = p['servo_acceleration'], p['servo_stiffness'], p['dead_band']
    off = target - angle
    off -= limited(off, band)
    before = off - rate * ca.fabs(rate) / (2 * most) - rate / k  # start of braking
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


class ServoValues(NamedTuple):
    """
    Expressions for the equations of a servo, by the names of entries.

    Attributes
    ----------
    command
        Its command.
    state, params
        States and parameters of the driven system and of the servo.

    """

    command: ca.SX
    state: Mapping[str, ca.SX]
    params: Mapping[str, ca.SX]


@dataclass(frozen=True, eq=False, kw_only=True)
class Servo:
    """
    A servo: how a command becomes a control over time.

    Attributes
    ----------
    control
        Entry of the control of a system that it provides.
    command
        Entry of the control that replaces it.
    state, parameters
        Entries of the state and parameters of the servo.
    law
        :class:`ServoValues` -> the control, and the rates of the state of the servo, concatenated.
    bounds
        Parameters of the servo -> minimum and maximum of components of the state.
    follows
        Components of the state, including the servo's, that depend on the commands alone and
        forget their initial values.

    """

    control: str
    command: Entry
    state: tuple[Entry, ...] = ()
    parameters: tuple[Entry, ...] = ()
    law: Callable[[ServoValues], tuple[ca.SX, ca.SX]]
    bounds: Callable[[Mapping[str, Array]], Mapping[str, tuple[float, float]]] = lambda _: {}
    follows: tuple[str, ...] = ()


class DrivenSystem(CarriedSystem[Whole]):
    """
    A system with a servo on one of its controls.

    State and parameters are those of the whole system, then those of the servo.
    """

    carried: ClassVar[Mapping[str, Carrier]] = {
        **CARRIED,
        'state_bounds': lambda s, given: s._bounds_with(given),  # noqa: SLF001
        'rest_goal': lambda s, given: lambda x: given(s.expand_states(x)),
    }

    def __init__(self, system: Whole, servo: Servo) -> None:
        """Compose them; see :func:`driven`."""
        names = [entry.name for entry in system.control.entries]
        if servo.control not in names:
            raise ParameterError(
                f'servo: no control {servo.control!r} of {system.name!r}'
                f'{suggestion(servo.control, names)}'
            )
        size = system.control.entry(servo.control).size
        if servo.command.size != size:
            raise ParameterError(
                f'servo: {servo.control!r} of {system.name!r} has {size} numbers, the command '
                f'{servo.command.name!r} has {servo.command.size}'
            )
        self.whole, self.servo, self.name = system, servo, system.name
        self.independent_variable, self.follows = system.independent_variable, servo.follows
        self._whole_modes = system.modes
        commands = [
            servo.command if e.name == servo.control else e for e in system.control.entries
        ]
        self.control = Layout(tuple(commands))
        self.state = Layout((*system.state.entries, *servo.state))
        self.parameters = Layout((*system.parameters.entries, *servo.parameters))
        self._sizes = system.state.size, system.parameters.size

    @cached_property
    def _given(self) -> tuple[ca.SX, ca.SX]:
        """Control of the whole system, and rates of the state of the servo."""
        s, servo = self.symbols, self.servo
        u = s.u[self.control.slice(servo.command.name)]
        given, rates = servo.law(ServoValues(u, self.state.split(s.x), s.params))
        parts = self.control.split(s.u) | {servo.command.name: given}
        control = ca.vertcat(*(parts[e.name] for e in self.control.entries))
        if control.numel() != s.u.numel() or rates.numel() != self.state.size - self._sizes[0]:
            raise ParameterError(
                f'servo of {self.name!r}: its law gives {given.numel()} controls and '
                f'{rates.numel()} rates, {u.numel()} and {self.state.size - self._sizes[0]} are '
                'needed'
            )
        return control, rates

    def arguments(self) -> list[ca.SX]:
        """Return x, u, t, p of the whole system as expressions in the symbols of this one."""
        s, (n, k) = self.symbols, self._sizes
        return [s.x[:n], self._given[0], s.t, s.p[:k]]

    def own_state(self, whole: ca.SX, *, rate: bool) -> ca.SX:
        """Return a state of the whole system with that of the servo, or the rates of both."""
        return ca.vertcat(whole, self._given[1] if rate else self.symbols.x[self._sizes[0] :])

    def _reset(self, guard: str, reset: ca.Function | Transition) -> ca.Function | Transition:
        if not isinstance(reset, Jump):
            return super()._reset(guard, reset)
        if reset.function is None:
            return reset
        x, *outcome = reset.function.call(self.arguments())
        own = ca.densify(self.own_state(x, rate=False))
        return replace(reset, function=ca.Function('jump', [*self.symbols], [own, *outcome]))

    def expand_states(self, states: ArrayLike) -> Array:
        """Return states of the whole system, shape (..., n), without the servo's."""
        return np.asarray(states, dtype=float)[..., : self._sizes[0]]

    def expand_parameters(self, p: ArrayLike) -> Array:
        """Return the parameters of the whole system, without the servo's."""
        return np.asarray(p, dtype=float)[..., : self._sizes[1]]

    def whole_motion(self, s: MotionState) -> MotionState:
        """Return a motion without the state of the servo."""
        return replace(s, x=self.expand_states(s.x), p=self.expand_parameters(s.p))

    @cached_property
    def _control(self) -> ca.Function:
        return self.function('control', self._given[0])

    def control_of_whole(self, s: MotionState, u: Array) -> Array:
        """Return the control from the servo."""
        return np.array(self._control(s.x, u, s.t, s.p)).ravel()

    def own_motion(self, whole: MotionState, before: MotionState, what: str) -> MotionState:  # noqa: ARG002
        """Return a motion of the whole system with the state of the servo, which does not jump."""
        servo, k = before.x[self._sizes[0] :], self._sizes[1]
        motion = with_states(whole, lambda y: np.concatenate([y, servo]), self._sizes[0])
        p = np.concatenate([whole.p, before.p[k:]])
        return replace(motion, x=np.concatenate([whole.x, servo]), p=p)

    def _bounds_with(
        self, given: Callable[[Array], Mapping[str, tuple[float, float]]]
    ) -> Callable[[Array], Mapping[str, tuple[float, float]]]:
        """Return the bounds of the whole system with the servo's."""

        def bounds(p: Array) -> Mapping[str, tuple[float, float]]:
            own = self.servo.bounds(self.parameters.unpack(p))
            return {**given(self.expand_parameters(p)), **own}

        return bounds


def driven(system: Whole, servo: Servo) -> DrivenSystem[Whole]:
    """
    Return a system with a servo on one of its controls.

    Parameters
    ----------
    system
        Any rolling system.
    servo
        The servo.

    Raises
    ------
    ParameterError
        The system has no such control, or one of another size.

    """
    return DrivenSystem(system, servo)
