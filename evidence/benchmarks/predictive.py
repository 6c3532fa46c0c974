"""Predictive control of the ball of Table II: time of a step, pushes, and goals that jump."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
import time
from typing import NamedTuple

from evidence.benchmarks.adjusted import Adjusted
from evidence.benchmarks.plans import hard
from evidence.benchmarks.pushed_ball import (
    drawn,
    Held,
    planned,
    predictive_law,
    REPLANNING,
    SYSTEM,
    trial,
)
from evidence.benchmarks.row import Row
import numpy as np
from rolling_controller import PredictiveLaw, run_lockstep
from rolling_controller.predictive.pursuit import Answer, Pursuit
from rolling_dynamics.compiled import settle
from rolling_planner import Plan, plan_rolling, PlanProblem
from rolling_robotics.trials.trial import Record

Array = np.ndarray
SEEDS = 10
PUBLISHED = (
    'contact-implicit predictive control of hands: 20 Hz (jiang2024contact), 50 to 100 Hz '
    '(jin2024complementarity); one plan of the paper takes 171 + 346 + 946 s '
    '(woodruff2022juggling, below Table II)'
)


def rows() -> Iterator[Row]:
    """Yield the figures."""
    seconds, excess = _steps()
    for name, value, bound in (
        ('median', np.median(seconds), 1),
        ('99 of 100', np.quantile(seconds, 0.99), 2),
    ):
        yield Row(
            name=f'a step of predictive control, ball on a plate, {name}',
            value=1e3 * float(value),
            unit='CPU ms',
            goal=f'at most {bound}',
            reference=PUBLISHED,
        )
    yield Row(
        name='greatest control over its limit, pushed ball',
        value=excess,
        unit='rad/s^2',
        goal='at most 0',
    )
    for law in ('pursuit', 'lqr', 'open'):
        ends = [trial(seed, law) for seed in range(SEEDS)]
        yield Row(
            name=f'goals reached of {SEEDS}, pushed ball, {law}',
            value=sum(not Held().outcome(end).failure for end in ends),
            goal=f'at least {0.99 * SEEDS:g}' if law == 'pursuit' else '',
            reference=_text(ends),
        )


def _text(ends: list[Record]) -> str:
    """Return the errors at the end, and what else happened."""
    values = {name: [e.values[name] for e in ends] for name in ends[0].values}
    position, attitude = (np.median(values[name]) for name in ('position', 'attitude'))
    return (
        f'error at the end, median {position:.2g} mm, {attitude:.2g} degrees; off the plate '
        f'{sum(bool(e.ended) for e in ends)}; friction beyond its cone by at most '
        f'{max(values["slid"]):.2g} weights; greatest spin at the end '
        f'{np.abs(values["spin"]).max():.2g} rad/s'
    )


def _steps() -> tuple[list[float], float]:
    """Return the processor times of predictions with a push, and the greatest excess of u."""
    limit = 50.0
    problem = hard(mu=0.3, quiet_ends=True)
    system, plan = problem.system, plan_rolling(problem)
    law = PredictiveLaw(system, problem.p, plan, control_limits=limit)
    settle(300.0)
    push = np.zeros(system.tangent.size)
    push[system.tangent.slice('w_HO_H')] = [0.4, 0.3, 0.0]
    timed = Timed(law)
    run = run_lockstep(system, problem.p, problem.x_start, timed.law, 2.5, pushes=[(1.0, push)])
    return timed.seconds, max(float(np.abs(run.controls).max()) - limit, 0.0)


class Timed:
    """A predictive law, and the processor times of its programs [s]."""

    def __init__(self, law: PredictiveLaw) -> None:
        """Take the law."""
        self.seconds: list[float] = []
        self.law, self._record, self._solved = Adjusted(law, self._note), law, 0

    def _note(self, _t: float, _x: Array, u: Array) -> Array:
        record, solved = self._record.record, self._solved
        self._solved = record.solved
        if record.solved not in (0, solved):
            self.seconds.append(record.seconds)
        return u


TRIES = 2  # plans asked for at once
MOTIONS, JUMPS = 20, 5  # jumps in each motion
BETWEEN = 0.3, 1.5  # s of the motion
WANTED = 0.5  # CPU s


class Answered(NamedTuple):
    """CPU seconds until a plan could be followed, or was given up; what it leads to."""

    seconds: float
    goal: str  # 'whole', 'position' alone, or none


def moved_goals_rows() -> Iterator[Row]:
    """Yield how many of the goals are answered soon enough."""
    answered = [a for seed in range(MOTIONS) for a in answers(seed)]
    seconds = np.array([a.seconds for a in answered])
    soon = sum(bool(a.goal) and a.seconds <= WANTED for a in answered)
    count = Counter(a.goal for a in answered)
    yield Row(
        name=f'goals of {len(answered)} that jump in place and attitude, a plan within {WANTED} s',
        value=soon,
        goal=f'at least {len(answered)}',
        reference=f'CPU time, median {np.median(seconds):.2g} s, 95 of 100 within '
        f'{np.quantile(seconds, 0.95):.2g} s, at most {seconds.max():.2g} s; '
        f'{count["position"]} to the position first, {count[""]} without a plan',
    )


def answers(seed: int) -> Iterator[Answered]:
    """Yield the answers to goals that jump at one time of a motion without imperfections."""
    rng = np.random.default_rng([seed, MOTIONS])
    problem, plan = planned(drawn(rng).problem)
    law = predictive_law(problem, plan)
    at = float(rng.uniform(*BETWEEN))
    x = run_lockstep(SYSTEM, problem.p, problem.x_start, law, at).states[-1]
    law.predict(at, x)
    for _ in range(JUMPS):
        q = rng.normal(size=4)
        asked: list[PlanProblem] = []
        plans: list[Plan] = []

        def ask(
            again: PlanProblem, asked: list[PlanProblem] = asked, plans: list[Plan] = plans
        ) -> Answer:
            asked.append(again)
            plans.append(plan_rolling(again))
            return lambda _: None

        pursuit = Pursuit(law, replace(problem, goal_tolerance=5e-4), ask, REPLANNING)
        pursuit.pursue({'q_HO': q / np.linalg.norm(q), 'contact_h': rng.uniform(-0.25, 0.25, 2)})
        began = time.thread_time()
        while not plans and len(asked) < TRIES:
            pursuit.predict(at, x)
        if plans:
            law.reference_of(plans[0], at)
        seconds = time.thread_time() - began
        whole = asked[-1].goal['q_HO'] is not None
        yield Answered(seconds, ('whole' if whole else 'position') if plans else '')
