"""
The laws of the laboratory's experiments, with the weights and limits that they are run with.

Woodruff & Lynch, Section VIII: damping about rest, flip-up to balance, throw and catch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rolling_controller.balance.balance_lqr import BalanceLqr
from rolling_controller.balance.hand_over import HandOver
from rolling_controller.balance.region_of_attraction import (
    region_of_attraction,
    RegionOfAttraction,
)
from rolling_controller.balance.throw_catch_law import ThrowCatchLaw
from rolling_controller.law import OpenLoop
from rolling_controller.lqr_weights import LqrWeights
from rolling_controller.predictive.law import Horizon, PredictiveLaw
from rolling_controller.time_varying_lqr import TimeVaryingLqr
from rolling_dynamics.hybrid_contact.laboratory import FLAT, Laboratory, UPRIGHT
from rolling_planner.laboratory.throw_catch import LIMITS, ThrowCatchPlan
from rolling_planner.plan import Plan

CONTROL_LIMITS = {
    'alpha_WH_H_y': (-60.0, 60.0),
    'a_WH_H_x': (-8.0, 8.0),
    'a_WH_H_z': (-3.0, 3.0),
}
CONTROL_WEIGHTS = (0.1, 1.0, 1.0)
BALANCE = {
    'd_WH': 10.0,
    'p_WH': 100.0,
    'd_HO': 100.0,
    'w_WH_H': 0.1,
    'v_WH_H': 1.0,
    'w_HO_H': 1.0,
}
TRACKING = BALANCE | {'d_HO': 300.0, 'w_HO_H': 3.0}
TERMINAL = {name: 10 * weight for name, weight in TRACKING.items()}
HORIZON = Horizon(period=4e-3)
# with what an estimator makes of images that are noisy, late and hidden, the angle of a balanced
# object wanders least where it and that of the hand, which add up, outweigh all else
RESTING = TRACKING | {'d_HO': 1e4, 'd_WH': 1e4}
DAMPING = BALANCE | {'d_HO': 300.0, 'w_HO_H': 5.0, 'd_WH': 100.0}


class FlipUpArms(NamedTuple):
    """
    The three ways to flip up that are compared.

    Attributes
    ----------
    replay
        The plan's controls, and nothing after.
    replay_balance
        The plan's controls, then balance.
    feedback_balance
        Time-varying LQR along the plan, then balance.

    """

    replay: OpenLoop
    replay_balance: HandOver
    feedback_balance: HandOver


def balance_regulator(
    laboratory: Laboratory, hand: tuple[float, float] = (0.0, 0.0)
) -> BalanceLqr:
    """Return the regulator of the upright object, with the hand at a place x, z [m]."""
    return _regulator(laboratory, UPRIGHT, BALANCE, hand)


def damping_regulator(laboratory: Laboratory) -> BalanceLqr:
    """Return the regulator that damps the rocking of the object that lies flat, VIII-C."""
    return _regulator(laboratory, FLAT, DAMPING, (0.0, 0.0))


def balance_region(laboratory: Laboratory, samples: int = 500) -> RegionOfAttraction:
    """Return the region from which the upright object is balanced, by sampling."""
    return region_of_attraction(balance_regulator(laboratory), samples=samples)


def flip_up_arms(laboratory: Laboratory, plan: Plan, region: RegionOfAttraction) -> FlipUpArms:
    """
    Return the laws of a flip-up.

    Parameters
    ----------
    laboratory
        The ellipse and the plate.
    plan
        A flip-up of this laboratory.
    region
        Of its balance regulator; see :func:`balance_region`.

    """
    feedback = _feedback(laboratory, plan, CONTROL_LIMITS)
    replay, regulator = OpenLoop(feedback.system, plan), region.regulator
    return FlipUpArms(
        replay,
        HandOver(replay, regulator, region=region, latest=plan.duration),
        HandOver(feedback, regulator, region=region, latest=plan.duration),
    )


def predictive_flip_up(laboratory: Laboratory, plan: Plan) -> PredictiveLaw:
    """
    Return one law from lying flat to upright, without a hand-over, within friction.

    Parameters
    ----------
    laboratory, plan
        As of :func:`flip_up_arms`.

    Raises
    ------
    ParameterError
        There is no solver.

    """
    weights = LqrWeights(tracking=TRACKING, terminal=TERMINAL, control=CONTROL_WEIGHTS)
    return PredictiveLaw(
        *laboratory.model(),
        plan,
        weights,
        rest=LqrWeights(tracking=RESTING),
        control_limits=CONTROL_LIMITS,
        horizon=HORIZON,
        scaled=('inertia',),
    )


def throw_catch_law(laboratory: Laboratory, plan: ThrowCatchPlan) -> ThrowCatchLaw:
    """Return the law of a throw with its catch."""
    limits = {name: (-high, high) for name, high in zip(CONTROL_LIMITS, LIMITS, strict=True)}
    carry = _feedback(laboratory, plan.carry, limits)
    return ThrowCatchLaw(plan, carry, balance_regulator(laboratory, plan.hand))


def _feedback(
    laboratory: Laboratory, plan: Plan, limits: Mapping[str, tuple[float, float]]
) -> TimeVaryingLqr:
    weights = LqrWeights(tracking=TRACKING, terminal=TERMINAL, control=CONTROL_WEIGHTS)
    return TimeVaryingLqr(*laboratory.model(), plan, weights, control_limits=limits)


def _regulator(
    laboratory: Laboratory, beta: float, weights: dict[str, float], hand: tuple[float, float]
) -> BalanceLqr:
    system, p = laboratory.model()
    return BalanceLqr(
        system,
        p,
        laboratory.rest(beta, hand=hand),
        weights=LqrWeights(tracking=weights, terminal={}, control=CONTROL_WEIGHTS),
        control_limits=CONTROL_LIMITS,
    )
