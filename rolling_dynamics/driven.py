"""Systems that servos drive: a servo with a state of its own gives a control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.carried import CARRIED, CarriedSystem, Carrier, Whole, with_states
from rolling_dynamics.contract.layout import Entry, Layout
from rolling_dynamics.contract.rolling_system import Jump, MotionState, Transition
from rolling_dynamics.errors import ParameterError, suggestion


class ServoValues(NamedTuple):
    """
    What the law of a servo is written from, as expressions by the names of entries.

    Attributes
    ----------
    command
        Its command.
    state, params
        States and parameters of the system that it drives, and its own.

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
        Entry of the control of a system that it gives.
    command
        Entry of the control that stands in its place.
    state, parameters
        Entries of its own.
    law
        :class:`ServoValues` -> the control, and the rates of its own state, one after another.
    bounds
        Own parameters by entry -> least and greatest value of components of the state.

    """

    control: str
    command: Entry
    state: tuple[Entry, ...] = ()
    parameters: tuple[Entry, ...] = ()
    law: Callable[[ServoValues], tuple[ca.SX, ca.SX]]
    bounds: Callable[[Mapping[str, Array]], Mapping[str, tuple[float, float]]] = lambda _: {}


class DrivenSystem(CarriedSystem[Whole]):
    """
    A system one of whose controls a servo gives.

    Its state is that of the whole system, then the servo's; so are its parameters.
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
        self.independent_variable = system.independent_variable
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
        """Control of the whole, and rates of the state of the servo."""
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
        """Return x, u, t, p of the whole as expressions of the own symbols."""
        s, (n, k) = self.symbols, self._sizes
        return [s.x[:n], self._given[0], s.t, s.p[:k]]

    def own_state(self, whole: ca.SX, *, rate: bool) -> ca.SX:
        """Return a whole state with that of the servo, or their rates."""
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
        """Return states of the whole system, shape (..., n), without those of the servo."""
        return np.asarray(states, dtype=float)[..., : self._sizes[0]]

    def expand_parameters(self, p: ArrayLike) -> Array:
        """Return the parameters of the whole system, without those of the servo."""
        return np.asarray(p, dtype=float)[..., : self._sizes[1]]

    def whole_motion(self, s: MotionState) -> MotionState:
        """Return a motion without the state of the servo."""
        return replace(s, x=self.expand_states(s.x), p=self.expand_parameters(s.p))

    @cached_property
    def _control(self) -> ca.Function:
        return self.function('control', self._given[0])

    def control_of_whole(self, s: MotionState, u: Array) -> Array:
        """Return the control that the servo gives."""
        return np.array(self._control(s.x, u, s.t, s.p)).ravel()

    def own_motion(self, whole: MotionState, before: MotionState, what: str) -> MotionState:  # noqa: ARG002
        """Return a motion of the whole with the state of the servo, which does not jump."""
        servo, k = before.x[self._sizes[0] :], self._sizes[1]
        motion = with_states(whole, lambda y: np.concatenate([y, servo]), self._sizes[0])
        p = np.concatenate([whole.p, before.p[k:]])
        return replace(motion, x=np.concatenate([whole.x, servo]), p=p)

    def _bounds_with(
        self, given: Callable[[Array], Mapping[str, tuple[float, float]]]
    ) -> Callable[[Array], Mapping[str, tuple[float, float]]]:
        """Return the bounds of the whole system with those of the servo."""

        def bounds(p: Array) -> Mapping[str, tuple[float, float]]:
            own = self.servo.bounds(self.parameters.unpack(p))
            return {**given(self.expand_parameters(p)), **own}

        return bounds


def driven(system: Whole, servo: Servo) -> DrivenSystem[Whole]:
    """
    Return a system one of whose controls a servo gives.

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
