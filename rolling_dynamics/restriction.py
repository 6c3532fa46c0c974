"""
A system restricted to what some of its controls can move.

An object on a hand that starts in the plane x-z, and is driven in it, stays there: what leads out
of the plane rests. Such states, and the parameters that are zero, are recognised from the
equations and taken out of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import has
from rolling_dynamics.contract.layout import Entry, Layout, RegulatorWeights
from rolling_dynamics.contract.rolling_system import (
    Event,
    Mode,
    MotionState,
    RollingSystem,
    Transition,
    WrittenSystem,
)
from rolling_dynamics.errors import check_names, ParameterError, SimulationError
from rolling_dynamics.simulation.guards import projection

ROUNDING = 1e-9  # by which a reset that is a Python function may move a state that rests
REST = 'rest'  # entry of the parameters: values other than zero of the states that rest


Whole = TypeVar('Whole', bound=RollingSystem)


class Restriction(WrittenSystem, Generic[Whole]):
    """
    A system restricted to some controls, to the states that they move, and in its parameters.

    State, control and parameters are those of the whole system without what is left out, under
    the same names. Of an attitude that turns about one axis of the body, cosine and sine of half
    the angle are left. What the whole system offers beside the contract is carried over, but for
    changes of charts, sensors and seeds of plans.

    Attributes
    ----------
    whole
        The whole system.
    state_index, control_index, tangent_index, parameter_index
        Positions in the whole vectors of what is left.
    rest_index
        Positions in the whole state of the states that rest.
    start
        Whole state, from which the states that rest take their values.

    """

    def __init__(
        self,
        system: Whole,
        p: ArrayLike | None,
        x: ArrayLike,
        controls: Sequence[str],
        modes: Collection[str] | None = None,
    ) -> None:
        """Find what rests; see :func:`restricted`."""
        names = system.control.names
        check_names(controls, names, 'active_controls: no control')
        if not controls:
            raise ParameterError(
                f'active_controls: some of {", ".join(names)} are needed, got none'
            )
        self.whole, self.name = system, system.name
        self.independent_variable = system.independent_variable
        self.start = np.array(x, dtype=float)
        self._whole_modes = {
            name: mode for name, mode in system.modes.items() if modes is None or name in modes
        }
        self.control_index = np.array(sorted(names.index(c) for c in controls))
        numbers = np.ones(system.parameters.size) if p is None else np.asarray(p, dtype=float)
        self.parameter_index = np.flatnonzero(numbers)
        at_rest = self._at_rest()
        self.rest_index = np.array(sorted(at_rest), dtype=int)
        self.state_index = np.delete(np.arange(system.state.size), self.rest_index)
        self._kept_rest = self.rest_index[self.start[self.rest_index] != 0]
        self.state = _part(system.state, self.state_index)
        self.control = _part(system.control, self.control_index)
        rest = tuple(system.state.names[k] for k in self._kept_rest)
        entries = _part(system.parameters, self.parameter_index).entries
        extra = (Entry(REST, rest, '', text='values of states that rest'),) if rest else ()
        self.parameters = Layout((*entries, *extra))

    # -- what rests -------------------------------------------------------------------------

    def _at_rest(self) -> set[int]:
        """Return the largest set of states that keep their start in all modes and resets."""
        n = self.whole.state.size
        symbol, t = ca.SX.sym('x', n), ca.SX.sym('t')
        u = self._spread(
            ca.SX.sym('u', len(self.control_index)), self.control_index, self.whole.control
        )
        p = self._spread(
            ca.SX.sym('p', len(self.parameter_index)), self.parameter_index, self.whole.parameters
        )
        modes = self._whole_modes.values()
        resets = [r for m in modes for r in m.resets.values() if isinstance(r, ca.Function)]
        rest = set(range(n))
        while True:
            x = ca.SX(n, 1)
            for i in range(n):
                # a state at rest at zero is a structural zero, any other value stays a symbol
                x[i] = symbol[i] if i not in rest or self.start[i] != 0 else 0
            changes = [m.dynamics(x, u, t, p) for m in modes]
            changes += [reset(x, u, t, p) - x for reset in resets]
            patterns = [ca.sparsify(change).sparsity() for change in changes]
            moved = {i for i in rest if any(pattern.has_nz(i, 0) for pattern in patterns)}
            moved = moved or self._parts_of_attitudes(rest)
            if not moved:
                return rest
            rest -= moved

    def _parts_of_attitudes(self, rest: set[int]) -> set[int]:
        """Return components that rest of quaternions that do not turn about an axis alone."""
        out: set[int] = set()
        for entry in self.whole.state.entries:
            where = self.whole.state.slice(entry.name)
            moving = {*range(where.start, where.stop)} - rest
            is_turn = len(moving) == 2 and where.start in moving
            if entry.kind == 'quaternion' and moving and not is_turn:
                out |= rest & {*range(where.start, where.stop)}
        return out

    def _spread(self, part: ca.SX, index: NDArray[np.int_], layout: Layout) -> ca.SX:
        """Return a whole vector that is structurally zero but for a part."""
        out = ca.SX(layout.size, 1)
        out[index.tolist()] = part
        return out

    # -- between part and whole -------------------------------------------------------------

    def whole_state(self, x: ca.SX, p: ca.SX) -> ca.SX:
        """Return the whole state as an expression of the own one and of the own parameters."""
        out = self._spread(x, self.state_index, self.whole.state)
        if REST in self.parameters:
            out[self._kept_rest.tolist()] = p[self.parameters.slice(REST)]
        return out

    def whole_control(self, u: ca.SX) -> ca.SX:
        """Return the whole control as an expression."""
        return self._spread(u, self.control_index, self.whole.control)

    def whole_parameters(self, p: ca.SX) -> ca.SX:
        """Return the whole parameters as an expression."""
        part = p[: len(self.parameter_index)]
        return self._spread(part, self.parameter_index, self.whole.parameters)

    def expand_states(self, states: ArrayLike, start: Array | None = None) -> Array:
        """Return whole states, shape (..., n), from own ones; rest as at the start."""
        states = np.asarray(states, dtype=float)
        out = np.broadcast_to(
            self.start if start is None else start, (*states.shape[:-1], self.whole.state.size)
        ).copy()
        out[..., self.state_index] = states
        return out

    def expand_controls(self, controls: ArrayLike) -> Array:
        """Return whole controls, shape (..., m), from own ones."""
        return self._expanded(controls, self.control_index, self.whole.control)

    def expand_parameters(self, p: ArrayLike) -> Array:
        """Return the whole parameters of own ones."""
        part = np.asarray(p, dtype=float)[..., : len(self.parameter_index)]
        return self._expanded(part, self.parameter_index, self.whole.parameters)

    def _expanded(self, part: ArrayLike, index: NDArray[np.int_], layout: Layout) -> Array:
        part = np.asarray(part, dtype=float)
        out = np.zeros((*part.shape[:-1], layout.size))
        out[..., index] = part
        return out

    def take_states(self, states: ArrayLike, tolerance: float = ROUNDING) -> Array:
        """
        Return own states, shape (..., own n), from whole ones.

        Raises
        ------
        ParameterError
            A state that rests is away from its rest by more than the tolerance, in its unit.

        """
        states, rest = np.asarray(states, dtype=float), self.rest_index
        self._check(self.whole.state, states[..., rest] - self.start[rest], rest, tolerance)
        return states[..., self.state_index]

    def take_controls(self, controls: ArrayLike, tolerance: float = 0.0) -> Array:
        """Return own controls from whole ones; raise ParameterError for one that is left out."""
        return self._taken(controls, self.control_index, self.whole.control, tolerance)

    def take_parameters(self, p: ArrayLike, x: Array | None = None) -> Array:
        """
        Return the own parameters from whole ones.

        Parameters
        ----------
        p
            Parameters of the whole system.
        x
            Whole state from which the states that rest take their values; the start if None.

        Raises
        ------
        ParameterError
            A parameter that was put in as zero has another value.

        """
        own = self._taken(p, self.parameter_index, self.whole.parameters, 0.0)
        return np.concatenate([own, (self.start if x is None else x)[self._kept_rest]])

    def _taken(
        self, whole: ArrayLike, index: NDArray[np.int_], layout: Layout, tolerance: float
    ) -> Array:
        whole = np.asarray(whole, dtype=float)
        left_out = np.delete(np.arange(whole.shape[-1]), index)
        self._check(layout, whole[..., left_out], left_out, tolerance)
        return whole[..., index]

    def _check(
        self, layout: Layout, off: Array, index: NDArray[np.int_], tolerance: float
    ) -> None:
        most = np.abs(off).max(axis=tuple(range(off.ndim - 1)), initial=0.0)
        if np.any(most > tolerance):
            names = [layout.names[k] for k in index[most > tolerance]]
            where = int(np.argmax(most))
            raise ParameterError(
                f'{", ".join(names)}: left out of the restriction of {self.name!r} to '
                f'{", ".join(self.control.names)}, where it must be zero or keep its start; it is '
                f'off by {most[where]:.3g}. Restrict with these values, or use the whole system'
            )

    def of(self, f: ca.Function, *, to_state: bool = False) -> ca.Function:
        """
        Return a function of the whole system as one of the own arguments.

        Parameters
        ----------
        f
            ``(x, u, t, p) -> ...`` or ``(x, p) -> ...`` of the whole system.
        to_state
            Whether its outputs are states, or their rates, of which the own part is taken.

        """
        s, names = self.symbols, ['x', 'u', 't', 'p']
        x, p = self.whole_state(s.x, s.p), self.whole_parameters(s.p)
        given, own = [x, self.whole_control(s.u), s.t, p], [*s]
        if f.n_in() == 2:
            given, own, names = [x, p], [s.x, s.p], ['x', 'p']
        out = [ca.densify(y) for y in f.call(given)]
        if to_state:
            out = [y[self.state_index.tolist()] for y in out]
        return ca.Function(f.name(), own, out, names, f.name_out())

    # -- the contract -----------------------------------------------------------------------

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """Modes of motion by name, those of the whole system."""
        return {
            name: Mode(
                dynamics=self.of(mode.dynamics, to_state=True),
                wrench=None if mode.wrench is None else self.of(mode.wrench),
                guards={guard: self.of(f) for guard, f in mode.guards.items()},
                resets={guard: self._reset(guard, r) for guard, r in mode.resets.items()},
                projection=None
                if mode.projection is None
                else self.of(mode.projection, to_state=True),
                slip=None if mode.slip is None else self.of(mode.slip),
            )
            for name, mode in self._whole_modes.items()
        }

    def _reset(self, guard: str, reset: ca.Function | Transition) -> ca.Function | Transition:
        if isinstance(reset, ca.Function):
            return self.of(reset, to_state=True)

        def carried(s: MotionState, u: Array) -> MotionState:
            whole = replace(
                s,
                x=self.expand_states(s.x, self._start_of(s.p)),
                p=self.expand_parameters(s.p),
            )
            return self._motion(reset(whole, self.expand_controls(u)), f'reset {guard!r}')

        return carried

    def _start_of(self, p: Array) -> Array:
        """Return the whole start with the values of rest that own parameters hold."""
        out = self.start.copy()
        out[self._kept_rest] = np.asarray(p)[len(self.parameter_index) :]
        return out

    def _motion(self, whole: MotionState, what: str) -> MotionState:
        """Return a motion of the whole system as one of the own state."""
        size = self.whole.state.size

        def taken(event: Event) -> Event:
            own = event.state.size != size
            return event if own else replace(event, state=event.state[self.state_index])

        try:
            x, p = self.take_states(whole.x), self.take_parameters(whole.p)
        except ParameterError as error:
            raise SimulationError(f'{what} at {whole.t:.6g} s: {error}') from None
        ended = None if whole.ended is None else taken(whole.ended)
        return replace(whole, x=x, p=p, events=tuple(map(taken, whole.events)), ended=ended)

    @cached_property
    def tangent_index(self) -> NDArray[np.int_]:
        """Positions of the own tangent numbers in the whole, shape (tangent.size,), no unit."""
        return np.array([self.whole.tangent.names.index(n) for n in self.tangent.names], int)

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
        return self.of(projection(self.whole), to_state=True)

    # -- what a system may offer --------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (as many types as capabilities)
        """Return what the whole system offers beside the contract, carried over."""
        if name not in CARRIED or not has(self.__dict__.get('whole'), name):
            raise AttributeError(f'a restriction has no {name!r}')
        made = CARRIED[name](self, getattr(self.whole, name))
        self.__dict__[name] = made
        return made

    def part_of_values(self, values: Mapping[str, ArrayLike]) -> dict[str, Array]:
        """Return values by entry of the whole state, of the own components alone."""
        whole, out = self.whole.state, {}
        for name, value in values.items():
            if name in self.state:
                kept = np.isin(whole.index(name), self.state_index)
                out[name] = np.asarray(value, dtype=float)[kept]
        return out

    def part_of_weights(self, weights: RegulatorWeights) -> RegulatorWeights:
        """Return the weights of the own tangent numbers and controls."""
        named = {*self.tangent.names, *(e.name for e in self.tangent.entries)}
        control = np.broadcast_to(weights.control, (self.whole.control.size,))
        return RegulatorWeights(
            tracking={k: v for k, v in weights.tracking.items() if k in named},
            terminal={k: v for k, v in weights.terminal.items() if k in named},
            control=control[self.control_index],
        )

    def on_whole(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method ``(p, x)`` of the whole system as one of the own arguments."""
        return lambda p, x: method(
            self.expand_parameters(p), self.expand_states(x, self._start_of(np.asarray(p)))
        )

    def begin_with(self, begin: Callable[..., MotionState]) -> Callable[..., MotionState]:
        """Return ``begin`` of the whole system as one of the own arguments."""

        def begun(p: Array, x: Array, u: Array, t: float = 0.0) -> MotionState:
            whole = self.on_whole(lambda p, x: begin(p, x, self.expand_controls(u), t))(p, x)
            return self._motion(whole, 'start')

        return begun


Carrier = Callable[[Restriction[Any], Any], Any]
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
    'default_weights': lambda r, given: r.part_of_weights(given),
    'rigid_bodies': lambda r, given: lambda p: given(r.expand_parameters(p)),
    'gravity': lambda r, given: lambda p: given(r.expand_parameters(p)),
    'contact_frame': lambda r, given: r.of(given),
    'given_formulas': lambda _, given: given,
    'applied_wrench': lambda r, given: None if given is None else r.of(given),
    'conserved': lambda r, given: r.on_whole(given),
    'get_ready': lambda _, given: given,
}  # fmt: skip


def restricted(
    system: Whole,
    p: ArrayLike | None,
    x: ArrayLike,
    controls: Sequence[str],
    modes: Collection[str] | None = None,
) -> Restriction[Whole]:
    """
    Return a system restricted to some of its controls.

    Parameters
    ----------
    system
        Any rolling system.
    p
        Its parameters; those that are zero are put in as zeros and are left out of the layout.
        None leaves all parameters in.
    x
        A state. States that rest there in every mode, and through every reset, while the other
        controls are zero, are taken out. Resets that are Python functions are believed to keep
        them, and checked when they run.
    controls
        Scalar names of the controls that are left.
    modes
        Names of the modes that are left; all if None.

    Returns
    -------
    Restriction
        The system, with what leads from the whole to the part and back.

    Raises
    ------
    ParameterError
        A control does not exist, or none is given.

    """
    return Restriction(system, p, x, controls, modes)


def moving_directions(
    system: RollingSystem, x: ArrayLike, controls: Sequence[str]
) -> NDArray[np.int_]:
    """Return which tangent numbers some controls can change in the first mode, whatever p is."""
    first = [next(iter(system.modes))]
    return restricted(system, None, x, controls, first).tangent_index


def _part(layout: Layout, index: NDArray[np.int_]) -> Layout:
    """Return the layout of some numbers of a vector."""
    kept, entries, start = set(index.tolist()), [], 0
    for e in layout.entries:
        own = tuple(c for k, c in enumerate(e.components, start) if k in kept)
        start += e.size
        if own:
            kind = 'turn' if e.kind == 'quaternion' and len(own) == 2 else e.kind
            entries.append(replace(e, components=own, kind=kind))
    return Layout(tuple(entries))
