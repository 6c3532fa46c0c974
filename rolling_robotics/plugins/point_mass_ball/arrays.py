"""Arrays of a ball or a disk with internal masses: what the contact carries, and the path."""

from __future__ import annotations

from functools import partial

import casadi as ca
import numpy as np
from rolling_dynamics.internal_masses import PointMassBall, PointMassDisk
from rolling_dynamics.internal_masses.masses import FreeMass
from rolling_dynamics.simulation import Trajectory
from rolling_robotics.arrays import along, friction_ratio, layout_series, of_state, Series, vector


def mass_arrays(
    system: PointMassBall | PointMassDisk, trajectory: Trajectory
) -> dict[str, Series]:
    """
    Return arrays beside those that every system has.

    Parameters
    ----------
    system
        A ball or a disk.
    trajectory
        Its output times are those of the arrays.

    """
    arrays = layout_series(system.state, trajectory.states)
    force = along(trajectory, lambda s: s.mode.wrench)[:, 3:]
    ratio = friction_ratio(force[:, 2], np.hypot(force[:, 0], force[:, 1]))
    mean = along(trajectory, lambda s: s.centre_of_mass)
    size = mean.shape[1] // 2
    axes = 'xyz' if size == 3 else 'xz'
    arrays['normal_force'] = Series(force[:, 2], 'N', 'W', text='normal force')
    arrays['static_friction'] = vector(force[:, :2], 'N', 'W', 'static friction', 'xy')
    arrays['mu_needed'] = Series(ratio, '', text='static friction over normal force')
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
        place = along(trajectory, partial(_place, mass))
        arrays[f'mass_{k}_position'] = vector(place, 'm', 'W', f'origin of mass_{k}')
    return arrays


def _place(mass: FreeMass, system: PointMassBall | PointMassDisk) -> ca.Function:
    """Return ``(x, u, t, p) -> position`` of a free mass in W."""

    def place(x: ca.SX, t: ca.SX, p: ca.SX) -> ca.SX:
        shell = system.pose(x, p)[0]
        return shell[:3, 3] + shell[:3, :3] @ mass.position(t)

    return of_state(system, 'place', place)
