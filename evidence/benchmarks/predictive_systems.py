"""Predictive control of every kind of system, beside the linear regulator and no feedback."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evidence.benchmarks.predictive import noting
from evidence.benchmarks.row import Row
import numpy as np
from numpy.typing import NDArray
from rolling_controller import (
    Horizon,
    PredictiveLaw,
    run_lockstep,
    StateFeedback,
    TimeVaryingLqr,
)
from rolling_controller.law import Law
from rolling_controller.testing import known_motion
from rolling_controller.time_varying_lqr import LqrWeights
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import settle
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import RollingError
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_dynamics.testing import Subject
from rolling_dynamics.testing.motion import scales, values
from rolling_planner import Plan
from rolling_robotics.trials.trial import Criterion, Outcome, Record, Task, Trial, tried

SCENARIOS = (
    'ball_on_plate_hard',
    'ellipsoid_on_plate',
    'ellipsoid_in_dish',
    'laboratory_flip_up',
    'laboratory_damping',
    'scenarios/point_mass_disk',
    'point_mass_straight',
    'pendulum_turn',
    'spin_rolling_ball',
    'scenarios/ball_balancer',
)
DURATION = 1.0  # s
DRAWS = 4  # of start and push; their root mean square counts
ASIDE = 0.02  # of the start and of the push in the middle, over the scales of the state
LIMIT = 0.1  # of the controls, over their scales; the motion takes a fifth of it
HORIZON = Horizon(stages=20, period=10e-3)


def rows() -> Iterator[Row]:
    """Yield for each system where the laws end, and how long a step takes."""
    for name in SCENARIOS:
        try:
            yield from _of(name)
        except RollingError as e:
            yield Row(name, None, reference=str(e).splitlines()[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Disturbed(Task):
    """
    A motion from a start that is off, pushed in its middle; the trial's seed draws both.

    Attributes
    ----------
    scenario, plan
        The system, and its motion.
    laws
        By name.
    moving
        Tangent numbers that the controls move.
    noted
        Signals of each step.

    """

    scenario: Scenario
    plan: Plan
    laws: Mapping[str, Law[Any]]
    moving: NDArray[np.intp]
    noted: Callable[[float], dict[str, Array]]

    def run(self, trial: Trial) -> Record:
        """
        Carry out a trial.

        Returns
        -------
        Record
            Its values are ``missed``, the distance of where it ends from the end of the plan over
            the scales, and ``failed``, programs of the predictive law without a solution.

        """
        system, law = self.scenario.system, self.laws[trial.law]
        drawn = np.random.default_rng(0).normal(size=(DRAWS, 2, system.tangent.size))[trial.seed]
        aside = np.zeros_like(drawn)
        aside[:, self.moving] = ASIDE * (drawn * scales(system.tangent))[:, self.moving]
        x = values(system.retract, self.plan.states[0], aside[0])
        given, pushes = (system, self.scenario.p, x, law), [(DURATION / 2, aside[1])]
        run = run_lockstep(*given, DURATION, signals=self.noted, pushes=pushes)
        off = values(system.difference, run.states[-1], self.plan.states[-1])
        missed = float(np.linalg.norm((off / scales(system.tangent))[self.moving]))
        failed = law.record.failed if isinstance(law, PredictiveLaw) else 0
        ended = '' if run.ended is None else run.ended.name
        return Record(end=DURATION, ended=ended, values={'missed': missed, 'failed': failed})


class Kept(Criterion):
    """The motion lasts."""

    def outcome(self, record: Record) -> Outcome:
        """Return what ended it."""
        return Outcome(failure=record.ended, error=record.values['missed'])


def _of(name: str) -> Iterator[Row]:
    scenario = load_scenario(f'{name}.yaml')
    system, p = scenario.system, scenario.p
    resting = np.zeros(system.control.size)
    subject = Subject(system, p, np.array(scenario.x0), resting, duration=DURATION)
    _, plan = known_motion(subject)
    limits = LIMIT * scales(system.control)
    weights = LqrWeights(tracking=_by_scale(system, 1.0), terminal=_by_scale(system, 100.0))
    law = PredictiveLaw(system, p, plan, weights, control_limits=limits, horizon=HORIZON)
    lqr = TimeVaryingLqr(system, p, plan, weights, control_limits=limits)
    settle(300.0)
    unaided = StateFeedback(system, lambda *given: given[-1], lambda t: lqr.nominal(t)[1])
    laws: dict[str, Law[Any]] = {'predictive': law, 'lqr': lqr, 'open': unaided}
    seconds = list[float]()
    task = Disturbed(
        scenario=scenario,
        plan=plan,
        laws=laws,
        moving=law.used.moving,
        noted=noting(law, seconds),
    )
    one, missed, failed = Trial(task=task, criterion=Kept()), dict[str, float](), 0
    for which in laws:
        records, _ = tried(replace(one, law=which), range(DRAWS))
        missed[which] = float(np.sqrt(np.mean([r.values['missed'] ** 2 for r in records])))
        failed += sum(int(r.values['failed']) for r in records)
    by_lqr = missed['lqr']
    yield Row(
        name=f'{name}, distance from the end over the scales',
        value=missed['predictive'],
        goal=f'at most {by_lqr:.4g}',
        reference=f'linear regulator {by_lqr:.3g}, open loop {missed["open"]:.3g}; '
        f'{failed} programs failed',
    )
    title = f'{name}, a step, {len(law.used.moving)} states, {len(law.used.active)} controls'
    against = f'99 of 100 within {1e3 * np.quantile(seconds, 0.99):.2g} CPU ms'
    yield Row(title, 1e3 * float(np.median(seconds)), 'CPU ms', reference=against)


def _by_scale(system: RollingSystem, weight: float) -> dict[str, float]:
    """Return weights of the deviations over their scales, which is what is measured."""
    each = weight / scales(system.tangent) ** 2
    return dict(zip(system.tangent.names, each.tolist(), strict=True))
