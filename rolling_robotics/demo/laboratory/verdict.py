"""Whether a trial has succeeded, and if not, why."""

from __future__ import annotations

import math

import numpy as np
from rolling_robotics.demo.laboratory.demos import LaboratoryDemo
from rolling_robotics.demo.laboratory.seen import TrialSeen

SLACK = 0.05  # s by which the last sample may come before the end


def failure(demo: LaboratoryDemo, trial: TrialSeen) -> str:
    """Return what went wrong first; empty if nothing did."""
    if not trial.complete:
        return f'ended early: {trial.reason}'
    happened = trial.happened()
    flights = [t for t, name in happened if name == 'lift_off']
    if len(flights) > demo.flights:
        return f'contact lost at {flights[demo.flights]:.3f} s'
    if len(flights) < demo.flights:
        return f'{len(flights)} flights, {demo.flights} are wanted'
    slips = [t for t, name in happened if name == 'slip']
    if slips and not demo.may_slip:
        return f'friction cone left at {slips[0]:.3f} s'
    return _off_goal(demo, trial)


def _off_goal(demo: LaboratoryDemo, trial: TrialSeen) -> str:
    end = demo.lengths()[trial.law]
    if not len(trial.times) or trial.times[-1] < end - SLACK:
        last = trial.times[-1] if len(trial.times) else 0.0
        return f'seen up to {last:.3f} s only'
    error = demo.error(demo.angle(trial.attitudes))
    late = (trial.times > end - demo.last) & (np.abs(error) > demo.tolerance)
    if not late.any():
        return ''
    k = int(np.argmax(late))
    return f'{error[k]:+.3f} rad off the goal at {trial.times[k]:.3f} s'


def end_error(demo: LaboratoryDemo, trial: TrialSeen) -> float:
    """Return the greatest distance from the goal in the end that is judged [rad]."""
    error = np.abs(demo.error(demo.angle(trial.attitudes)))
    late = trial.times > demo.lengths()[trial.law] - demo.last
    return float(error[late].max()) if late.any() else math.nan


def rest_time(demo: LaboratoryDemo, trial: TrialSeen) -> float:
    """Return when the angle has come to within the tolerance for good [s]; infinite if never."""
    away = np.flatnonzero(np.abs(demo.error(demo.angle(trial.attitudes))) > demo.tolerance)
    if not away.size:
        return 0.0
    after = int(away[-1]) + 1
    return float(trial.times[after]) if after < len(trial.times) else math.inf
