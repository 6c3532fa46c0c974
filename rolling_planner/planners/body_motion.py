"""The motion of bodies along a plan, from the poses and the equations of its system."""

from __future__ import annotations

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled
from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.per_system import once_per_system

Bodies = dict[str, dict[str, Array]]
MOST_POSES = 1000  # of a robot, for those who only look at it


def bodies_named(system: RollingSystem) -> tuple[str, ...]:
    """Return the names of the bodies whose motion is shown: hand and object, or object."""
    return ('object',) if offers(system, CarriedObject) is None else ('hand', 'object')


def body_motions(
    system: RollingSystem, p: Array, times: Array, states: Array, controls: Array
) -> Bodies:
    """
    Return poses and twists of the bodies along a motion.

    Parameters
    ----------
    system, p
        The system and its parameters. Of one that carries an object, ``pose`` names hand and
        object; of any other, the first body of ``pose`` is the object.
    times, states, controls
        Shapes (k,) [s], (k, n) and (k, m). Of a robot with more samples than 1000, evenly chosen
        ones are taken.

    Returns
    -------
    dict
        By name of the body: ``times`` (k,) [s], ``X`` (k, 4, 4) in the world, ``twist`` (k, 6): w
        [rad/s], v [m/s] of the body's origin, both expressed in the body. Of a hand, whose
        accelerations are the control, also ``acceleration`` (k, 6): alpha [rad/s^2], a [m/s^2].

    """
    bodies = bodies_named(system)
    most = len(times) if 'hand' in bodies else min(MOST_POSES, len(times))
    k = np.unique(np.linspace(0, len(times) - 1, most).astype(int))
    sample = compiled(_motion(system))[0].map(len(k))
    out = np.array(sample(states[k].T, controls[k].T, times[k][None], p)).T
    motions = {
        name: {
            'times': times[k],
            'X': one[:, :16].reshape(-1, 4, 4).transpose(0, 2, 1),
            'twist': one[:, 16:],
        }
        for name, one in zip(bodies, np.split(out, len(bodies), axis=1), strict=True)
    }
    if 'hand' in motions:
        motions['hand']['acceleration'] = controls[k]
    return motions


@once_per_system
def _motion(system: RollingSystem) -> ca.Function:
    """Return ``(x, u, t, p) -> X, w, v`` of each body; velocities are derivatives of poses."""
    mode = next(iter(system.modes.values()))
    x, u = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
    t, p = ca.SX.sym('t'), ca.SX.sym('p', system.parameters.size)
    rate, poses = mode.dynamics(x, u, t, p), system.pose.call([x, p])
    out = []
    for body in bodies_named(system):
        known = body in system.pose.name_out()
        X = ca.densify(poses[system.pose.index_out(body) if known else 0])
        turn = ca.reshape(ca.jtimes(ca.vec(X), x, rate), 4, 4)
        R = X[:3, :3]
        W = R.T @ turn[:3, :3]
        w = ca.vertcat(W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]) / 2
        out += [ca.vec(X), w, R.T @ turn[:3, 3]]
    return ca.Function('body_motion', [x, u, t, p], [ca.densify(ca.vertcat(*out))])
