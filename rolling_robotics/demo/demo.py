"""Demonstrations as data, and the ones that plan for a goal and execute the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
import math
from pathlib import Path
from typing import Any, TYPE_CHECKING

from rolling_controller.design import follow, laws_of, Wanted
from rolling_controller.law import Law
from rolling_controller.measured_state import latency, MeasuredLaw, SensorFilter
from rolling_controller.tracker import Tracker
from rolling_dynamics.configuration import find_scenario
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_dynamics.scenario_model import load_any, load_robot, ScenarioModel
from rolling_planner.plan import Plan
from rolling_planner.planners.planner import DEFAULTS, planner_of, Request
from rolling_planner.problem.plan_problem import PlanProblem
from rolling_robotics.experiments import Experiment, find_experiment, parameters_of
from rolling_robotics.figures.beside import motion_of_plan
from rolling_robotics.hardware import EMULATED
from rolling_robotics.trials.standing import Standing
from rolling_robotics.trials.trial import (
    CLOSED_LOOP,
    Criterion,
    NodesTask,
    OPEN_LOOP,
    Outcome,
    PlanRequest,
    Record,
    Runner,
    say,
    state_goal,
    Trial,
)

if TYPE_CHECKING:
    from rolling_robotics.nodes.trial_client import TrialClient


RATE, TOLERANCE = 1000.0, 0.05  # of the controllers, where the experiment has no others [Hz]
NOISY = 0.2  # least goal_tolerance by sensors, whose noise moves a robot too
UNJUDGED = 100.0  # the maximum goal_tolerance


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
        options['time_budget'] = math.inf  # nobody waits, so that a busy machine plans the same
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
            Scenario of the planner.
        plant_file
            Scenario of the plant, where it differs.

        """
        self.model = load_any(str(scenario_file))
        self._plant = load_any(plant_file) if plant_file else self.model
        self._given = parameters_of(experiment, 'controller')
        uncounted = laws_of(self.model, self._given).uncounted
        self._tracker = Tracker(self.model.system, self.model.params, uncounted=uncounted)

    def execute(self, trial: Trial, plan: Plan, *, measured: bool = False) -> Record:
        """
        Execute a plan, by the state or as measured; a guard that ends the motion ends it.

        Raises
        ------
        ParameterError
            The plan or the law does not fit.

        """
        following = follow(Wanted(self.model, plan, {**self._given, **trial.settings}))
        settle = float(self._given.get('settle_time', 0.0)) if following.holds else 0.0
        motion = Standing(
            model=replace(self._plant, control_limits=self.model.control_limits),
            law=self._behind_sensors(following.law) if measured else following.law,
            rate=float(self._given.get('rate', RATE)),
        )
        record = motion.run(replace(trial, duration=plan.duration + settle))
        lost = f'the contact was lost at {record.times[-1]:.3f} s: {record.ended}'
        record = replace(
            record,
            planned=motion_of_plan(plan),
            plan=plan,
            end=plan.duration,
            ended=lost if record.ended else '',
        )
        return self.judged(record, measured=measured)

    def _behind_sensors(self, law: Law[Any]) -> MeasuredLaw:
        """Return a law that takes measurements of the plant's sensors."""
        model, plant = self.model, self._plant.scenario
        state = SensorFilter(model.system, model.params, plant.sensors, model.start)
        return MeasuredLaw(state, law, latency=latency(plant.sensors, plant.actuators))

    def judged(self, record: Record, *, measured: bool) -> Record:
        """Return a record with the error of the true state at its end, and whether it is small."""
        if record.plan is None:
            return record
        error = self._tracker.end_error(record.plan, record.states(self.model.system)[-1])
        given = float(self._given.get('goal_tolerance', TOLERANCE))
        tolerance = max(given, NOISY) if measured else given
        values, ended = {'error': error, 'tolerance': tolerance}, record.ended
        if not (ended or error <= tolerance):
            ended = f'the goal was missed by {error:.4g}; goal_tolerance is {tolerance:g}'
        return replace(record, ended=ended, values=values)


IDLE_PACE = 0.05  # simulated seconds in a second between trials


@dataclass(frozen=True, kw_only=True)
class Demo:
    """
    Trials of an experiment.

    Attributes
    ----------
    task, criterion
        Task of a trial, and criterion of success.
    law
        The law whose trials have to succeed.
    compared
        Other laws, with the length of a trial [s].
    duration
        Length of a trial under ``law`` [s]; 0 where the task has its own.
    settings
        Parameters of the controller by law.
    start
        From a random seed to fields of a trial: its start and disturbances.
    trials
        Default number of trials of ``law``; the others have a quarter of it.
    faster
        Factor by which the goal has to be reached sooner than under the last of the compared laws;
        0 for no such condition.
    plant
        Node that simulates the plant.
    pace, idle_pace
        Maximum real-time factor, in a trial and between trials.
    workers
        Number of processes that carry out trials in lockstep.
    draw
        Draws the figure, a PNG file; by default motions and plan.

    """

    task: NodesTask
    criterion: Criterion
    law: str = CLOSED_LOOP
    compared: Mapping[str, float] = field(default_factory=dict)
    duration: float = 0.0
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    start: Callable[[int], Mapping[str, Any]] = lambda _: {}
    trials: int = 1
    faster: float = 0.0
    plant: str = 'simulator'
    pace: float = 10.0
    idle_pace: float = IDLE_PACE
    workers: int = 1
    draw: Callable[[Sequence[Record], Path], None] | None = None

    def on(self, hardware: str) -> Demo:
        """Return the demonstration on a kind of hardware; empty for the usual one."""
        return replace(self, **self.task.on(hardware)) if hardware else self

    def under(self, law: str) -> Demo:
        """Return the demonstration of another law, next to the usual one; empty for the usual."""
        if law in ('', self.law):
            return self
        if not self.task.named_laws:
            given = {name: {**self.settings.get(name, {}), 'law': law} for name in self.lengths()}
            return replace(self, settings=given)
        return replace(self, law=law, compared={self.law: self.duration, **self.compared})

    def lengths(self) -> dict[str, float]:
        """Return the length of a trial by law [s]."""
        return {self.law: self.duration, **self.compared}

    def trial(self, law: str, seed: int = 1) -> Trial:
        """Return the trial of a law with a random seed."""
        return Trial(
            task=self.task,
            criterion=self.criterion,
            law=law,
            seed=seed,
            settings=self.settings.get(law, {}),
            duration=self.lengths()[law],
            **self.start(seed),
        )

    def all_trials(self, count: int = 0, seeds: Sequence[int] = ()) -> list[Trial]:
        """Return the trials, ``count`` under ``law`` (0: the usual number), or of these seeds."""
        count = count or self.trials
        return [
            self.trial(law, seed)
            for law in self.lengths()
            for seed in seeds or range(1, 1 + (count if law == self.law else max(1, count // 4)))
        ]


SETTINGS = {OPEN_LOOP: {'open_loop': True}, CLOSED_LOOP: {'open_loop': False}}


class GoalReached(Criterion):
    """Criterion: the goal of a plan is reached, as the controller evaluates it."""

    def outcome(self, record: Record) -> Outcome:
        """Return the norm of the goal error; it may be as great as the controller's tolerance."""
        return Outcome(
            failure=record.ended,
            inconclusive=record.inconclusive,
            unit='(norm of m, rad, m/s, rad/s)',
            error=record.values.get('error', math.nan),
            tolerance=record.values.get('tolerance', math.nan),
        )


@dataclass(frozen=True, kw_only=True)
class PlanTask(NodesTask):
    """
    Task: execute a plan.

    Attributes
    ----------
    request
        From the scenario to the request to the planner.
    plant_file
        Scenario of the plant, where it differs from the planner's.

    """

    request: Callable[[Scenario], PlanRequest]
    plant_file: str = ''

    def check(self) -> None:
        """Ask for the goal of the plan."""
        self.request(load_scenario(self._scenario_file))

    def runner(self, records: Sequence[Record] = ()) -> Runner | None:
        """Take the plan of the nodes, or make one here as their planner makes it."""
        driver, measured = self._driver, self.hardware == EMULATED
        plan = records[0].plan if records else planned(driver.model, self.experiment, self.request)
        return None if plan is None else partial(driver.execute, plan=plan, measured=measured)

    def overrides(self, *, use_sim_time: bool, rate: float) -> dict[str, dict[str, object]]:  # noqa: ARG002
        """Return the scenario of the plant, where it differs; its state is the truth."""
        plant: dict[str, object] = {'scenario_file': self.plant_file} if self.plant_file else {}
        judge: dict[str, object] = (
            {'goal_tolerance': UNJUDGED} if self.hardware == EMULATED else {}
        )
        return {'simulator': plant, 'controller': judge}

    def on(self, hardware: str) -> dict[str, Any]:
        """Return the changes: by sensors it starts where the scenario does, under feedback."""
        own = {'start': lambda _: {}, 'compared': {}} if hardware == EMULATED else {}
        return super().on(hardware) | own

    @property
    def _driver(self) -> PlanLockstep:
        return PlanLockstep(self.experiment, self._scenario_file, self.plant_file)

    @property
    def _scenario_file(self) -> Path:
        return find_scenario(find_experiment(self.experiment).scenario_file)

    def ask(self, client: TrialClient, trial: Trial) -> Record:
        """Have the plan made, once for all trials, and executed."""
        missing = client.planned(self.request(load_scenario(self._scenario_file)))
        measured = self.hardware == EMULATED
        return Record(ended=missing) if missing else client.execute(trial, measured=measured)

    def read(self, recording: Path, records: Sequence[Record]) -> list[Record]:
        """Return records with the states and controls of the executions."""
        from rolling_robotics.nodes.recorded import Recorded  # noqa: PLC0415  (needs rosbags)
        from rolling_robotics.nodes.replay.executions import recorded_executions  # noqa: PLC0415

        if all(record.number < 0 for record in records):
            return list(records)
        with Recorded(recording, self._scenario_file) as recorded:
            found = recorded_executions(recorded)

        def completed(record: Record) -> Record:
            if record.number < 0:
                return record
            motion = found[record.number]
            own = {name: getattr(motion, name) for name in ('times', 'arrays', 'planned', 'plan')}
            return replace(record, **own)

        done = [completed(record) for record in records]
        if self.hardware != EMULATED:
            return done
        driver = self._driver  # which loads the scenario
        return [driver.judged(record, measured=True) for record in done]


def plan_demo(
    experiment: str,
    position: tuple[float, float],
    rotation: tuple[float, float, float] = (0.0, 0.0, 0.0),
    request: Callable[[Scenario], PlanRequest] = state_goal,
    plant_file: str = '',
    **options: Any,
) -> Demo:
    """
    Return the demonstration of a plan, executed from a disturbed start.

    Parameters
    ----------
    experiment
        Name of the experiment.
    position, rotation
        Error of the start in position [m] and attitude [rad].
    request
        From the scenario to the request to the planner.
    plant_file
        See :class:`PlanTask`.
    options
        Further fields of :class:`Demo`.

    """
    return Demo(
        task=PlanTask(experiment=experiment, request=request, plant_file=plant_file),
        criterion=GoalReached(),
        compared={OPEN_LOOP: 0.0},
        settings=SETTINGS,
        start=lambda _: {'position': position, 'rotation': rotation},
        **options,
    )


OFF = 0.02  # m, of the start from the plan's, along x and y


def demo(experiment: Experiment) -> Demo:
    """Return the demonstration of a plan; without a given start, next to the plan if possible."""
    if experiment.start:
        return plan_demo(experiment.name, **experiment.start)
    view = load_robot(experiment.scenario_file).view
    moved = (OFF, -OFF) if view.shift.any(axis=0).all() else (0.0, 0.0)
    return plan_demo(experiment.scenario_file, moved)
