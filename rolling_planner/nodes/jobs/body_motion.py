"""The motion of a rolling body along a plan, from the pose and the equations of its system."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_planner.plan import Plan

Array = NDArray[np.float64]
MOST_POSES = 1000  # of a plan, for those who only look at it


def body_motion(
    system: RollingSystem, p: Array, plan: Plan, body: str, most: int = MOST_POSES
) -> dict[str, Array]:
    """
    Return poses and twists of a body along a plan.

    Parameters
    ----------
    system, p
        The system of the plan and its parameters.
    plan
        The plan.
    body
        Name of an output of the system's ``pose``.
    most
        Greatest number of poses; of a plan with more nodes, evenly chosen ones are taken.

    Returns
    -------
    dict
        ``times`` (k,) [s], ``X`` (k, 4, 4) in the world, ``twist`` (k, 6): w [rad/s], v [m/s] of
        the body's origin, both expressed in the body.

    """
    k = np.unique(np.linspace(0, len(plan.times) - 1, min(most, len(plan.times))).astype(int))
    sample = _motion(system, body).map(len(k))
    out = np.array(sample(plan.states[k].T, plan.controls[k].T, plan.times[k][None], p)).T
    return {
        'times': plan.times[k],
        'X': out[:, :16].reshape(-1, 4, 4).transpose(0, 2, 1),
        'twist': out[:, 16:],
    }


def _motion(system: RollingSystem, body: str) -> ca.Function:
    """Return ``(x, u, t, p) -> X, w, v``; the velocity is the derivative of the pose."""
    mode = next(iter(system.modes.values()))
    x, u = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
    t, p = ca.SX.sym('t'), ca.SX.sym('p', system.parameters.size)
    X = ca.densify(system.pose(x, p)[system.pose.index_out(body)])
    rate = ca.reshape(ca.jtimes(ca.vec(X), x, mode.dynamics(x, u, t, p)), 4, 4)
    R = X[:3, :3]
    W = R.T @ rate[:3, :3]
    w = ca.vertcat(W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]) / 2
    out = ca.vertcat(ca.vec(X), w, R.T @ rate[:3, 3])
    return ca.Function('body_motion', [x, u, t, p], [ca.densify(out)])
