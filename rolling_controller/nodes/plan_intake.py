"""Which plans a controller executes: those of its system, not too long, and for now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_interfaces.msg import RollingPlan
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.parameters import ParameterTable
from rolling_planner.nodes.conversions import message_to_plan
from rolling_planner.plan import check_plan_fits, Plan


def accepted_plan(
    message: RollingPlan,
    system: RollingSystem,
    values: ParameterTable | Mapping[str, Any],
    now: int,
) -> Plan:
    """
    Return the plan of a goal.

    Parameters
    ----------
    message
        The plan as it came.
    system
        The system that is to follow it.
    values
        Parameters ``max_plan_duration``, ``plan_stamp_tolerance`` and ``require_model_hash``.
    now
        Time of the node [ns].

    Raises
    ------
    ParameterError
        It is not a plan, one of another system, too long, or its stamp is far from now.

    """
    stamp = time_to_nanoseconds(message.header.stamp)
    tolerance = values['plan_stamp_tolerance']
    if stamp and not abs(stamp - now) <= tolerance * 1e9:
        raise ParameterError(
            f'plan.header.stamp is {stamp * 1e-9:.9g} s, the clock of this node {now * 1e-9:.9g} '
            f's; plan_stamp_tolerance allows {tolerance:g} s between them. A plan with stamp 0 '
            'starts when it is accepted'
        )
    plan = message_to_plan(message)
    if plan.times[0] != 0.0:
        raise ParameterError(
            f'plan.times must begin at 0, got {plan.times[0]:.9g}: subtract the first time from '
            'all, and give the start of the motion as header.stamp'
        )
    longest = values['max_plan_duration']
    if not plan.duration <= longest:
        raise ParameterError(
            f'the plan lasts {plan.duration:.6g} s; max_plan_duration allows {longest:g} s'
        )
    check_plan_fits(plan, system, require_hash=values['require_model_hash'])
    return plan
