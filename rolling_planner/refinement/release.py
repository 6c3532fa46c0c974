"""
Release into free flight: what happens when a plan ends with a vanishing contact force.

Woodruff & Lynch, Section VI: at the end f_z = 0, and then a_z,rel > a_z,roll: the surfaces
accelerate away from each other more than rolling would need. The hand is taken to go on with the
slope of its last controls.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract import RollingSystem, Separation
from rolling_planner.refinement.rollout import Rollout, Violation

FORCE_TOLERANCE = 2e-3  # of the contact force at the end, in weights


@dataclass(frozen=True)
class Release:
    """
    The end of a plan in free flight.

    Attributes
    ----------
    force
        Norm of the contact force at the end, in weights.
    force_rate
        Rate of the normal force at the end, in weights a second: negative where the bodies part.
    acceleration_excess
        a_z,rel - a_z,roll [m/s^2] 10 ms later.
    gap
        Distance of the bodies [m] then.

    """

    force: float
    force_rate: float
    acceleration_excess: float
    gap: float

    def to_dict(self) -> dict[str, float]:
        """Return the numbers by name."""
        return asdict(self)


def judge_release(
    system: RollingSystem, parting: Separation, p: Array, rollout: Rollout
) -> Release:
    """Return how a simulated plan releases the object."""
    params = system.parameters.unpack(p)
    weight = float(params['mass'][0] * np.linalg.norm(params['gravity_W']) or params['mass'][0])
    dt = float(rollout.times[-1] - rollout.times[-2])
    f_z = rollout.wrenches[:, 5] / weight
    slope = (rollout.controls[-1] - rollout.controls[-2]) / dt
    x, u = rollout.states[-1], rollout.controls[-1]
    return Release(
        force=float(np.linalg.norm(rollout.wrenches[-1, 3:])) / weight,
        force_rate=float((f_z[-1] - f_z[-2]) / dt),
        **parting.separation(p, x, u, slope),
    )


def release_violations(release: Release, end: float) -> list[Violation]:
    """Return what keeps a plan from ending in free flight."""
    found = []
    if not release.force <= FORCE_TOLERANCE:
        found.append(Violation('release (contact force at the end)', release.force, end))
    if not release.force_rate < 0:
        found.append(Violation('release (the hand does not part)', release.force_rate, end))
    return found
