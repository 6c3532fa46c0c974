"""
Planner of a labyrinth for `rolling plan`: the law's commands along the fastest path.

Collocation uses a linear model, so its controls alone would lead the ball astray. The law follows
its path on a level board without measurement noise; the commands become the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
from rolling_controller.ball_balancer.labyrinth import LabyrinthLaw
from rolling_controller.ball_balancer.rig import run_rig
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.labyrinth_file import LabyrinthFile, WaySection
from rolling_dynamics.ball_balancer.rig_file import CameraSection
from rolling_dynamics.errors import CancelledError, ParameterError
from rolling_dynamics.extras import need
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation.sensing import SAME_TIME
from rolling_planner.ball_balancer.labyrinth import plan_labyrinth
from rolling_planner.plan import HOLD, Plan
from rolling_planner.planners.planner import Planned, Request, SystemPlanner
from rolling_planner.progress import Iteration, NotConvergedError, Report


class LabyrinthPlanner(SystemPlanner):
    """See :class:`SystemPlanner`; the goal is the end of the path."""

    section = WaySection
    methods = ('stations',)
    finds_duration = True
    has_own_goal = True
    lines: ClassVar[Mapping[str, tuple[str, str]]] = {
        'duration': ('duration [s]', '.4g'),
        'length': ('way of the ball [m]', '.4g'),
    }

    def problem(self, scenario: Scenario, request: Request | None = None) -> LabyrinthFile:
        """Return the labyrinth, level; raise ParameterError if a request has its own goal."""
        if request is not None and request.goal:
            names = ', '.join(request.goal)
            raise ParameterError(
                f'goal: a plan through a labyrinth leads to the end of its path; leave out {names}'
            )
        file = LabyrinthFile.of(scenario)
        _ = file.way
        return file.nominal()

    def plan(
        self, scenario: Scenario, on_iteration: Report, request: Request | None = None
    ) -> Planned:
        """Return the plan, with a control a frame."""
        need('plan', 'daqp')
        file = self.problem(scenario, request)
        if not on_iteration(Iteration(0, 0, 0.0, 0.0, 0.0)):
            raise CancelledError('planning was cancelled')
        law = LabyrinthLaw(file, plan_labyrinth(file))
        period, end = law.period, law.plan.end
        servo = file.servo.model_copy(update={'dead_time': period})  # to the next frame
        seen = CameraSection(rate=file.camera.rate, delay=0.0, noise=0.0)
        exact = file.model_copy(update={'camera': seen, 'servo': servo})
        count = int(np.ceil(law.plan.times[-1] / period))
        run = run_rig(exact, law, lambda _: end, (count + 0.5) * period, ball=exact.start())
        (system, p), times = exact.system_and_parameters(), run.stamps
        if run.ended is not None:
            text = f'the law loses the ball at {run.ended.time:.3f} s: {run.ended.name}'
            raise NotConvergedError(f'no plan through the labyrinth: {text}')
        states = run.states[np.searchsorted(run.times, times - SAME_TIME)]
        ball = states[:, :2]
        walls, holes = file.room(ball)
        report = {
            'length': float(np.hypot(*np.diff(ball, axis=0).T).sum()),
            'least_margins': {'room to walls': walls.min(), 'room to holes': holes.min()},
        }
        found = Plan.of(
            system,
            times=times,
            states=states,
            controls=[np.zeros(2), *run.outputs[:-1]],
            interpolation=HOLD,
            report=report,
        )

        def error(state: Array) -> float:
            return float(np.hypot(*(state[:2] - end)))

        return Planned(
            scenario=replace(scenario, p=p, x0=states[0]),
            plan=found,
            goal_error=error,
            tolerance=file.ball.radius,
        )


PLANNER = LabyrinthPlanner()
