"""A plan executed in this process: the laws of the nodes on the equations of the plant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.law import Following, Law, OpenLoop
from rolling_controller.lockstep import run_lockstep
from rolling_controller.lqr_options import read_weights, weight_options
from rolling_controller.robot_laws import robot_kind
from rolling_controller.time_varying_lqr import TimeVaryingLqr
from rolling_controller.tracker import Tracker
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.regulator_weights import ATTITUDE, CONTACT_WEIGHTS
from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.robots import robot_view
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_planner.plan import Plan
from rolling_planner.planners.planner import DEFAULTS, planner_of, Request
from rolling_planner.problem.plan_problem import PlanProblem
from rolling_robotics.arrays import layout_series
from rolling_robotics.experiments import parameters_of
from rolling_robotics.figures.beside import motion_of_plan
from rolling_robotics.trials.plan_request import PlanRequest
from rolling_robotics.trials.report import say
from rolling_robotics.trials.trial import Record, Trial

LQR = 'lqr'
RATE, TOLERANCE = 1000.0, 0.05  # of the controllers, where the experiment has no others [Hz]


def planned(
    experiment: str, scenario: Scenario, request: Callable[[Scenario], PlanRequest]
) -> Plan:
    """Return the plan of a request, with the options of the planner of an experiment."""
    planner = planner_of(scenario.system.name)
    say(f'goal: {request(scenario).text}')
    problem, asked = planner.problem(scenario), None
    if isinstance(problem, PlanProblem):
        given = parameters_of(experiment, 'planner')
        options = {name: given.get(name, default) for name, default in DEFAULTS.items()}
        goal = {name: values for name, values in problem.goal.items() if values is not None}
        asked = Request(start=scenario.x0, goal=goal, horizon=problem.horizon, options=options)
    plan = planner.plan(scenario, lambda _: True, asked).plan
    say(f'planned {plan.duration:.4g} s of motion, {len(plan.times)} samples')
    return plan


class _Limited:
    """A law whose output is kept within limits, as a controller does."""

    def __init__(self, law: Law[Any], limits: Array) -> None:
        self.inputs, self.output, self.period = law.inputs, law.output, law.period
        self.opaque, self.start, self._law, self._limits = law.opaque, law.start, law, limits

    def step(self, memory: Any, inputs: ArrayLike, t: float) -> tuple[Any, Array]:
        """Return memory and output; see :class:`Law`."""
        memory, u = self._law.step(memory, inputs, t)
        return memory, u.clip(-self._limits, self._limits)


class PlanLockstep:
    """Executes plans of a scenario as the nodes of an experiment do."""

    def __init__(self, experiment: str, scenario_file: Path, plant_file: str = '') -> None:
        """
        Load scenario and plant.

        Parameters
        ----------
        experiment
            Name of the experiment, for the parameters of its controller.
        scenario_file
            What is planned for.
        plant_file
            Scenario of the plant, where it differs.

        """
        self.scenario: Scenario = load_scenario(scenario_file)
        self._plant = load_scenario(plant_file) if plant_file else self.scenario
        self._given = parameters_of(experiment, 'controller')
        self._on_a_hand = offers(self.scenario.system, CarriedObject) is not None
        kind = robot_kind(self.scenario.system.name)
        own = {o.name: self._given.get(f'{kind.group}.{o.name}', o.default) for o in kind.options}
        self._robot = None if self._on_a_hand else kind.make(self.scenario, own)

    def has_law(self, trial: Trial) -> bool:
        """Tell whether the law of a trial runs here, not on the nodes alone."""
        return bool(trial.settings.get('open_loop')) or trial.settings.get('law', LQR) == LQR

    def execute(self, trial: Trial, plan: Plan) -> Record:
        """
        Execute a plan; the motion ends where the plant meets a guard that ends it.

        Raises
        ------
        ParameterError
            The plan does not fit.

        """
        scenario, system = self.scenario, self.scenario.system
        following = self._following(trial, plan)
        settle = float(self._given.get('settle_time', 0.0)) if following.holds else 0.0
        run = run_lockstep(
            self._plant.system,
            self._plant.p,
            self._start(trial),
            _Limited(following.law, scenario.control_limits),
            plan.duration + settle,
            rate=float(self._given.get('rate', RATE)),
        )
        uncounted = () if self._robot is None else self._robot.uncounted
        tracker = Tracker(system, scenario.p, uncounted=uncounted)
        tracker.begin(plan, following, settle=settle)
        error = tracker.goal_error(run.states[-1])
        tolerance = float(self._given.get('goal_tolerance', TOLERANCE))
        ended = ''
        if run.ended is not None:
            ended = f'the contact was lost at {run.times[-1]:.3f} s: {run.ended.name}'
        elif not error <= tolerance:
            ended = f'the goal was missed by {error:.4g}; goal_tolerance is {tolerance:g}'
        return Record(
            law=trial.law,
            seed=trial.seed,
            times=run.times,
            arrays={
                **layout_series(system.state, run.states),
                **layout_series(system.control, run.controls),
            },
            planned=motion_of_plan(plan),
            end=plan.duration,
            ended=ended,
            values={'error': error, 'tolerance': tolerance},
        )

    def _following(self, trial: Trial, plan: Plan) -> Following:
        scenario = self.scenario
        if trial.settings.get('open_loop', False):
            return Following(OpenLoop(scenario.system, plan), plan.times, plan.states)
        if self._robot is not None:
            return self._robot.follow(plan)
        options = weight_options(CONTACT_WEIGHTS, ATTITUDE)
        values = {o.name: self._given.get(o.name, o.default) for o in options}
        weights = read_weights(values, scenario.system)
        limits = scenario.control_limits
        lqr = TimeVaryingLqr(scenario.system, scenario.p, plan, weights, control_limits=limits)
        return Following(lqr, lqr.times, lqr.states)

    def _start(self, trial: Trial) -> Array:
        """Return the start of the plant, shifted and turned."""
        system, position, rotation = self._plant.system, trial.position, trial.rotation
        d = np.zeros(system.tangent.size)
        if self._on_a_hand:
            d[system.tangent.slice('contact_h')] = position
            d[system.tangent.slice('d_HO')] = rotation
        else:
            view = robot_view(system, self._plant.p)
            d = view.shift @ np.array(position) + view.turn @ np.array(rotation)
        return np.array(system.retract(self._plant.x0, d)).ravel()
