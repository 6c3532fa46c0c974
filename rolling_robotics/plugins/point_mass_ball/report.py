"""Arrays of a ball or a disk with internal masses, and the friction that its run needs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
import math
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.ball import PointMassBall, PointMassDisk
from rolling_dynamics.internal_masses.masses import (
    FreeMass,
    pairs_that_hold,
    SOURCE,
    STATIC_FRICTION,
)
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation import Trajectory
from rolling_robotics.arrays import friction_ratio, layout_series, of_state, Series, vector


def mass_arrays(
    system: PointMassBall | PointMassDisk, trajectory: Trajectory
) -> dict[str, Series]:
    """
    Return arrays in addition to those of every system.

    Parameters
    ----------
    system
        A ball or a disk.
    trajectory
        Its output times are the arrays' times.

    """
    arrays = layout_series(system.state, trajectory.states)
    force = trajectory.evaluate(lambda s: s.mode.wrench)[:, 3:]
    mean = trajectory.evaluate(lambda s: s.centre_of_mass)
    size = mean.shape[1] // 2
    axes = 'xyz' if size == 3 else 'xz'
    arrays['normal_force'] = Series(force[:, 2], 'N', 'W', text='normal force')
    arrays['static_friction'] = vector(force[:, :2], 'N', 'W', 'static friction', 'xy')
    arrays['centre_of_mass_W'] = vector(
        mean[:, :size], 'm', 'W', 'centre of mass of the whole', axes
    )
    arrays['centre_of_mass_B'] = vector(
        mean[:, size:], 'm', 'B', 'centre of mass of the whole over the geometric centre', axes
    )
    return arrays | _free_masses(system, trajectory)


def _free_masses(
    system: PointMassBall | PointMassDisk, trajectory: Trajectory
) -> dict[str, Series]:
    """Return where masses on trajectories of their own are, which the pose at t = 0 is not."""
    arrays = {}
    for k, mass in enumerate(system.masses, 1):
        if not isinstance(mass, FreeMass):
            continue
        place = trajectory.evaluate(partial(_place, mass))
        arrays[f'mass_{k}_position'] = vector(place, 'm', 'W', f'origin of mass_{k}')
    return arrays


def _place(mass: FreeMass, system: PointMassBall | PointMassDisk) -> ca.Function:
    """Return ``(x, u, t, p) -> position`` of a free mass in W."""

    def place(x: ca.SX, t: ca.SX, p: ca.SX) -> ca.SX:
        shell = system.pose(x, p)[0]
        return shell[:3, 3] + shell[:3, :3] @ mass.position(t)

    return of_state(system, 'place', place)


def entries(
    scenario: Scenario, trajectory: Trajectory, result: Mapping[str, Any]
) -> dict[str, Any]:
    """
    Return the entry ``required_friction`` of a result.

    Parameters
    ----------
    scenario, trajectory
        The scenario, and its simulation.
    result
        Its ``modes`` and ``arrays``.

    Returns
    -------
    dict
        ``mu``, the smallest coefficient of static friction that rolling needs, Eq. (1.3) of
        Putkaradze & Rogers (normal force), and its ``time`` [s]; ``least_normal_force`` [N] and
        ``least_time``; ``materials``, for each pair its coefficient and whether it holds;
        ``source`` of these. Infinite where the normal force is not positive, as long as friction
        is needed. With dense output of a run that only rolls, the extremes are those of the whole
        run; otherwise those at the output times during rolling.

    """
    if not trajectory.times.size:
        return {}
    if len(scenario.system.modes) == 1 and trajectory.is_dense:
        need = required_friction(trajectory)
    else:
        need = _while_rolling(result)
    holds = pairs_that_hold(need.mu)
    return {
        'required_friction': {
            **need._asdict(),
            'materials': [
                {'pair': list(pair), 'mu': value, 'holds': holds[pair]}
                for pair, value in STATIC_FRICTION.items()
            ],
            'source': SOURCE,
        }
    }


def _while_rolling(result: Mapping[str, Any]) -> RequiredFriction:
    """Return friction and its time, least normal force and its time, while the body rolls."""
    arrays = result['arrays']
    times = np.asarray(arrays['time']['values'])
    rolls = np.zeros(times.size, dtype=bool)
    for span in result['modes']:
        if span['mode'] == 'rolling':
            rolls |= (times >= span['start']) & (times <= span['end'])
    if not rolls.any():
        return RequiredFriction(0.0, math.nan, math.nan, math.nan)
    normal = np.asarray(arrays['normal_force']['values'])[rolls]
    friction = np.hypot(*np.asarray(arrays['static_friction']['values'])[rolls].T)
    ratio = friction_ratio(normal, friction, np.where(friction > 0, math.inf, 0.0))
    k, j = int(np.argmax(ratio)), int(np.argmin(normal))
    when = times[rolls]
    return RequiredFriction(*map(float, (ratio[k], when[k], normal[j], when[j])))


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


SAMPLES = 4000  # at which the ratio is computed before its maximum is refined


class RequiredFriction(NamedTuple):
    """
    Friction that a run requires of the contact.

    Attributes
    ----------
    mu
        max f / N; infinite where N does not stay positive.
    time
        When it is needed [s].
    least_normal_force, least_time
        Least N [N] and when.

    """

    mu: float
    time: float
    least_normal_force: float
    least_time: float


def forces_at(trajectory: Trajectory, times: Array) -> tuple[Array, Array, Array]:
    """Return N [N], static friction (k, 2) [N] and their ratio at times [s] of a rolling run."""
    function = trajectory.system.modes['rolling'].wrench
    if function is None:
        raise ParameterError(f'{trajectory.system.name}: a kinematic model has no contact force')
    wrench = FastFunction(function)
    states = trajectory.state_at(times)
    F = np.array(
        [
            wrench(x, trajectory.control(t, x), t, trajectory.parameters)[3:]
            for t, x in zip(times, states, strict=True)
        ]
    )
    return F[:, 2], F[:, :2], friction_ratio(F[:, 2], np.hypot(F[:, 0], F[:, 1]), math.inf)


def required_friction(trajectory: Trajectory) -> RequiredFriction:
    """Return the coefficient of static friction that a run in the mode ``rolling`` needs."""
    start, end = trajectory.segments[0].start, trajectory.segments[-1].end
    times = np.linspace(start, end, SAMPLES)
    borders = np.asarray(getattr(trajectory.control, 'times', []), dtype=float)
    inner = borders[(borders > start) & (borders < end)]
    times = np.unique(np.concatenate([times, inner, np.nextafter(inner, -np.inf)]))
    N, _, ratio = forces_at(trajectory, times)

    def refine(values: Array, sign: float, column: int) -> tuple[float, float]:
        k = int(np.argmax(sign * values))
        best = float(values[k]), float(times[k])
        if not math.isfinite(best[0]):
            return best
        low, high = times[max(k - 1, 0)], times[min(k + 1, times.size - 1)]
        from scipy.optimize import minimize_scalar  # noqa: PLC0415  (large)

        found = minimize_scalar(
            lambda t: -sign * float(forces_at(trajectory, np.array([t]))[column][0]),
            bounds=(low, high),
            method='bounded',
            options={'xatol': 1e-9},
        )
        better = -sign * found.fun
        return (float(better), float(found.x)) if sign * better > sign * best[0] else best

    mu, time = refine(ratio, 1.0, 2)
    least, least_time = refine(N, -1.0, 0)
    return RequiredFriction(mu, time, least, least_time)
