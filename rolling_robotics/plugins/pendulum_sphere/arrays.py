"""Arrays of a sphere with a pendulum: loads of the contact and of the joint."""

from __future__ import annotations

from rolling_dynamics.pendulum_sphere.system import PendulumSphere
from rolling_dynamics.simulation import Trajectory
from rolling_robotics.arrays import layout_series, Series, vector


def pendulum_arrays(system: PendulumSphere, trajectory: Trajectory) -> dict[str, Series]:
    """
    Return arrays in addition to those of every system.

    Parameters
    ----------
    system
        A sphere with a pendulum.
    trajectory
        Its output times are the arrays' times.

    """
    arrays = layout_series(system.state, trajectory.states)
    joint = trajectory.evaluate(lambda s: s.joint_force)
    arrays['joint_force'] = vector(joint, 'N', 'W', 'force of the pendulum on the shell')
    return arrays
