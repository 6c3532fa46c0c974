"""
Laws of the experiments, each with those that it is compared with.

Woodruff & Lynch, Section VIII: damping about rest, flip-up, throw and catch; and balance in space,
which they leave to future work. Laws that follow a plan take it from
:mod:`rolling_controller.laboratory.experiment_plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rolling_controller.balance.balance_lqr import BalanceLqr
from rolling_controller.balance.hand_over import HandOver
from rolling_controller.balance.laboratory_laws import (
    balance_region,
    damping_regulator,
    flip_up_arms,
    predictive_flip_up,
    throw_catch_law,
)
from rolling_controller.balance.spatial_laws import spatial_regulator
from rolling_controller.law import Law, StateFeedback
from rolling_controller.predictive.law import PredictiveLaw
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.laboratory import Laboratory
from rolling_dynamics.hybrid_contact.spatial_body import SpatialBody
from rolling_planner.laboratory.throw_catch import plan_throw_catch
from rolling_planner.plan import Plan

REGION_SAMPLES = 500
PREDICTIVE = 'predictive'
Planned = Callable[[], Plan]  # plans when it is called; of planar rolling
Predicting = Callable[[PredictiveLaw], Law[Any]]  # where the programs of a law are solved


@dataclass(frozen=True, eq=False)
class Prepared:
    """
    What an experiment can be run with.

    Attributes
    ----------
    laws
        Makers of laws by name; ``closed_loop`` is there, and ``open_loop`` beside it.
    told
        What a user should know.

    """

    laws: Mapping[str, Callable[[], Law[Any]]]
    told: str = ''


def _regulated(regulator: BalanceLqr) -> Prepared:
    """Return balance from the start on, and no control."""
    idle = StateFeedback(regulator.system, lambda _, __: np.zeros(regulator.output.size))
    return Prepared({'closed_loop': lambda: HandOver(idle, regulator), 'open_loop': lambda: idle})


def prepare_damping(laboratory: Laboratory, _planned: Planned, _: Predicting) -> Prepared:
    """Return damping of the rocking about rest, and rest without control."""
    return _regulated(damping_regulator(laboratory))


def prepare_flip_up(laboratory: Laboratory, planned: Planned, predicting: Predicting) -> Prepared:
    """
    Return a planned flip-up: with feedback and balance, with balance only, replayed, predictive.

    The predictive law is designed for each run, in some 0.03 s: it needs a solver, and a thread
    that still predicts for the run before cannot disturb it.
    """
    plan = planned()
    region = balance_region(laboratory, REGION_SAMPLES)
    arms = flip_up_arms(laboratory, plan, region)

    return Prepared(
        {
            'closed_loop': lambda: arms.feedback_balance,
            'replay_balance': lambda: arms.replay_balance,
            'open_loop': lambda: arms.replay,
            PREDICTIVE: lambda: predicting(predictive_flip_up(laboratory, plan)),
        },
        f'flip-up planned, {plan.duration:g} s; balance takes over at a cost to go of '
        f'{region.level:.3g} at most, by {region.samples} samples',
    )


def prepare_throw_catch(laboratory: Laboratory, planned: Planned, _: Predicting) -> Prepared:
    """Return a throw with its catch and balance, and the throw alone."""
    plan = plan_throw_catch(laboratory, planned())
    law = throw_catch_law(laboratory, plan)
    thrown = StateFeedback(law.regulator.system, lambda t, _: plan.control_at(t))
    greatest = ', '.join(f'{v:.3g}' for v in plan.greatest_controls())
    return Prepared(
        {'closed_loop': lambda: law, 'open_loop': lambda: thrown},
        f'throw planned: release after {plan.carry.duration:g} s, impact after '
        f'{plan.touch:.3f} s with the hand at ({plan.hand[0]:.3f}, {plan.hand[1]:.3f}) m; '
        f'accelerations up to {greatest} (about y [rad/s^2], along x and z [m/s^2])',
    )


def prepare_balance(body: SpatialBody) -> Prepared:
    """Return balance in space, and no control."""
    regulator = spatial_regulator(body)
    left = '; '.join(regulator.uncontrollable)
    text = f'no control moves to first order, and feedback leaves as it is: {left}'
    return replace(_regulated(regulator), told=text)


PLANAR: Mapping[str, Callable[[Laboratory, Planned, Predicting], Prepared]] = {
    'damping': prepare_damping,
    'flip_up': prepare_flip_up,
    'throw_catch': prepare_throw_catch,
}
SPATIAL: Mapping[str, Callable[[SpatialBody], Prepared]] = {'balance_3d': prepare_balance}
EXPERIMENTS = (*PLANAR, *SPATIAL)
FOLLOWING = ('flip_up', 'throw_catch')  # those whose laws follow a plan
PREDICTED = ('flip_up',)  # those that have the law predictive


def chosen_law(prepared: Prepared, name: str) -> Law[Any]:
    """Return a law anew, or raise ParameterError naming those that the experiment has."""
    try:
        return prepared.laws[name]()
    except KeyError:
        known = ', '.join(prepared.laws)
        raise ParameterError(f'this experiment has the laws {known}; got {name!r}') from None
