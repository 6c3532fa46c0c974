"""A plan executed in this process: the laws of the nodes on the equations of the plant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from rolling_controller.design import follow, laws_of
from rolling_controller.lockstep import run_lockstep
from rolling_controller.tracker import Tracker
from rolling_dynamics.arrays import Array
from rolling_dynamics.impulse import Impulse
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario_model import load_any, Model, ScenarioModel
from rolling_planner.plan import Plan
from rolling_planner.planners.planner import DEFAULTS, planner_of, Request
from rolling_planner.problem.plan_problem import PlanProblem
from rolling_robotics.arrays import layout_series
from rolling_robotics.experiments import parameters_of
from rolling_robotics.figures.beside import motion_of_plan
from rolling_robotics.trials.trial import PlanRequest, Record, say, Trial

RATE, TOLERANCE = 1000.0, 0.05  # of the controllers, where the experiment has no others [Hz]


def planned(
    model: ScenarioModel, experiment: str, request: Callable[[Scenario], PlanRequest]
) -> Plan:
    """Return the plan for the goal of a scenario, by the planner of an experiment."""
    scenario = model.scenario
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


class PlanLockstep:
    """Executes plans of a scenario as the nodes of an experiment do."""

    def __init__(self, experiment: str, scenario_file: str | Path, plant_file: str = '') -> None:
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
        self.model = load_any(str(scenario_file))
        self._plant = load_any(plant_file) if plant_file else self.model
        self._given = parameters_of(experiment, 'controller')
        uncounted = laws_of(self.model, self._given).uncounted
        self._tracker = Tracker(self.model.system, self.model.params, uncounted=uncounted)

    def execute(self, trial: Trial, plan: Plan) -> Record:
        """
        Execute a plan; the motion ends where the plant meets a guard that ends it.

        Raises
        ------
        ParameterError
            The plan or the law does not fit.

        """
        system = self.model.system
        following = follow(self.model, plan, {**self._given, **trial.settings})
        settle = float(self._given.get('settle_time', 0.0)) if following.holds else 0.0
        run = run_lockstep(
            self._plant.system,
            self._plant.params,
            self._start(trial),
            following.law,
            plan.duration + settle,
            rate=float(self._given.get('rate', RATE)),
            limits=self.model.scenario.control_limits,
            actuators=self._plant.scenario.actuators,
            pushes=[(t, self._pushed(velocity)) for t, velocity in trial.pushes],
        )
        self._tracker.begin(plan, following, settle=settle)
        error = self._tracker.goal_error(run.states[-1])
        tolerance = float(self._given.get('goal_tolerance', TOLERANCE))
        ended = ''
        if run.ended is not None:
            ended = f'the contact was lost at {run.times[-1]:.3f} s: {run.ended.name}'
        elif not error <= tolerance:
            ended = f'the goal was missed by {error:.4g}; goal_tolerance is {tolerance:g}'
        return Record(
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

    def _pushed(self, velocity: Sequence[float]) -> Callable[[Array], Array]:
        """Return from a state to that after an impulse over the mass of what is struck [m/s]."""
        impulse = Impulse(self._plant.system, self._plant.params)
        return lambda x: impulse.after(x, impulse.mass * np.array(velocity))

    def _start(self, trial: Trial) -> Array:
        """Return the start of the plant, shifted and turned."""
        plant, position, rotation = self._plant, np.array(trial.position), np.array(trial.rotation)
        if isinstance(plant, Model):
            d = np.zeros(plant.system.tangent.size)
            d[plant.system.tangent.slice('contact_h')] = position
            d[plant.system.tangent.slice('d_HO')] = rotation
        else:
            d = plant.view.shift @ position + plant.view.turn @ rotation
        return np.array(plant.system.retract(plant.start, d)).ravel()
