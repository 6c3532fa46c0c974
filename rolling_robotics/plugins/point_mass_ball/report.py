"""What a run of a ball or a disk asks of its contact, and which materials would hold."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

import numpy as np
from rolling_dynamics.internal_masses.masses import pairs_that_hold, SOURCE, STATIC_FRICTION
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation import Trajectory
from rolling_robotics.arrays import friction_ratio
from rolling_robotics.plugins.point_mass_ball.required_friction import required_friction


def entries(
    scenario: Scenario, trajectory: Trajectory, result: Mapping[str, Any]
) -> dict[str, Any]:
    """
    Return the entry ``required_friction`` of a result.

    Parameters
    ----------
    scenario, trajectory
        What was run, and what came out.
    result
        Its ``modes`` and ``arrays``.

    Returns
    -------
    dict
        ``mu``, the smallest coefficient of static friction that rolling needs, Eq. (1.3) of
        Putkaradze & Rogers (normal force), and its ``time`` [s]; ``least_normal_force`` [N] and
        ``least_time``; ``materials``, for each pair its coefficient and whether it holds;
        ``source`` of these. Infinite where the normal force is not positive, as long as friction
        is needed. Of a run with dense output that does nothing but roll, the extremes are those
        of the whole run; of any other, those at the output times in which it rolls.

    """
    if not trajectory.times.size:
        return {}
    if len(scenario.system.modes) == 1 and trajectory.is_dense:
        whole = required_friction(trajectory)
        mu, time = whole.mu, whole.time
        least, least_time = whole.least_normal_force, whole.least_time
    else:
        mu, time, least, least_time = _while_rolling(result)
    holds = pairs_that_hold(mu)
    return {
        'required_friction': {
            'mu': mu,
            'time': time,
            'least_normal_force': least,
            'least_time': least_time,
            'materials': [
                {'pair': list(pair), 'mu': value, 'holds': holds[pair]}
                for pair, value in STATIC_FRICTION.items()
            ],
            'source': SOURCE,
        }
    }


def _while_rolling(result: Mapping[str, Any]) -> tuple[float, float, float, float]:
    """Return friction and its time, least normal force and its time, while the body rolls."""
    arrays = result['arrays']
    times = np.asarray(arrays['time']['values'])
    rolls = np.zeros(times.size, dtype=bool)
    for span in result['modes']:
        if span['mode'] == 'rolling':
            rolls |= (times >= span['start']) & (times <= span['end'])
    if not rolls.any():
        return 0.0, math.nan, math.nan, math.nan
    normal = np.asarray(arrays['normal_force']['values'])[rolls]
    friction = np.hypot(*np.asarray(arrays['static_friction']['values'])[rolls].T)
    ratio = friction_ratio(normal, friction, np.where(friction > 0, math.inf, 0.0))
    k, j = int(np.argmax(ratio)), int(np.argmin(normal))
    when = times[rolls]
    return float(ratio[k]), float(when[k]), float(normal[j]), float(when[j])


def lines(result: Mapping[str, Any]) -> list[str]:
    """Return lines for people; none where a result has no such entry."""
    need = result.get('required_friction')
    if not need:
        return []
    names = [' on '.join(m['pair']) for m in need['materials'] if m['holds']]
    of = f'{len(names)} of {len(need["materials"])} pairs'
    return [
        f'  static friction     {need["mu"]:.6g} needed at t = {need["time"]:.6g} s',
        f'  materials that hold {of}' + (f': {", ".join(names)}' if names else ''),
    ]
