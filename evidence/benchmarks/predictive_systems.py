"""Predictive control of every kind of system, beside the linear regulator and no feedback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evidence.benchmarks.predictive import noting
from evidence.benchmarks.row import Row
import numpy as np
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
from rolling_dynamics.compiled import settle
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import RollingError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.testing import Subject
from rolling_dynamics.testing.motion import scales, values
from rolling_robotics.trials.trial import Record, Task, Trial, tried

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


class Disturbed(Task):
    """
    A motion from a start that is off, pushed in its middle; the trial's seed draws both.

    Attributes
    ----------
    law, laws
        The predictive law, and all by name.
    seconds
        Processor times of its steps [s].

    """

    def __init__(self, name: str) -> None:
        """Design the laws along a known motion of a scenario."""
        self.scenario = load_scenario(f'{name}.yaml')
        system, p = self.scenario.system, self.scenario.p
        given = system, p, np.array(self.scenario.x0), np.zeros(system.control.size)
        _, self.plan = known_motion(Subject(*given, duration=DURATION))
        limits = LIMIT * scales(system.control)
        weights = LqrWeights(tracking=_by_scale(system, 1.0), terminal=_by_scale(system, 100.0))
        along = system, p, self.plan, weights
        self.law = PredictiveLaw(*along, control_limits=limits, horizon=HORIZON)
        lqr = TimeVaryingLqr(*along, control_limits=limits)
        settle(300.0)
        unaided = StateFeedback(system, lambda *given: given[-1], lambda t: lqr.nominal(t)[1])
        self.laws: dict[str, Law[Any]] = {'predictive': self.law, 'lqr': lqr, 'open': unaided}
        self.seconds = list[float]()
        self._noted = noting(self.law, self.seconds)

    def run(self, trial: Trial) -> Record:
        """
        Carry out a trial.

        Returns
        -------
        Record
            Its values are ``missed``, the distance of where it ends from the end of the plan over
            the scales, and ``failed``, programs of the predictive law without a solution.

        """
        system, moving = self.scenario.system, self.law.used.moving
        drawn = np.random.default_rng(0).normal(size=(DRAWS, 2, system.tangent.size))[trial.seed]
        aside = np.zeros_like(drawn)
        aside[:, moving] = ASIDE * (drawn * scales(system.tangent))[:, moving]
        x = values(system.retract, self.plan.states[0], aside[0])
        given, pushes = (system, self.scenario.p, x), [(DURATION / 2, aside[1])]
        law = self.laws[trial.law]
        run = run_lockstep(*given, law, DURATION, signals=self._noted, pushes=pushes)
        off = values(system.difference, run.states[-1], self.plan.states[-1])
        missed = float(np.linalg.norm((off / scales(system.tangent))[moving]))
        failed = self.law.record.failed if law is self.law else 0
        return Record(end=DURATION, values={'missed': missed, 'failed': failed})


def _of(name: str) -> Iterator[Row]:
    task = Disturbed(name)
    found = {law: tried(Trial(task=task, law=law), range(DRAWS))[0] for law in task.laws}
    reached, by_lqr, without = (
        float(np.sqrt(np.mean([record.values['missed'] ** 2 for record in records])))
        for records in found.values()
    )
    failed = sum(int(record.values['failed']) for record in found['predictive'])
    yield Row(
        name=f'{name}, distance from the end over the scales',
        value=reached,
        goal=f'at most {by_lqr:.4g}',
        reference=f'linear regulator {by_lqr:.3g}, open loop {without:.3g}; '
        f'{failed} programs failed',
    )
    used = task.law.used
    title = f'{name}, a step, {len(used.moving)} states, {len(used.active)} controls'
    against = f'99 of 100 within {1e3 * np.quantile(task.seconds, 0.99):.2g} CPU ms'
    yield Row(title, 1e3 * float(np.median(task.seconds)), 'CPU ms', reference=against)


def _by_scale(system: RollingSystem, weight: float) -> dict[str, float]:
    """Return weights of the deviations over their scales, which is what is measured."""
    each = weight / scales(system.tangent) ** 2
    return dict(zip(system.tangent.names, each.tolist(), strict=True))
