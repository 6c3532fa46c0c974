"""From a plan to the feedback that follows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, KW_ONLY, replace
from functools import cached_property, partial
import math
from typing import Any, Protocol

from rolling_controller.law import Following, Law, law_named, OpenLoop
from rolling_controller.learned_law import LearnedLaw, LearnedPolicy
from rolling_controller.nominal import nominal_trajectory
from rolling_controller.predictive.beside import PredictingBeside
from rolling_controller.predictive.law import Horizon, PredictiveLaw
from rolling_controller.predictive.pursuit import Ask, problem_of, Pursuit, Replanning
from rolling_controller.robot_laws.regulator import never, RegulatedRobot, robot_kind, RobotKind
from rolling_controller.time_varying_lqr import KNOT
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario_model import ScenarioModel
from rolling_planner.plan import Plan

REPLANNING = Replanning(lead=0.45)  # a planner that runs next to a busy loop is slow
PERIOD = 4e-3  # between two predictions in a thread [s]
SLEW = 20.0  # of their commands over the range of the controls [1/s]


class Settings(Protocol):
    """Parameters of a controller by name."""

    def get(self, name: str, default: Any, /) -> Any:  # noqa: ANN401  as the parameter has it
        """Return the present value; the default of one that is not there."""


class Options(Mapping[str, float]):
    """The options of a kind of machine, as the parameters of its controller are at the moment."""

    def __init__(self, settings: Settings, kind: RobotKind) -> None:
        """Read these parameters; those that are missing have their defaults."""
        self._settings, self._group = settings, f'{kind.group}.' if kind.group else ''
        self._defaults = {option.name: option.default for option in kind.options}

    def __getitem__(self, name: str) -> float:
        """Return the present value."""
        return float(self._settings.get(self._group + name, self._defaults[name]))

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._defaults)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._defaults)


def laws_of(model: ScenarioModel, settings: Settings) -> RegulatedRobot:
    """Return the laws of a machine with parameters of its controller."""
    kind = robot_kind(model.system.name)
    return kind.make(model.scenario, Options(settings, kind))


@dataclass(frozen=True)
class Wanted:
    """
    Request for a law along a plan.

    Attributes
    ----------
    model
        A robot, or an object on a hand.
    plan
        The plan.
    settings
        Parameters of a controller by name, among them ``open_loop`` and ``law``; missing ones have
        their defaults.
    interrupted
        Called now and then; returns whether to give up.
    beside
        Whether predictions run in a separate thread instead of the loop.
    ask
        Requests new plans for a predictive law; None where it keeps the given one.
    patience
        How long to wait for such a plan when it has to take over [s].
    safe
        Command of a predictive law where its predictions fail.

    """

    model: ScenarioModel
    plan: Plan
    settings: Settings
    interrupted: Callable[[], bool] = never
    _: KW_ONLY
    beside: bool = False
    ask: Ask | None = None
    patience: float = 0.0
    safe: Callable[[Array], Array] | None = None

    @cached_property
    def laws(self) -> RegulatedRobot:
        """The laws of the kind of machine, by its options."""
        return laws_of(self.model, self.settings)


def _lqr(wanted: Wanted) -> Following:
    return wanted.laws.follow(wanted.plan, wanted.interrupted)


def _predictive(wanted: Wanted) -> Following:
    model = wanted.model
    predictive = PredictiveLaw(
        model.system,
        model.params,
        wanted.plan,
        wanted.laws.weights(),
        control_limits=math.inf if model.control_limits is None else model.control_limits,
        horizon=Horizon(period=PERIOD, slew=SLEW),
        safe=wanted.safe,
        interrupted=wanted.interrupted,
    )
    r, pursuit = predictive.reference, None
    if wanted.ask is not None:
        options = replace(REPLANNING, patience=wanted.patience)
        pursuit = Pursuit(predictive, problem_of(predictive), wanted.ask, options)
    used = PredictingBeside(predictive, pursuit, in_loop=not wanted.beside)
    course = None if pursuit is None else (lambda: pursuit.course)
    return Following(used, r.times, r.states, predictive.warning, holds=True, course=course)


def _learned(wanted: Wanted) -> Following:
    if not (policy_file := wanted.settings.get('policy_file', '')):
        raise ParameterError(f'law {LEARNED!r} needs policy_file, the file of a policy')
    model, policy = wanted.model, LearnedPolicy.read(policy_file)
    law = LearnedLaw(model.system, model.params, wanted.plan, policy, wanted.interrupted)
    return Following(law, law.course.times, law.course.states, holds=True)


LQR, PREDICTIVE, LEARNED = 'lqr', 'predictive', 'learned'
LAWS: Mapping[str, Callable[[Wanted], Following | Law[Any]]] = {
    LQR: _lqr,
    PREDICTIVE: _predictive,
    LEARNED: _learned,
}


def follow(wanted: Wanted) -> Following:
    """
    Return the law along a plan that a controller's parameters choose, and its hold.

    It is one of :data:`LAWS`, or of those that the type of machine names. Without ``ask`` a plan
    stays unchanged and ends in the machine's hold; with it the law continues.

    Raises
    ------
    ParameterError
        The law does not exist, a weight or a policy file is invalid, or the plan is too long.
    SimulationError
        The motion under the planned controls is not finite.
    CancelledError
        Interrupted.

    """
    system, plan = wanted.model.system, wanted.plan
    if wanted.settings.get('open_loop', False):
        return open_loop(system, wanted.model.params, plan, wanted.interrupted)
    makers = {**LAWS, **robot_kind(system.name).along()}
    laws = {name: partial(make, wanted) for name, make in makers.items()}
    found = law_named(laws, wanted.settings.get('law', LQR), f'a controller of {system.name}')
    if not isinstance(found, Following):
        found = Following(found, plan.times, plan.states)
    return found if wanted.ask or found.hold else found._replace(hold=wanted.laws.end(plan)[0])


def open_loop(
    system: RollingSystem,
    params: Array,
    plan: Plan,
    interrupted: Callable[[], bool] = lambda: False,
) -> Following:
    """Return the planned controls without feedback, and the motion that they cause."""
    times, states, *_ = nominal_trajectory(system, params, plan, None, KNOT, interrupted)
    return Following(OpenLoop(system, plan), times, states)
