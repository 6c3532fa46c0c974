"""The demonstration of a ball balancer: set points in turn, judged as the published rig is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rolling_controller.ball_balancer.protocol import judged_jump, Jump, LAST, targets, WITHIN
from rolling_dynamics.ball_balancer.rig_file import RigFile
from rolling_robotics.demo.demo import Demo
from rolling_robotics.plugins.ball_balancer.course import BALL, Course, Leg
from rolling_robotics.trials.trial import Criterion, Outcome, Record

JUMPS = 4
TAKEN = 0.1  # s more than a jump is judged for


def legs(_: RigFile) -> Sequence[Leg]:
    """Return the first set points of the published protocol."""
    return [Leg(place, LAST + TAKEN) for place in targets()[: JUMPS + 1]]


class EveryJump(Criterion):
    """Every jump of the set point ends within 5 mm of it."""

    def jumps(self, record: Record) -> list[Jump]:
        """Return the results of the jumps."""
        if not record.times.size:
            return []
        times, ball = record.times, record[BALL]
        goals = np.array([goal for _, goal in record.planned.values()]).T
        changed = np.flatnonzero(np.any(np.diff(goals, axis=0) != 0, axis=1)) + 1
        before, out = targets()[0], []
        for k in (0, *changed):
            inside = (times >= times[k]) & (times < times[k] + LAST)
            out.append(judged_jump(times[inside] - times[k], ball[inside], before, goals[k]))
            before = goals[k]
        return out

    def outcome(self, record: Record) -> Outcome:
        """Return the greatest end error of a jump; the text has rise and overshoot of each."""
        jumps = self.jumps(record)
        there = sum(j.end_error <= WITHIN for j in jumps)
        text = f'{there} of {JUMPS} jumps ended within {1e3 * WITHIN:g} mm'
        missed = record.ended or ('' if there == len(jumps) == JUMPS else text)
        rows = (
            f'{1e3 * j.length:.0f} mm: 90 % after {j.rise:.2f} s, overshoot '
            f'{1e3 * j.overshoot:.1f} mm, end error {1e3 * j.end_error:.1f} mm'
            for j in jumps
        )
        return Outcome(
            failure=missed,
            error=1e3 * max((j.end_error for j in jumps), default=np.nan),
            tolerance=1e3 * WITHIN,
            unit='mm',
            inconclusive=record.inconclusive or record.missing(),
            text='\n  '.join([text, *rows]),
        )


DEMO = Demo(
    task=Course(experiment='ball_balancer', legs=legs),
    criterion=EveryJump(),
    pace=2.0,
)
