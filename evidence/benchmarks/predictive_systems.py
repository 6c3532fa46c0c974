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
from rolling_controller.predictive.law import Record
from rolling_controller.testing import known_motion
from rolling_controller.time_varying_lqr import LqrWeights
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import settle
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import RollingError, SimulationError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.testing import Subject
from rolling_dynamics.testing.motion import scales, values

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
    moving, records = law.used.moving, list[Record]()
    drawn = np.random.default_rng(0).normal(size=(DRAWS, 2, system.tangent.size))
    asides = np.zeros_like(drawn)
    asides[..., moving] = ASIDE * (drawn * scales(system.tangent))[..., moving]

    def ends(used: Law[Any], aside: Array) -> float:
        x, half = plan.states[0], DURATION / 2
        x = values(system.retract, x, aside[0])
        try:
            pushes = [(half, aside[1])]
            run = run_lockstep(system, p, x, used, DURATION, signals=noted, pushes=pushes)
        except SimulationError:
            return float('inf')
        if used is law:
            records.append(law.record)
        missed = values(system.difference, run.states[-1], plan.states[-1])
        return float(np.linalg.norm((missed / scales(system.tangent))[moving]))

    seconds = list[float]()
    noted = noting(law, seconds)
    unaided = StateFeedback(system, lambda *given: given[-1], lambda t: lqr.nominal(t)[1])
    reached, by_lqr, without = (
        float(np.sqrt(np.mean([ends(used, aside) ** 2 for aside in asides])))
        for used in (law, lqr, unaided)
    )
    yield Row(
        name=f'{name}, distance from the end over the scales',
        value=reached,
        goal=f'at most {by_lqr:.4g}',
        reference=f'linear regulator {by_lqr:.3g}, open loop {without:.3g}; '
        f'{sum(r.failed for r in records)} programs failed',
    )
    title = f'{name}, a step, {len(moving)} states, {len(law.used.active)} controls'
    against = f'99 of 100 within {1e3 * np.quantile(seconds, 0.99):.2g} CPU ms'
    yield Row(title, 1e3 * float(np.median(seconds)), 'CPU ms', reference=against)


def _by_scale(system: RollingSystem, weight: float) -> dict[str, float]:
    """Return weights of the deviations over their scales, which is what is measured."""
    each = weight / scales(system.tangent) ** 2
    return dict(zip(system.tangent.names, each.tolist(), strict=True))
