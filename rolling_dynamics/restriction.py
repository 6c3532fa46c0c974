"""
A system restricted to the states that some of its controls can move.

An object on a hand that starts in the plane x-z, and is driven in it, stays there: states out of
the plane are constant. Such states, and parameters that are zero, are recognised from the
equations and eliminated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.carried import CARRIED, CarriedSystem, Carrier, Whole, with_states
from rolling_dynamics.contract.rolling_system import (
    Entry,
    Layout,
    MotionState,
    RegulatorWeights,
    RollingSystem,
)
from rolling_dynamics.errors import check_names, ParameterError, SimulationError

ROUNDING = 1e-9  # tolerance for a constant state in a reset that is a Python function
REST = 'rest'  # entry of the parameters: nonzero values of the constant states


class Restriction(CarriedSystem[Whole]):
    """
    A system restricted to some controls, to the states that they move, and in its parameters.

    State, control and parameters are those of the whole system without the eliminated ones, under
    the same names. An attitude that turns about one axis of the body is reduced to cosine and sine
    of half the angle.

    Attributes
    ----------
    state_index, control_index, tangent_index, parameter_index
        Positions of the remaining components in the whole vectors.
    rest_index
        Positions of the constant states in the whole state.
    start
        Whole state, from which the constant states take their values.

    """

    carried: ClassVar[Mapping[str, Carrier]] = {
        **CARRIED,
        'default_weights': lambda r, given: r.part_of_weights(given),
    }

    def __init__(
        self,
        system: Whole,
        p: ArrayLike | None,
        x: ArrayLike,
        controls: Sequence[str],
        modes: Collection[str] | None = None,
    ) -> None:
        """Determine the constant states; see :func:`restricted`."""
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

    # -- constant states --------------------------------------------------------------------

    def _at_rest(self) -> set[int]:
        """Return the largest set of states that are constant in all modes and resets."""
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
                # a constant state of zero is a structural zero, any other value stays a symbol
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
        """Return the constant components of quaternions that do not turn about one axis only."""
        out: set[int] = set()
        for entry in self.whole.state.entries:
            where = self.whole.state.slice(entry.name)
            moving = {*range(where.start, where.stop)} - rest
            is_turn = len(moving) == 2 and where.start in moving
            if entry.kind == 'quaternion' and moving and not is_turn:
                out |= rest & {*range(where.start, where.stop)}
        return out

    def _spread(self, part: ca.SX, index: NDArray[np.int_], layout: Layout) -> ca.SX:
        """Return a whole vector that is structurally zero except for a part."""
        out = ca.SX(layout.size, 1)
        out[index.tolist()] = part
        return out

    # -- between part and whole -------------------------------------------------------------

    def whole_state(self, x: ca.SX, p: ca.SX) -> ca.SX:
        """Return the whole state as an expression of this system's state and parameters."""
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
        """Return whole states, shape (..., n), from states of this one; the rest is constant."""
        states = np.asarray(states, dtype=float)
        out = np.broadcast_to(
            self.start if start is None else start, (*states.shape[:-1], self.whole.state.size)
        ).copy()
        out[..., self.state_index] = states
        return out

    def expand_controls(self, controls: ArrayLike) -> Array:
        """Return whole controls, shape (..., m), from controls of this system."""
        return self._expanded(controls, self.control_index, self.whole.control)

    def expand_parameters(self, p: ArrayLike) -> Array:
        """Return the whole parameters from parameters of this system."""
        part = np.asarray(p, dtype=float)[..., : len(self.parameter_index)]
        return self._expanded(part, self.parameter_index, self.whole.parameters)

    def _expanded(self, part: ArrayLike, index: NDArray[np.int_], layout: Layout) -> Array:
        part = np.asarray(part, dtype=float)
        out = np.zeros((*part.shape[:-1], layout.size))
        out[..., index] = part
        return out

    def take_states(self, states: ArrayLike, tolerance: float = ROUNDING) -> Array:
        """
        Return states of this system, shape (..., n), from whole ones.

        Raises
        ------
        ParameterError
            A constant state differs from its value by more than the tolerance, in its unit.

        """
        states, rest = np.asarray(states, dtype=float), self.rest_index
        self._check(self.whole.state, states[..., rest] - self.start[rest], rest, tolerance)
        return states[..., self.state_index]

    def take_controls(self, controls: ArrayLike, tolerance: float = 0.0) -> Array:
        """Return controls of this system from whole ones; raise ParameterError for others."""
        return self._taken(controls, self.control_index, self.whole.control, tolerance)

    def take_parameters(self, p: ArrayLike, x: Array | None = None) -> Array:
        """
        Return the parameters of this system from whole ones.

        Parameters
        ----------
        p
            Parameters of the whole system.
        x
            Whole state from which the constant states take their values; the start if None.

        Raises
        ------
        ParameterError
            A parameter that was eliminated as zero has another value.

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

    # -- as a carried system ----------------------------------------------------------------

    def arguments(self) -> list[ca.SX]:
        """Return x, u, t, p of the whole system as expressions in the symbols of this one."""
        s = self.symbols
        whole = self.whole_state(s.x, s.p), self.whole_parameters(s.p)
        return [whole[0], self.whole_control(s.u), s.t, whole[1]]

    def own_state(self, whole: ca.SX, *, rate: bool) -> ca.SX:  # noqa: ARG002  both are parts
        """Return this system's part of a whole state, or of its rates."""
        return whole[self.state_index.tolist()]

    def whole_motion(self, s: MotionState) -> MotionState:
        """Return a motion state of this system as one of the whole system."""
        start = self.start.copy()
        start[self._kept_rest] = s.p[len(self.parameter_index) :]
        return replace(s, x=self.expand_states(s.x, start), p=self.expand_parameters(s.p))

    def control_of_whole(self, s: MotionState, u: Array) -> Array:  # noqa: ARG002
        """Return the control of the whole system; omitted controls are zero."""
        return self.expand_controls(u)

    def own_motion(self, whole: MotionState, before: MotionState, what: str) -> MotionState:  # noqa: ARG002
        """Return a motion state of the whole system as one of this system."""
        try:
            x, p = self.take_states(whole.x), self.take_parameters(whole.p)
        except ParameterError as error:
            raise SimulationError(f'{what} at {whole.t:.6g} s: {error}') from None
        own, size = (lambda y: y[self.state_index]), self.whole.state.size
        return replace(with_states(whole, own, size), x=x, p=p)

    @cached_property
    def tangent_index(self) -> NDArray[np.int_]:
        """Positions of this system's tangent in the whole one, shape (tangent.size,), no unit."""
        return np.array([self.whole.tangent.names.index(n) for n in self.tangent.names], int)

    def part_of_values(self, values: Mapping[str, ArrayLike]) -> dict[str, Array]:
        """Return values by entry of the whole state, reduced to this system's components."""
        whole, out = self.whole.state, {}
        for name, value in values.items():
            if name in self.state:
                kept = np.isin(whole.index(name), self.state_index)
                out[name] = np.asarray(value, dtype=float)[kept]
        return out

    def part_of_weights(self, weights: RegulatorWeights) -> RegulatorWeights:
        """Return the weights of this system's tangent and controls."""
        control = np.broadcast_to(weights.control, (self.whole.control.size,))
        return replace(weights.of(self.tangent), control=control[self.control_index])


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
        Its parameters; those that are zero are substituted and left out of the layout. None keeps
        all parameters.
    x
        A state. States that are constant there in every mode and reset, while the other controls
        are zero, are eliminated. Resets that are Python functions are assumed to keep them, which
        is checked when they run.
    controls
        Scalar names of the controls to keep.
    modes
        Names of the modes to keep; all if None.

    Returns
    -------
    Restriction
        The system, with the conversions from the whole system and back.

    Raises
    ------
    ParameterError
        A control does not exist, or none is given.

    """
    return Restriction(system, p, x, controls, modes)


def moving_directions(
    system: RollingSystem, x: ArrayLike, controls: Sequence[str]
) -> NDArray[np.int_]:
    """Return the tangent components that some controls can change in the first mode, for any p."""
    first = [next(iter(system.modes))]
    return restricted(system, None, x, controls, first).tangent_index


def _part(layout: Layout, index: NDArray[np.int_]) -> Layout:
    """Return the layout of some components of a vector."""
    kept, entries, start = set(index.tolist()), [], 0
    for e in layout.entries:
        own = tuple(c for k, c in enumerate(e.components, start) if k in kept)
        start += e.size
        if own:
            kind = 'turn' if e.kind == 'quaternion' and len(own) == 2 else e.kind
            entries.append(replace(e, components=own, kind=kind))
    return Layout(tuple(entries))
