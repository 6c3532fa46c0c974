"""The smallest coefficient of static friction with which a run does not slip, Eq. (1.3)."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation.trajectory import Trajectory

SAMPLES = 4000


@dataclass(frozen=True)
class RequiredFriction:
    """
    What a run asks of the contact.

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


def contact_forces(trajectory: Trajectory, times: Array) -> tuple[Array, Array, Array]:
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
    friction = np.hypot(F[:, 0], F[:, 1])
    with np.errstate(divide='ignore', invalid='ignore'):
        ratio = np.where(F[:, 2] > 0, friction / F[:, 2], math.inf)
    return F[:, 2], F[:, :2], ratio


def required_friction(trajectory: Trajectory, samples: int = SAMPLES) -> RequiredFriction:
    """
    Return the coefficient of static friction that a rolling run needs.

    Parameters
    ----------
    trajectory
        A run in the mode ``rolling``.
    samples
        Points at which the ratio is looked at before its maximum is refined.

    """
    start, end = trajectory.segments[0].start, trajectory.segments[-1].end
    times = np.linspace(start, end, samples)
    borders = np.asarray(getattr(trajectory.control, 'times', []), dtype=float)
    inner = borders[(borders > start) & (borders < end)]
    times = np.unique(np.concatenate([times, inner, np.nextafter(inner, -np.inf)]))
    N, _, ratio = contact_forces(trajectory, times)

    def refine(values: Array, sign: float, column: int) -> tuple[float, float]:
        k = int(np.argmax(sign * values))
        best = float(values[k]), float(times[k])
        if not math.isfinite(best[0]):
            return best
        low, high = times[max(k - 1, 0)], times[min(k + 1, times.size - 1)]
        from scipy.optimize import minimize_scalar  # noqa: PLC0415  (large)

        found = minimize_scalar(
            lambda t: -sign * float(contact_forces(trajectory, np.array([t]))[column][0]),
            bounds=(low, high),
            method='bounded',
            options={'xatol': 1e-9},
        )
        better = -sign * found.fun
        return (float(better), float(found.x)) if sign * better > sign * best[0] else best

    mu, time = refine(ratio, 1.0, 2)
    least, least_time = refine(N, -1.0, 0)
    return RequiredFriction(mu, time, least, least_time)
