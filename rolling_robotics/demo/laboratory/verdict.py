"""Whether a trial that was seen through ROS can be judged and has succeeded; if not, why."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np
from rolling_robotics.demo.laboratory.demos import LaboratoryDemo
from rolling_robotics.demo.laboratory.trial_record import TrialSeen
from rolling_robotics.trials.judge import Judge

# Longest time without a sample [s]: to leave the tolerance of 0.05 rad and to be back, unseen, an
# object would have to turn at over 20 rad/s^2, which one that rocks or is balanced does not.
SLACK = 0.2


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
    return judge.failure


def unjudged(demo: LaboratoryDemo, trial: TrialSeen) -> str:
    """
    Return why a trial proves nothing, or the empty string.

    Samples of it are missing, or the machine did not keep the clock.
    """
    end = demo.lengths()[trial.law] if trial.complete else -math.inf
    times = np.array([0.0, *trial.times, max(end, *trial.times[-1:], 0.0)])
    gap = int(np.argmax(np.diff(times)))
    if times[gap + 1] - times[gap] > SLACK:
        return f'not seen from {times[gap]:.3f} to {times[gap + 1]:.3f} s'
    return trial.void


def end_error(demo: LaboratoryDemo, trial: TrialSeen) -> float:
    """Return the greatest distance from the goal in the end that is judged [rad]."""
    error = np.abs(demo.error(demo.angle(trial.attitudes)))
    late = trial.times > demo.lengths()[trial.law] - demo.last
    return float(error[late].max()) if late.any() else math.nan


def rest_time(demo: LaboratoryDemo, trial: TrialSeen) -> float:
    """Return when the angle has come to within the tolerance for good [s]; infinite if never."""
    return demo.rest_time(trial.times, demo.angle(trial.attitudes))
