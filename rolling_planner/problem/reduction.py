"""
The part of a system that a plan can move.

A plan that uses a few of the hand's degrees of freedom leaves states at rest. They are recognised
from the equations (their rate vanishes identically once the idle controls and the states that rest
are zero) and taken out of the optimisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.suggestion import check_names


@dataclass(frozen=True, eq=False)
class ReducedModel:
    """
    A system restricted to some controls, and to the states that then move.

    Attributes
    ----------
    system
        The whole system.
    state_index, control_index
        Where the moving states and the active controls stand in the whole vectors.
    x, u, p, frozen
        Symbols: moving states, active controls, parameters, values of the other states.
    full_state, full_control
        The whole vectors as expressions.

    """

    system: RollingSystem
    state_index: NDArray[np.int_]
    control_index: NDArray[np.int_]
    x: ca.SX
    u: ca.SX
    p: ca.SX
    frozen: ca.SX
    full_state: ca.SX
    full_control: ca.SX

    @property
    def frozen_index(self) -> NDArray[np.int_]:
        """Where the states that rest stand in the whole vector."""
        return np.delete(np.arange(self.system.state.size), self.state_index)

    def evaluate(self, function: ca.Function) -> ca.SX:
        """Return a function ``(x, u, t, p)`` of the system in the reduced symbols."""
        return function(self.full_state, self.full_control, 0, self.p)

    def expand_states(self, states: Array, x_start: Array) -> Array:
        """Return whole states, shape (k, n), from moving ones, shape (k, nr)."""
        out = np.tile(np.asarray(x_start, dtype=float), (len(states), 1))
        out[:, self.state_index] = states
        return out

    def expand_controls(self, controls: Array) -> Array:
        """Return whole controls, shape (k, m), from active ones."""
        out = np.zeros((len(controls), self.system.control.size))
        out[:, self.control_index] = controls
        return out


def reduce_model(
    system: RollingSystem, active_controls: Sequence[str], x_start: Array
) -> ReducedModel:
    """
    Return the system restricted to some of its controls.

    Parameters
    ----------
    system
        Any rolling system.
    active_controls
        Scalar names of the controls that a plan may use.
    x_start
        State at the start; states that rest there and cannot move are taken out.

    Returns
    -------
    ReducedModel
        Symbols and indices.

    Raises
    ------
    ParameterError
        A control does not exist, or none is given.

    """
    names = system.control.names
    check_names(active_controls, names, 'active_controls: no control')
    if not active_controls:
        raise ParameterError(f'active_controls: some of {", ".join(names)} are needed, got none')
    control_index = np.array(sorted(names.index(c) for c in active_controls))
    dynamics = next(iter(system.modes.values())).dynamics
    n, m = system.state.size, system.control.size
    p = ca.SX.sym('p', system.parameters.size)
    u = ca.SX.sym('u', len(control_index))
    full_u = ca.SX(m, 1)
    full_u[control_index.tolist()] = u
    at_rest = _states_at_rest(system, dynamics, np.asarray(x_start, dtype=float), full_u, p)
    moving = np.array([k for k in range(n) if k not in at_rest])
    x, frozen = ca.SX.sym('x', len(moving)), ca.SX.sym('frozen', len(at_rest))
    full_x = ca.SX(n, 1)
    full_x[moving.tolist()] = x
    for k, i in enumerate(sorted(at_rest)):
        full_x[i] = frozen[k] if x_start[i] != 0 else 0
    return ReducedModel(
        system, moving, control_index, x, u, p, frozen, ca.densify(full_x), ca.densify(full_u)
    )


def _states_at_rest(
    system: RollingSystem, dynamics: ca.Function, x_start: Array, full_u: ca.SX, p: ca.SX
) -> set[int]:
    """Return the largest set of states that keep their start: whose rates vanish identically."""
    n = system.state.size
    symbol = ca.SX.sym('x', n)
    rest = set(range(n))
    while True:
        x = ca.SX(n, 1)
        for i in range(n):
            # a state at rest at zero is a structural zero, any other value stays a symbol
            x[i] = symbol[i] if i not in rest or x_start[i] != 0 else 0
        rate = ca.sparsify(dynamics(x, full_u, 0, p))
        moved = {i for i in rest if rate.sparsity().has_nz(i, 0)}
        if not moved:
            return rest
        rest -= moved
