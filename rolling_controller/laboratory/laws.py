"""
Laws of the experiments, each with those that it is compared with.

Woodruff & Lynch, Section VIII: damping about rest, flip-up, throw and catch; and balance in space,
which they leave to future work. A law is begun anew for each run, one run at a time. Laws that
follow a plan take it from :mod:`rolling_controller.laboratory.experiment_plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from rolling_controller.balance.balance_lqr import BalanceLqr
from rolling_controller.balance.laboratory_laws import (
    balance_region,
    damping_regulator,
    flip_up_arms,
    predictive_flip_up,
    throw_catch_law,
)
from rolling_controller.balance.spatial_laws import spatial_regulator
from rolling_controller.law import Law
from rolling_controller.predictive.law import PredictiveLaw
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.laboratory import Laboratory
from rolling_dynamics.hybrid_contact.spatial_body import SpatialBody
from rolling_planner.laboratory.throw_catch import plan_throw_catch
from rolling_planner.plan import Plan

REGION_SAMPLES = 500
PREDICTIVE = 'predictive'
Planned = Callable[[], Plan]  # plans when it is called; of planar rolling
Predicting = Callable[[PredictiveLaw], Law]  # where the programs of a law are solved


class ExperimentLaw(Protocol):
    """A law that may change what it does on the way."""

    @property
    def balancing_since(self) -> float | None:
        """Time at which balance took over [s]; None before, and where it never does."""
        ...

    def command(self, t: float, x: Array, *, touching: bool) -> Array:
        """Return the control at a time since the start [s], in a state, in contact or not."""
        ...


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

    laws: Mapping[str, Callable[[], ExperimentLaw]]
    told: str = ''


class Idle:
    """No control."""

    balancing_since = None

    def __init__(self, size: int) -> None:
        """Have so many controls."""
        self._u = np.zeros(size)

    def command(self, t: float, x: Array, *, touching: bool) -> Array:  # noqa: ARG002
        """Return a control of zero."""
        return self._u


class Regulated:
    """A regulator about an equilibrium, from the start on."""

    def __init__(self, regulator: BalanceLqr) -> None:
        """Keep the regulator."""
        self._regulator = regulator
        self.balancing_since: float | None = None

    def command(self, t: float, x: Array, *, touching: bool) -> Array:  # noqa: ARG002
        """Return the regulator's control."""
        self.balancing_since = t if self.balancing_since is None else self.balancing_since
        return self._regulator.command(x)


class Along:
    """
    A law along a plan, whether the object touches or not.

    Attributes
    ----------
    law
        The law.

    """

    def __init__(self, law: Law) -> None:
        """Keep the law, begun anew."""
        self.law = law
        begin = getattr(law, 'reset', None)
        if begin is not None:
            begin()

    @property
    def balancing_since(self) -> float | None:
        """Time at which balance took over [s]."""
        return getattr(self.law, 'balancing_since', None)

    def command(self, t: float, x: Array, *, touching: bool) -> Array:  # noqa: ARG002
        """Return the law's control."""
        return self.law.command(t, x)


class Adaptive(Along):
    """A predictive law along a plan, which takes the inertia that an estimator finds."""

    def __init__(self, law: Law, predicted: PredictiveLaw) -> None:
        """Keep the law as it is run, begun anew, and the one that predicts for it."""
        super().__init__(law)
        self._predicted, self._believed = predicted, predicted.p.copy()

    def know(self, inertia: float) -> None:
        """Predict with moments of inertia so many times as large as believed from now on."""
        p = self._believed.copy()
        p[self._predicted.system.parameters.slice('inertia')] *= inertia
        self._predicted.know(p)


def prepare_damping(laboratory: Laboratory, _planned: Planned, _: Predicting) -> Prepared:
    """Return damping of the rocking about rest, and rest without control."""
    regulator = damping_regulator(laboratory)
    return Prepared({'closed_loop': lambda: Regulated(regulator), 'open_loop': lambda: Idle(3)})


def prepare_flip_up(laboratory: Laboratory, planned: Planned, predicting: Predicting) -> Prepared:
    """
    Return a planned flip-up: with feedback and balance, with balance only, replayed, predictive.

    The predictive law is designed for each run, in some 0.03 s: it needs a solver, and a thread
    that still predicts for the run before cannot disturb it.
    """
    plan = planned()
    region = balance_region(laboratory, REGION_SAMPLES)
    arms = flip_up_arms(laboratory, plan, region)

    def predictive() -> ExperimentLaw:
        law = predictive_flip_up(laboratory, plan)
        return Adaptive(predicting(law), law)

    return Prepared(
        {
            'closed_loop': lambda: Along(arms.feedback_balance),
            'replay_balance': lambda: Along(arms.replay_balance),
            'open_loop': lambda: Along(arms.replay),
            PREDICTIVE: predictive,
        },
        f'flip-up planned, {plan.duration:g} s; balance takes over at a cost to go of '
        f'{region.level:.3g} at most, by {region.samples} samples',
    )


def prepare_throw_catch(laboratory: Laboratory, planned: Planned, _: Predicting) -> Prepared:
    """Return a throw with its catch and balance, and the throw alone."""
    plan = plan_throw_catch(laboratory, planned())
    law = throw_catch_law(laboratory, plan)

    def begun_anew() -> ExperimentLaw:
        law.reset()
        return law

    greatest = ', '.join(f'{v:.3g}' for v in plan.greatest_controls())
    return Prepared(
        {
            'closed_loop': begun_anew,
            'open_loop': lambda: Along(_Thrown(plan.control_at)),
        },
        f'throw planned: release after {plan.carry.duration:g} s, impact after '
        f'{plan.touch:.3f} s with the hand at ({plan.hand[0]:.3f}, {plan.hand[1]:.3f}) m; '
        f'accelerations up to {greatest} (about y [rad/s^2], along x and z [m/s^2])',
    )


class _Thrown:
    """The throw alone."""

    def __init__(self, control_at: Callable[[float], Array]) -> None:
        self._control_at = control_at

    def command(self, t: float, x: Array) -> Array:  # noqa: ARG002
        return self._control_at(t)


def prepare_balance(body: SpatialBody) -> Prepared:
    """Return balance in space, and no control."""
    regulator = spatial_regulator(body)
    left = '; '.join(regulator.uncontrollable)
    return Prepared(
        {'closed_loop': lambda: Regulated(regulator), 'open_loop': lambda: Idle(6)},
        f'no control moves to first order, and feedback leaves as it is: {left}',
    )


PLANAR: Mapping[str, Callable[[Laboratory, Planned, Predicting], Prepared]] = {
    'damping': prepare_damping,
    'flip_up': prepare_flip_up,
    'throw_catch': prepare_throw_catch,
}
SPATIAL: Mapping[str, Callable[[SpatialBody], Prepared]] = {'balance_3d': prepare_balance}
EXPERIMENTS = (*PLANAR, *SPATIAL)
FOLLOWING = ('flip_up', 'throw_catch')  # those whose laws follow a plan
PREDICTED = ('flip_up',)  # those that have the law predictive


def chosen_law(prepared: Prepared, name: str) -> ExperimentLaw:
    """Return a law anew, or raise ParameterError naming those that the experiment has."""
    try:
        return prepared.laws[name]()
    except KeyError:
        known = ', '.join(prepared.laws)
        raise ParameterError(f'this experiment has the laws {known}; got {name!r}') from None
