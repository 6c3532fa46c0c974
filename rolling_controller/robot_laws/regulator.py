"""Time-varying LQR along the plans of a robot."""

from __future__ import annotations

from collections.abc import Callable

from rolling_controller.law import Following
from rolling_controller.lqr_weights import LqrWeights
from rolling_controller.time_varying_lqr import TimeVaryingLqr
from rolling_dynamics.scenario import Scenario
from rolling_planner.plan import Plan


def never() -> bool:
    """Tell that nobody interrupts."""
    return False


def regulated(
    scenario: Scenario, plan: Plan, weights: LqrWeights, interrupted: Callable[[], bool] = never
) -> Following:
    """Return the regulator along a plan, within the limits of the scenario."""
    law = TimeVaryingLqr(
        scenario.system,
        scenario.p,
        plan,
        weights,
        control_limits=scenario.control_limits,
        interrupted=interrupted,
    )
    return Following(law, law.times, law.states, law.warning)
