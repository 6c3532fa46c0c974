"""Arrays of a sphere with a pendulum: what the contact and the joint carry."""

from __future__ import annotations

import numpy as np
from rolling_dynamics.pendulum_sphere import PendulumSphere
from rolling_dynamics.simulation import Trajectory
from rolling_robotics.arrays import along, friction_ratio, layout_series, Series, vector


def pendulum_arrays(system: PendulumSphere, trajectory: Trajectory) -> dict[str, Series]:
    """
    Return arrays beside those that every system has.

    Parameters
    ----------
    system
        A sphere with a pendulum.
    trajectory
        Its output times are the arrays' times.

    """
    arrays = layout_series(system.state, trajectory.states)
    force = along(trajectory, lambda s: s.mode.wrench)[:, 3:]
    ratio = friction_ratio(force[:, 2], np.hypot(force[:, 0], force[:, 1]))
    arrays['mu_needed'] = Series(ratio, '', text='static friction over normal force')
    joint = along(trajectory, lambda s: s.joint_force)
    arrays['joint_force'] = vector(joint, 'N', 'W', 'force of the pendulum on the shell')
    return arrays
