"""
Section VIII: damping, flip-up, throw and catch of an ellipse on an inclined air table.

The experiments run in lockstep on the emulated hardware, with sensors, motors and errors of the
model in the order of the nodes. The paper prints no inertia and no friction of the ellipse.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from rolling_controller.laboratory.experiment_plan import experiment_plan
from rolling_dynamics.hybrid_contact.laboratory import Laboratory
from rolling_dynamics.scenario import load_scenario
from rolling_planner.laboratory.throw_catch import plan_throw_catch, ThrowCatchPlan
from rolling_planner.restricted_plan import restricted_plan
from rolling_robotics.reproduce.row import beside, Row, unprinted
from rolling_robotics.trials.judge import ANGLE
from rolling_robotics.trials.prepare import CRITERIA
from rolling_robotics.trials.run import run_many
from rolling_robotics.trials.trial import Record

SEEDS = range(1, 13)  # twelve trials, as in the paper
FEWER = SEEDS[:2]  # in a fast run
ONE = 1
LAST = 2.0  # s of a trial in which the rocking that is left is measured


@cache
def trial(name: str, law: str) -> Record:
    """Return one trial of an experiment to its end."""
    (found,) = run_many(name, [law], [ONE], to_the_end=True, workers=1)
    return found


@cache
def flip_ups(*, fast: bool = False) -> dict[str, tuple[Record, ...]]:
    """Return twelve flip-ups by law, which takes minutes; ``fast`` two."""
    laws = ('open_loop', 'closed_loop')
    trials = list(run_many('flip_up', laws, FEWER if fast else SEEDS, to_the_end=True))
    return {law: tuple(t for t in trials if t.law == law) for law in laws}


@cache
def throw() -> ThrowCatchPlan:
    """Return the planned throw and catch."""
    laboratory = Laboratory()
    plan = experiment_plan(load_scenario('laboratory_throw_catch'))
    return plan_throw_catch(laboratory, restricted_plan(plan, laboratory.model()[0]))


def rows(*, fast: bool) -> list[Row]:
    """Return the numbers of Section VIII; ``fast`` makes two flip-ups a law, not twelve."""
    return [*_damping(), *_flip_up(fast=fast), *_throw()]


def _damping() -> list[Row]:
    goal = CRITERIA['damping'].goal
    left = {}
    for law in ('closed_loop', 'open_loop'):
        found = trial('damping', law)
        late = found.times > found.times[-1] - LAST
        left[law] = float(np.abs(found[ANGLE][late] - goal).max())
    share = left['closed_loop'] / left['open_loop']
    name = 'VIII-C: rocking left after 5 s, controlled over alone (printed: below)'
    return [beside(name, 1.0, share, 0.0, relation='at most')]


def _flip_up(*, fast: bool) -> list[Row]:
    trials = flip_ups(fast=fast)
    printed = {'closed_loop': 1.0, 'open_loop': 0.0}  # of 12: 12 and 0
    rows = []
    for law, fraction in printed.items():
        name = f'VIII-D: fraction of {len(trials[law])} flip-ups that balance'
        balanced = float(np.mean([not t.ended for t in trials[law]]))
        rows.append(beside(f'{name}, {law.replace("_", " ")}', fraction, balanced, 0.0))
    return rows


def _throw() -> list[Row]:
    plan, thrown = throw(), trial('throw_catch', 'closed_loop')
    impact = plan.impact
    return [
        unprinted(
            'VIII-E: rate after the impact beyond that which just comes upright',
            impact.excess,
            0.0,
            1e-3,
            'rad/s',
        ),
        beside(
            'VIII-E: friction that impact and carry need, of the coefficient (printed: below)',
            1.0,
            max(impact.friction, plan.carry_friction) / Laboratory().mu,
            0.0,
            relation='at most',
        ),
        beside('VIII-E: a throw is caught and balanced', 1, not thrown.ended, 0),
    ]


def stated() -> list[str]:
    """Return the state before the impact, which the paper describes and does not print."""
    plan = throw()
    (x, z), (v_x, v_z) = plan.before.p - plan.hand, plan.before.v
    return [
        f'VIII-E: {plan.touch:.3f} s after the start, just before the impact, the centre is at',
        f'    ({x:.4f}, {z:.4f}) m from the middle of the plate at ({v_x:.3f}, {v_z:.3f}) m/s,',
        f'    turned by {plan.before.angle:.3f} rad at {plan.before.rate:.2f} rad/s; the impact',
        f'    leaves {plan.impact.rate:.3f} rad/s',
    ]
