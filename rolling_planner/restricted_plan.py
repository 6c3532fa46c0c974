"""A plan of a whole system as one of a restriction, such as of an object that stays in a plane."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rolling_dynamics.errors import ParameterError
from rolling_dynamics.restriction import Restriction
from rolling_planner.plan import Plan

OFF = 1e-6  # of a state or control that is left out [m, rad, m/s, rad/s and their rates]


def restricted_plan(plan: Plan, model: Restriction[Any]) -> Plan:
    """
    Return a plan of a whole system as one of a restriction of it.

    Parameters
    ----------
    plan
        A plan of the whole system.
    model
        The restriction.

    Raises
    ------
    ParameterError
        The plan is for another system, or moves what is left out.

    """
    if plan.state_names != tuple(model.whole.state.names):
        raise ParameterError(f'the plan is for {plan.system!r}, not for {model.name!r}')
    return replace(
        plan,
        system=model.name,
        model_hash=model.model_hash,
        state_names=tuple(model.state.names),
        control_names=tuple(model.control.names),
        states=model.take_states(plan.states, OFF),
        controls=model.take_controls(plan.controls, OFF),
    )
