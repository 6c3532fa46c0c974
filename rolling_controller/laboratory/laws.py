"""
Laws of the experiments of the laboratory, with the weights and limits that they are run with.

Woodruff & Lynch, Section VIII: damping about rest, flip-up to balance, throw and catch; each with
those that it is compared with. Balance in space they leave to future work (Section IX): of a ball
the contact point and the velocities are controlled and the attitude is left free; of an ellipsoid
its tilt and rates. Spin, and the relations that rolling keeps to first order, are taken out before
the Riccati equation; :attr:`BalanceLqr.uncontrollable` names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from rolling_controller.balance.hand_over import HandOver
from rolling_controller.balance.hold import BalanceLqr
from rolling_controller.balance.region_of_attraction import (
    region_of_attraction,
    RegionOfAttraction,
)
from rolling_controller.export.c import CSource
from rolling_controller.export.machine_laws import machine_sources, stepped, written
from rolling_controller.law import (
    as_function,
    FunctionLaw,
    Law,
    law_named,
    OpenLoop,
    split,
    state_inputs,
    StateFeedback,
    TOUCHING,
)
from rolling_controller.predictive.law import Horizon, PredictiveLaw
from rolling_controller.step_law import StepLaw
from rolling_controller.time_varying_lqr import LqrWeights, TimeVaryingLqr
from rolling_dynamics.arrays import Array
from rolling_dynamics.configuration import read_regular
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.contact_view import Source, StateSource
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError, PlanningError, printable, quoted
from rolling_dynamics.hybrid_contact.from_contact_system import ObservedState, rest_state
from rolling_dynamics.restriction import Restriction
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario_model import Model, MOST, object_model
from rolling_planner import plan_rolling
from rolling_planner.check_plan import check_plan
from rolling_planner.laboratory.laboratory import (
    FLAT,
    Laboratory,
    LIMITS,
    plan_throw_catch,
    ThrowCatchPlan,
    UPRIGHT,
)
from rolling_planner.plan import check_plan_fits, Plan
from rolling_planner.problem.scenario import read_problem

MAX_BYTES = 100_000_000  # of a plan file
SAME_START = 1e-6  # by which each number of two starts may differ [m, rad, m/s, rad/s]
OFF = 1e-6  # of a state or control that is left out [m, rad, m/s, rad/s and their rates]


def experiment_plan(scenario: Scenario, plan_file: str = '') -> Plan:
    """
    Return the plan of an experiment, after a check that the contact holds along it.

    Parameters
    ----------
    scenario
        Scenario of the object, and its start.
    plan_file
        Plan that `rolling plan` wrote for this scenario; empty to plan by its section ``plan``.

    Raises
    ------
    ScenarioError, ParameterError, PlanningError
        The section ``plan`` is missing, no plan is found or readable, it starts elsewhere, or the
        contact does not hold along it.

    """
    if plan_file:
        plan = _read(Path(plan_file).expanduser())
        check_plan_fits(plan, scenario.system)
        if not np.abs(plan.states[0] - scenario.x0).max() <= SAME_START:
            raise PlanningError(
                f'{plan_file}: starts elsewhere than {scenario.name}; plan with that scenario'
            )
    else:
        plan = plan_rolling(read_problem(scenario))
    found = check_plan(scenario.system, scenario.p, plan)
    if not found.ok:
        raise PlanningError(f'the plan of {scenario.name} does not hold: {found.reason}')
    return plan


def _read(path: Path) -> Plan:
    try:
        document = json.loads(read_regular(path, MAX_BYTES))
    except (ValueError, RecursionError) as error:
        raise ParameterError(f'{path}: is not JSON: {printable(error, 200)}') from None
    if not isinstance(document, dict) or 'plan' not in document:
        raise ParameterError(f'{path}: holds no plan; `rolling plan` writes one')
    return Plan.from_dict(document['plan'])


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
        The plan is for another system, or moves coordinates that the restriction lacks.

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


ALL = (0, 1, 2, 3, 4, 5)


@dataclass(frozen=True, eq=False)
class Subject:
    """
    Model, start and controls that the laws of an experiment are designed for.

    Attributes
    ----------
    system, params
        Model of rolling, and its parameters.
    start
        Its state at the start of the scenario.
    source
        From poses and twists to its states.
    used
        Which of the six accelerations of the hand are its controls.
    prepare
        Plans and designs the laws; takes seconds.

    """

    system: RollingSystem
    params: Array
    start: Array
    source: Source
    used: tuple[int, ...]
    prepare: Callable[[], Prepared]

    def limits(self, limits: Array | None) -> Array:
        """Return the maximum magnitudes of its controls."""
        return np.asarray((MOST if limits is None else np.minimum(limits, MOST))[list(self.used)])

    def widened(self, u: Array) -> Array:
        """Return the six accelerations of the hand of a control of the model."""
        out = np.zeros(6)
        out[list(self.used)] = u
        return out


def subject_of(experiment: str, model: Model, plan_file: str = '') -> Subject:
    """
    Return the experiment of a scenario.

    Parameters
    ----------
    experiment, model
        Name of the experiment, and its scenario.
    plan_file
        Plan to follow, see :func:`experiment_plan`.

    Raises
    ------
    ParameterError
        The scenario does not belong to that experiment, or it takes no plan and one was given.

    """
    if plan_file and experiment not in FOLLOWING:
        raise ParameterError(f'plan_file: {experiment} follows no plan, got {quoted(plan_file)}')
    if experiment in SPATIAL:
        return _spatial(experiment, model)
    laboratory = Laboratory(model.system, model.params)
    system, p = laboratory.model()
    d = model.system.state.unpack(model.start)
    beta = 2.0 * float(np.arctan2(d['q_HO'][2], d['q_HO'][0]))
    start = laboratory.rest(beta, float(d['contact_h'][0]), tuple(d['p_WH'][[0, 2]]))
    return Subject(
        system=system,
        params=p,
        start=start,
        source=ObservedState(system, p),
        used=tuple(system.control_index.tolist()),
        prepare=lambda: PLANAR[experiment](
            laboratory,
            lambda: restricted_plan(experiment_plan(model.scenario, plan_file), system),
        ),
    )


def _spatial(experiment: str, model: Model) -> Subject:
    contact_h = model.start[model.system.state.slice('contact_h')]
    return Subject(
        system=model.system,
        params=model.params,
        start=model.start,
        source=StateSource(model.system, model.params, contact_h),
        used=ALL,
        prepare=lambda: SPATIAL[experiment](model.system, model.params),
    )


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
# with an estimator behind noisy, late and hidden images, the angle of a balanced object wanders
# least where it and the angle of the hand, which add up, outweigh all else
RESTING = TRACKING | {'d_HO': 1e4, 'd_WH': 1e4}
DAMPING = BALANCE | {'d_HO': 300.0, 'w_HO_H': 5.0, 'd_WH': 100.0}


SPATIAL_LIMITS = {f'alpha_WH_H_{k}': (-80.0, 80.0) for k in 'xyz'} | {
    f'a_WH_H_{k}': (-8.0, 8.0) for k in 'xyz'
}
SPATIAL_WEIGHTS = (0.1, 0.1, 0.1, 1.0, 1.0, 1.0)
HAND = {'d_WH': 10.0, 'p_WH': 100.0, 'w_WH_H': 0.1, 'v_WH_H': 1.0, 'w_HO_H': 1.0}
BALL = HAND | {'contact_h': 1000.0}
ELLIPSOID = HAND | {'d_HO': 100.0}
REGION_SAMPLES = 500
PREDICTIVE = 'predictive'
Planned = Callable[[], Plan]  # plans when it is called; of planar rolling


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


def throw_catch_law(laboratory: Laboratory, plan: ThrowCatchPlan) -> HandOver:
    """
    Return the law of a throw with its catch and the balance after it, VIII-E.

    Besides the state of the model of rolling it takes the mode. While the object flies, only the
    hand's part of the state matters.
    """
    limits = {name: (-high, high) for name, high in zip(CONTROL_LIMITS, LIMITS, strict=True)}
    feedback = _feedback(laboratory, plan.carry, limits)
    regulator = balance_regulator(laboratory, plan.hand)
    carry, balance = as_function(feedback), as_function(regulator)
    inputs, output = state_inputs(regulator.system, TOUCHING), regulator.output
    turn, rests = regulator.system.state.slice('q_HO'), plan.rests
    upright = ca.DM(regulator.x[turn])

    def thrown(z: ca.SX, y: ca.SX, t: ca.SX, given: ca.SX) -> tuple[ca.SX, ca.SX]:
        planned, ahead = split(given, output.size)
        carrying = y[-1] * (t < plan.carry.duration)
        return z, ca.if_else(carrying, carry.function(z, y[:-1], t, ahead), planned)

    def balanced(z: ca.SX, y: ca.SX, t: ca.SX, given: ca.SX) -> tuple[ca.SX, ca.SX]:
        # upright is every half turn of the ellipse: the nearest one is meant
        x, q = ca.SX(y[:-1]), y[turn]
        other = ca.fabs(ca.dot(q, upright)) < math.sqrt(0.5)
        x[turn] = ca.if_else(other, ca.vertcat(-q[1], q[0]), q)
        return z, balance.function(z, x, t, given)

    return HandOver(
        FunctionLaw(inputs, output, thrown, lambda t: [*plan.control_at(t), *carry.given(t)]),
        FunctionLaw(inputs, output, balanced, balance.given),
        home=lambda y, t: y[-1] * (t > rests),
    )


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


def spatial_regulator(system: ContactSystem, params: Array) -> BalanceLqr:
    """
    Return the regulator of an object on a plate at the origin of the hand, z of both upright.

    Parameters
    ----------
    system, params
        Object and plate in the representation ``attitude``, and their parameters in SI units.

    Raises
    ------
    ParameterError
        The object does not rest there, or something grows that no control moves.

    """
    is_ball = len({*system.object_surface.values.values()}) == 1
    weights = BALL if is_ball else ELLIPSOID
    return BalanceLqr(
        system,
        params,
        rest_state(system.state),
        weights=LqrWeights(tracking=weights, terminal={}, control=SPATIAL_WEIGHTS),
        control_limits=SPATIAL_LIMITS,
    )


@dataclass(frozen=True, eq=False)
class Prepared:
    """
    Laws with which an experiment can be run.

    Attributes
    ----------
    laws
        Factories of laws by name; ``closed_loop`` is always there, with ``open_loop``.
    note
        Note for the user.

    """

    laws: Mapping[str, Callable[[], Law[Any]]]
    note: str = ''

    def law(self, name: str) -> Law[Any]:
        """Return a law, or raise ParameterError naming those that the experiment has."""
        return law_named(self.laws, name, 'this experiment')


def _regulated(regulator: BalanceLqr) -> Prepared:
    """Return balance from the start on, and no control."""
    idle = StateFeedback(regulator.system, lambda *_: np.zeros(regulator.output.size))
    return Prepared({'closed_loop': lambda: HandOver(idle, regulator), 'open_loop': lambda: idle})


def prepare_damping(laboratory: Laboratory, _planned: Planned) -> Prepared:
    """Return damping of the rocking about rest, and rest without control."""
    return _regulated(damping_regulator(laboratory))


def prepare_flip_up(laboratory: Laboratory, planned: Planned) -> Prepared:
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
            PREDICTIVE: lambda: predictive_flip_up(laboratory, plan),
        },
        f'flip-up planned, {plan.duration:g} s; balance takes over at a cost to go of '
        f'{region.level:.3g} at most, by {region.samples} samples',
    )


def prepare_throw_catch(laboratory: Laboratory, planned: Planned) -> Prepared:
    """Return a throw with its catch and balance, and the throw alone."""
    plan = plan_throw_catch(laboratory, planned())
    law = throw_catch_law(laboratory, plan)
    thrown = OpenLoop(laboratory.model()[0], plan)
    greatest = ', '.join(f'{v:.3g}' for v in plan.greatest_controls())
    return Prepared(
        {'closed_loop': lambda: law, 'open_loop': lambda: thrown},
        f'throw planned: release after {plan.carry.duration:g} s, impact after '
        f'{plan.touch:.3f} s with the hand at ({plan.hand[0]:.3f}, {plan.hand[1]:.3f}) m; '
        f'accelerations up to {greatest} (about y [rad/s^2], along x and z [m/s^2])',
    )


def prepare_balance(system: ContactSystem, params: Array) -> Prepared:
    """Return balance in space, and no control; see :func:`spatial_regulator`."""
    regulator = spatial_regulator(system, params)
    left = '; '.join(regulator.uncontrollable)
    text = f'no control moves to first order, and feedback leaves as it is: {left}'
    return replace(_regulated(regulator), note=text)


PLANAR: Mapping[str, Callable[[Laboratory, Planned], Prepared]] = {
    'damping': prepare_damping,
    'flip_up': prepare_flip_up,
    'throw_catch': prepare_throw_catch,
}
SPATIAL: Mapping[str, Callable[[ContactSystem, Array], Prepared]] = {'balance_3d': prepare_balance}
EXPERIMENTS = (*PLANAR, *SPATIAL)
LAWS = 'closed_loop', 'replay_balance', 'open_loop', PREDICTIVE
FOLLOWING = ('flip_up', 'throw_catch')  # those whose laws follow a plan
PREDICTED = ('flip_up',)  # those that have the law predictive


def sources_of(scenario: Scenario) -> dict[str, Callable[[], CSource]]:
    """Return what writes laws as C: of any machine, and ``EXPERIMENT_LAW`` of experiments."""

    def made(experiment: str, law: str, scenario: Scenario) -> StepLaw:
        prepared = subject_of(experiment, object_model(scenario)).prepare()
        return stepped(prepared.law(law), f'{experiment}_{law}', f'{law} of {experiment}')

    pairs = [(experiment, law) for experiment in EXPERIMENTS for law in LAWS]
    own = {'_'.join(pair): partial(written, partial(made, *pair), scenario) for pair in pairs}
    return machine_sources(scenario) | own
