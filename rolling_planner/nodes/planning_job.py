"""What the planner's worker process does: plan, or check a hand trajectory; imports no ROS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.compiled import compiled
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.model import load_model, Model
from rolling_planner import Iteration, Plan, plan_rolling, Planner, PlanProblem
from rolling_planner.nodes.hand_trajectory import hand_controls
from rolling_planner.rollout import RolloutSimulator
from rolling_planner.scenario import read_problem

Report = Callable[[Mapping[str, Any]], bool]

CHECK_SAMPLES = 20  # steps between two points of a trajectory that is checked
LONGEST_HORIZON = 120.0  # s


@lru_cache(maxsize=2)
def model_of(scenario_file: str) -> Model:
    """Return the model of a scenario, loaded once."""
    return load_model(scenario_file)


def control_limits(model: Model) -> dict[str, tuple[float, float]]:
    """Return the limits of the scenario by scalar name of the control."""
    if model.control_limits is None:
        return {}
    pairs = zip(model.system.control.names, model.control_limits.tolist(), strict=True)
    return {name: (-limit, limit) for name, limit in pairs if np.isfinite(limit)}


def planning_problem(job: Mapping[str, Any]) -> PlanProblem:
    """
    Return the problem of a job.

    Parameters
    ----------
    job
        ``scenario_file``, ``start`` (state), ``goal`` (values by entry or scalar name),
        ``horizon`` [s] and ``options`` that go over those of the scenario's section ``plan``.

    Raises
    ------
    ParameterError
        An entry is not allowed.

    """
    if job['horizon'] > LONGEST_HORIZON:
        raise ParameterError(
            f'horizon must be at most {LONGEST_HORIZON:g} s, got {job["horizon"]:g}'
        )
    return replace(
        base_problem(job['scenario_file']),
        x_start=np.asarray(job['start'], dtype=float),
        goal=job['goal'],
        horizon=job['horizon'],
        **job['options'],
    )


@lru_cache(maxsize=2)
def base_problem(scenario_file: str) -> PlanProblem:
    """Return the problem of a scenario's section ``plan``; every control is used without one."""
    model = model_of(scenario_file)
    if 'plan' in model.scenario.raw:
        return read_problem(model.scenario)
    return PlanProblem(
        system=model.system,
        p=model.params,
        x_start=model.start,
        goal={},
        horizon=model.scenario.duration,
        active_controls=list(model.system.control.names),
        control_limits=control_limits(model),
    )


def work(job: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Do one job: ``plan`` or ``check``."""
    return {'plan': _plan, 'check': _check}[job['kind']](job, report)


def warm_up(job: Mapping[str, Any]) -> None:
    """Load the scenario and compile what a plan needs, before the first goal comes."""
    model = model_of(job['scenario_file'])
    Planner(planning_problem({**job, 'start': model.start, 'goal': {}}))
    compiled(_sampling(model))


work.warm_up = warm_up


def _plan(job: Mapping[str, Any], report: Report) -> dict[str, Any]:
    problem = planning_problem(job)

    def on_iteration(i: Iteration) -> bool:
        return report(
            {
                'iteration': i.number,
                'segments': i.segments,
                'cost': i.cost,
                'violation': i.violation,
                'goal_error': i.goal_error,
            }
        )

    plan = plan_rolling(problem, on_iteration)
    return {'plan': plan, 'bodies': sample_bodies(model_of(job['scenario_file']), plan)}


def sample_bodies(model: Model, plan: Plan) -> dict[str, NDArray[np.float64]]:
    """
    Return the motion of hand and object along a plan.

    Returns
    -------
    dict
        ``hand`` and ``object``, shape (k, 4, 4); ``hand_twist`` and ``object_twist``, shape
        (k, 6): w [rad/s], v [m/s], in the body.

    """
    sample = compiled(_sampling(model))[0].map(len(plan.times))
    out = np.array(sample(plan.states.T, model.params)).T
    velocity = [model.system.state.slice(n) for n in ('w_WH_H', 'v_WH_H')]
    return {
        'hand': out[:, :16].reshape(-1, 4, 4).transpose(0, 2, 1),
        'object': out[:, 16:32].reshape(-1, 4, 4).transpose(0, 2, 1),
        'hand_twist': np.hstack([plan.states[:, s] for s in velocity]),
        'object_twist': out[:, 32:38],
    }


def _sampling(model: Model) -> ca.Function:
    system = model.system
    x, p = ca.SX.sym('x', system.state.size), ca.SX.sym('p', system.parameters.size)
    X_WH, X_WO, _ = system.pose(x, p)
    out = ca.vertcat(ca.vec(X_WH), ca.vec(X_WO), *system.object_twist(x, p))
    return ca.Function('sample_bodies', [x, p], [ca.densify(out)])


def _check(job: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Simulate the object on a hand that follows a trajectory, and judge the contact."""
    model = model_of(job['scenario_file'])
    system = model.system
    times, controls, hand = hand_controls(job['trajectory'])
    x = np.array(job['start'], dtype=float)
    for name, value in hand.items():
        x[system.state.slice(name)] = value
    if not report({}):
        return {}
    rollout = RolloutSimulator(system, CHECK_SAMPLES).run(model.params, x, times, controls)
    margins, failure = {}, np.inf
    reason = ''
    for name, guard in system.mode.guards.items():
        values = np.array(
            guard.map(len(rollout.times))(rollout.states.T, rollout.controls.T, 0, model.params)
        ).ravel()
        broken = np.flatnonzero(~(values > 0.0))
        first = rollout.times[broken[0]] - times[0] if broken.size else np.inf
        if first < failure:
            failure = float(first)
            reason = f'{name} fails first, at {first:.4g} s: {values[broken[0]]:.4g}'
        upto = rollout.times - times[0] <= failure
        margins[name] = (
            float(np.min(values[upto])) if np.all(np.isfinite(values[upto])) else float('nan')
        )
    return {
        'ok': not np.isfinite(failure),
        'margins': margins,
        'first_failure_time': failure if np.isfinite(failure) else float('nan'),
        'reason': reason,
    }
