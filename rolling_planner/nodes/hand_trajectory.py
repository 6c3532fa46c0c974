"""From a sampled trajectory of the hand to its accelerations; no ROS."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

FINE = 10  # samples between two points where accelerations have to be found by a spline


def hand_controls(
    trajectory: Mapping[str, NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """
    Return the control that moves the hand along a trajectory.

    Parameters
    ----------
    trajectory
        ``times`` (k,), ``q_WH`` (k, 4) w x y z, ``p_WH`` (k, 3); where known ``w_WH_H``,
        ``v_WH_H``, ``alpha_WH_H`` and ``a_WH_H`` (k, 3) in the hand. Without accelerations a
        spline through the poses (cubic, C2) gives them.

    Returns
    -------
    times
        Shape (n,) [s].
    controls
        alpha_WH_H [rad/s^2], a_WH_H [m/s^2]; shape (n, 6), linear between the times.
    start
        Values of the entries of the hand at the start, by name.

    """
    times = np.asarray(trajectory['times'], dtype=float)
    start = {name: np.asarray(trajectory[name])[0] for name in ('q_WH', 'p_WH')}
    if 'alpha_WH_H' in trajectory and 'w_WH_H' in trajectory:
        start |= {name: np.asarray(trajectory[name])[0] for name in ('w_WH_H', 'v_WH_H')}
        controls = np.hstack([trajectory['alpha_WH_H'], trajectory['a_WH_H']])
        return times, controls, start
    q = np.asarray(trajectory['q_WH'])
    turn = RotationSpline(times, Rotation.from_quat(q[:, [1, 2, 3, 0]]))
    slide = CubicSpline(times, trajectory['p_WH'])
    count = FINE * (len(times) - 1) + 1
    fine = np.interp(np.linspace(0, len(times) - 1, count), np.arange(len(times)), times)
    R_HW = turn(fine).inv()
    start |= {'w_WH_H': turn(fine[0], 1), 'v_WH_H': R_HW[0].apply(slide(fine[0], 1))}
    # RotationSpline's rates are expressed in the turning body already
    return fine, np.hstack([turn(fine, 2), R_HW.apply(slide(fine, 2))]), start
