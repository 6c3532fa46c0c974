"""Goals that jump in the middle of a motion: processor time until there is a plan to follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
import time
from typing import NamedTuple

from evidence.benchmarks.pushed_ball import drawn, planned, predictive_law, REPLANNING, SYSTEM
from evidence.benchmarks.row import Row
import numpy as np
from rolling_controller import run_lockstep
from rolling_controller.predictive.pursuit import Answer, Pursuit
from rolling_planner import Plan, plan_rolling, PlanProblem

TRIES = 2  # plans asked for at once
MOTIONS, JUMPS = 20, 5  # jumps in each motion
BETWEEN = 0.3, 1.5  # s of the motion
WANTED = 0.5  # CPU s


class Answered(NamedTuple):
    """CPU seconds until a plan could be followed, or was given up; what it leads to."""

    seconds: float
    goal: str  # 'whole', 'position' alone, or none


def rows() -> Iterator[Row]:
    """Yield how many of the goals are answered soon enough."""
    answered = [a for seed in range(MOTIONS) for a in answers(seed)]
    seconds = np.array([a.seconds for a in answered])
    soon = sum(bool(a.goal) and a.seconds <= WANTED for a in answered)
    count = Counter(a.goal for a in answered)
    yield Row(
        name=f'goals of {len(answered)} that jump in place and attitude, a plan within {WANTED} s',
        value=soon,
        unit='',
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
