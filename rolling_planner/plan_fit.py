"""Whether a plan was made for a system."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.text import printable, quoted
from rolling_planner.plan import Plan

UNIT = 1e-3  # by how much the norm of a quaternion may differ from 1


def check_plan_fits(plan: Plan, system: RollingSystem, *, require_hash: bool = True) -> None:
    """
    Raise ParameterError if a plan was made for another system.

    Parameters
    ----------
    plan
        The plan.
    system
        The system that is to follow it.
    require_hash
        Whether a plan without ``model_hash`` is refused; one with another hash always is.

    """
    if plan.system != system.name:
        raise ParameterError(f'plan.system must be {system.name!r}, got {quoted(plan.system)}')
    check_states_fit(plan, system)
    if plan.model_hash == system.model_hash:
        return
    if plan.model_hash:
        raise ParameterError(
            f'plan.model_hash is {quoted(plan.model_hash)}, this node runs '
            f'{system.model_hash!r}: the plan was made with other equations; plan again with the '
            'scenario of this node'
        )
    if require_hash:
        raise ParameterError(
            'plan.model_hash is empty, so it is not known for which equations the plan was made; '
            f'those of this node are {system.model_hash!r}. For plans without a hash, set '
            'require_model_hash to false'
        )


def check_states_fit(plan: Plan, system: RollingSystem) -> None:
    """Raise ParameterError unless states, controls and attitudes are such of a system."""
    _check_names('state_names', plan.state_names, system.state.names)
    _check_names('control_names', plan.control_names, system.control.names)
    for entry in system.state.entries:
        if entry.kind != 'quaternion':
            continue
        with np.errstate(over='ignore'):  # infinite is no unit, too
            norms = np.linalg.norm(plan.states[:, system.state.slice(entry.name)], axis=1)
        wrong = np.flatnonzero(~(np.abs(norms - 1.0) <= UNIT))
        if wrong.size:
            k = int(wrong[0])
            raise ParameterError(
                f'plan.states: {entry.name} must be a unit quaternion (w, x, y, z), its norm at '
                f'times[{k}] is {norms[k]:.6g}'
            )


def _check_names(what: str, given: Sequence[str], wanted: Sequence[str]) -> None:
    if list(given) != list(wanted):
        raise ParameterError(
            f'plan.{what} must be {", ".join(wanted)}, got {printable(", ".join(given))}'
        )
