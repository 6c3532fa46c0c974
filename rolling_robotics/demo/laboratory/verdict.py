"""Whether a trial that was seen through ROS has succeeded, and if not, why."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np
from rolling_robotics.demo.laboratory.demos import LaboratoryDemo
from rolling_robotics.demo.laboratory.trial_record import TrialSeen
from rolling_robotics.trials.judge import Judge

SLACK = 0.05  # s by which the last sample may come before the end


def failure(demo: LaboratoryDemo, trial: TrialSeen) -> str:
    """Return what went wrong first; empty if nothing did."""
    if not trial.complete:
        return f'ended early: {trial.reason}'
    end = demo.lengths()[trial.law]
    judge = Judge(replace(demo, duration=end))
    events = [(t, 0, name, 0.0) for t, name in trial.happened()]
    angles = demo.angle(trial.attitudes).tolist() if len(trial.times) else []
    looks = [(t, 1, '', angle) for t, angle in zip(trial.times.tolist(), angles, strict=True)]
    for t, is_look, name, angle in sorted(events + looks):
        if is_look:
            judge.look(t, angle)
        else:
            judge.happened(t, name)
    judge.close()
    if not judge.failure and (not looks or looks[-1][0] < end - SLACK):
        return f'seen up to {looks[-1][0] if looks else 0.0:.3f} s only'
    return judge.failure


def end_error(demo: LaboratoryDemo, trial: TrialSeen) -> float:
    """Return the greatest distance from the goal in the end that is judged [rad]."""
    error = np.abs(demo.error(demo.angle(trial.attitudes)))
    late = trial.times > demo.lengths()[trial.law] - demo.last
    return float(error[late].max()) if late.any() else math.nan


def rest_time(demo: LaboratoryDemo, trial: TrialSeen) -> float:
    """Return when the angle has come to within the tolerance for good [s]; infinite if never."""
    return demo.rest_time(trial.times, demo.angle(trial.attitudes))
