"""Plans of the ball and the disk with masses inside, from rest to rest by collocation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from rolling_planner.nodes.jobs.body_motion import body_motion
from rolling_planner.nodes.jobs.collocation import CollocationPlanner
from rolling_planner.nodes.jobs.system_planner import (
    Bodies,
    PlanningModel,
    Report,
    ROBOT_STATE,
)
from rolling_planner.plan import Plan
from rolling_planner.refinement.rollout import RolloutSimulator

STEPS = 4  # of the simulation, between two samples


class MassDrivenPlanner(CollocationPlanner):
    """See :class:`SystemPlanner`."""

    state_stream = ROBOT_STATE
    bodies_named = ('object',)

    def plan(self, model: PlanningModel, job: Mapping[str, Any], report: Report) -> Plan:
        """Return the plan of a job, its states as simulated at the samples."""
        return sampled(model, super().plan(model, job, report), job['options']['sample_rate'])

    def bodies(self, model: PlanningModel, plan: Plan) -> Bodies:
        """Return the motion of the shell."""
        return {'object': body_motion(model.system, model.params, plan, 'shell')}


def sampled(model: PlanningModel, plan: Plan, rate: float) -> Plan:
    """
    Return a plan with more samples; its controls go as before.

    Parameters
    ----------
    model
        System and parameters.
    plan
        Controls linear between its times.
    rate
        Samples a second at least [Hz].

    """
    parts = [
        np.linspace(a, b, max(1, int(np.ceil((b - a) * rate))) + 1)[:-1]
        for a, b in zip(plan.times[:-1], plan.times[1:], strict=True)
    ]
    times = np.append(np.concatenate(parts), plan.times[-1])
    controls = plan.controls_at(times)
    found = RolloutSimulator(model.system, STEPS).run(
        model.params, plan.states[0], times, controls
    )
    return replace(
        plan,
        times=times,
        states=found.states[::STEPS],
        controls=controls,
        contact_wrenches=found.wrenches[::STEPS],
    )


PLANNER = MassDrivenPlanner()
