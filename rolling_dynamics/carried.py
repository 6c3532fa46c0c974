"""Systems with the equations of another one, but other states, controls and parameters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import has, smooth_mode
from rolling_dynamics.contract.rolling_system import (
    Event,
    Mode,
    MotionState,
    RollingSystem,
    Transition,
    WrittenSystem,
)
from rolling_dynamics.simulation.guards import projection

Whole = TypeVar('Whole', bound=RollingSystem)
Carrier = Callable[[Any, Any], Any]  # of a carried system and of capabilities of the whole one


class CarriedSystem(WrittenSystem, Generic[Whole]):
    """
    A system with the equations of another one, the whole system.

    Its capabilities are carried over, except changes of charts, sensors and seeds of plans.

    Attributes
    ----------
    whole
        The whole system.

    """

    whole: Whole
    carried: ClassVar[Mapping[str, Carrier]]  # capabilities that are carried over
    _whole_modes: Mapping[str, Mode]

    # -- for subclasses to implement --------------------------------------------------------

    @abstractmethod
    def arguments(self) -> list[ca.SX]:
        """Return x, u, t, p of the whole system as expressions in the symbols of this one."""

    @abstractmethod
    def own_state(self, whole: ca.SX, *, rate: bool) -> ca.SX:
        """Return the state of this system from the whole state, or its rates from whole rates."""

    @abstractmethod
    def expand_states(self, states: ArrayLike) -> Array:
        """Return whole states, shape (..., n), from states of this system."""

    @abstractmethod
    def expand_parameters(self, p: ArrayLike) -> Array:
        """Return the whole parameters from parameters of this system."""

    @abstractmethod
    def whole_motion(self, s: MotionState) -> MotionState:
        """Return a motion state of this system as one of the whole system."""

    @abstractmethod
    def control_of_whole(self, s: MotionState, u: Array) -> Array:
        """Return the control of the whole system from a control of this one."""

    @abstractmethod
    def own_motion(self, whole: MotionState, before: MotionState, what: str) -> MotionState:
        """Return a later motion state of the whole system as one of this system."""

    # -- the contract -----------------------------------------------------------------------

    def of(self, f: ca.Function, *, state: bool = False, rate: bool = False) -> ca.Function:
        """
        Return a function of the whole system as a function of this system's arguments.

        Parameters
        ----------
        f
            ``(x, u, t, p) -> ...`` or ``(x, p) -> ...`` of the whole system.
        state, rate
            Whether its outputs are states, or rates of them, to be converted to this system.

        """
        s, names = self.symbols, ['x', 'u', 't', 'p']
        given, own = self.arguments(), [*s]
        if f.n_in() == 2:
            given, own, names = [given[0], given[3]], [s.x, s.p], ['x', 'p']
        out = [ca.densify(y) for y in f.call(given)]
        if state or rate:
            out = [ca.densify(self.own_state(y, rate=rate)) for y in out]
        return ca.Function(f.name(), own, out, names, f.name_out())

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """Modes of motion of the whole system, by name."""
        return {name: self._own_mode(mode) for name, mode in self._whole_modes.items()}

    @cached_property
    def smooth_mode(self) -> Mode:
        """The mode of the whole system for which plans and controllers are made."""
        first = next(iter(self._whole_modes))
        own = first == next(iter(self.whole.modes))
        return self._own_mode(smooth_mode(self.whole)) if own else self.modes[first]

    def _own_mode(self, mode: Mode) -> Mode:
        return Mode(
            dynamics=self.of(mode.dynamics, rate=True),
            wrench=None if mode.wrench is None else self.of(mode.wrench),
            guards={guard: self.of(f) for guard, f in mode.guards.items()},
            resets={guard: self._reset(guard, r) for guard, r in mode.resets.items()},
            projection=None if mode.projection is None else self.of(mode.projection, state=True),
            slip=None if mode.slip is None else self.of(mode.slip),
        )

    def _reset(self, guard: str, reset: ca.Function | Transition) -> ca.Function | Transition:
        if isinstance(reset, ca.Function):
            return self.of(reset, state=True)

        def carried(s: MotionState, u: Array) -> MotionState:
            after = reset(self.whole_motion(s), self.control_of_whole(s, u))
            return self.own_motion(after, s, f'reset {guard!r}')

        return carried

    @cached_property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Named functions ``(x, u, t, p) -> scalar``."""
        return {name: self.of(f) for name, f in self.whole.invariants.items()}

    @cached_property
    def pose(self) -> ca.Function:
        """``(x, p) -> poses`` of the bodies in W."""
        return self.of(self.whole.pose)

    @cached_property
    def projection(self) -> ca.Function:
        """``(x, p) -> x`` on the constraints of the whole system."""
        return self.of(projection(self.whole), state=True)

    # -- capabilities -------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (as many types as capabilities)
        """Return a capability of the whole system, carried over."""
        if name not in self.carried or not has(self.__dict__.get('whole'), name):
            raise AttributeError(f'a {type(self).__name__} has no {name!r}')
        made = self.carried[name](self, getattr(self.whole, name))
        self.__dict__[name] = made
        return made

    def on_whole(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method ``(p, x)`` of the whole system, with arguments of this system."""

        def called(p: ArrayLike, x: ArrayLike) -> Any:  # noqa: ANN401  as the method has it
            given = MotionState(t=0.0, x=np.asarray(x), mode='', p=np.asarray(p))
            whole = self.whole_motion(given)
            return method(whole.p, whole.x)

        return called

    def begin_with(self, begin: Callable[..., MotionState]) -> Callable[..., MotionState]:
        """Return ``begin`` of the whole system, with arguments of this system."""

        def begin_own(p: ArrayLike, x: ArrayLike, u: ArrayLike, t: float = 0.0) -> MotionState:
            given = MotionState(t=t, x=np.asarray(x), mode='', p=np.asarray(p))
            whole = self.whole_motion(given)
            after = begin(whole.p, whole.x, self.control_of_whole(given, np.asarray(u)), t)
            return self.own_motion(after, given, 'start')

        return begin_own


def with_states(motion: MotionState, own: Callable[[Array], Array], size: int) -> MotionState:
    """Return a motion whose events hold states of this system, not of the whole system."""

    def taken(event: Event) -> Event:
        return replace(event, state=own(event.state)) if event.state.size == size else event

    ended = None if motion.ended is None else taken(motion.ended)
    return replace(motion, events=tuple(map(taken, motion.events)), ended=ended)


CARRIED: Mapping[str, Carrier] = {
    'envelope': lambda r, given: {name: r.of(f) for name, f in given.items()},
    'state_bounds': lambda r, given: lambda p: {
        name: bounds
        for name, bounds in given(r.expand_parameters(p)).items()
        if name in r.state.names
    },
    'check_state': lambda r, given: r.on_whole(given),
    'begin': lambda r, given: r.begin_with(given),
    'rest_goal': lambda r, given: lambda x: r.part_of_values(given(r.expand_states(x))),
    'chart_view': lambda r, given: (given[0], r.of(given[1])),
    'object_motion': lambda r, given: lambda entry: r.of(given(entry)),
    'rigid_bodies': lambda r, given: lambda p: given(r.expand_parameters(p)),
    'gravity': lambda r, given: lambda p: given(r.expand_parameters(p)),
    'contact_frame': lambda r, given: r.of(given),
    'given_formulas': lambda _, given: given,
    'applied_wrench': lambda r, given: None if given is None else r.of(given),
    'conserved': lambda r, given: r.on_whole(given),
    'get_ready': lambda _, given: given,
}  # fmt: skip
