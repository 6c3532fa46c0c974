"""
Hand motion that makes an object follow a rolling path, to first order.

The rolling acceleration is affine in gravity as seen from the hand and in the hand's acceleration.
At each time of a kinematic seed the active tilts and accelerations that give the wanted rolling
acceleration are found by least squares; the hand's velocities follow by differentiation.
"""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem
from rolling_planner.problem.goal import turned
from rolling_planner.seeds.kinematic_seed import KinematicSeed

LARGEST_TILT = 0.6  # rad
SOFT = 1e-4  # keeps the least squares regular where a tilt has no effect


def tilt_seed(
    system: ContactSystem, p: Array, seed: KinematicSeed, active_controls: Array
) -> tuple[Array, Array]:
    """
    Return whole states and controls at the times of the seed, shapes (k, n) and (k, m).

    Parameters
    ----------
    system, p
        The contact system and its parameters.
    seed
        A rolling path, and the hand along it.
    active_controls
        Indices of the controls that may be used.

    """
    push = _push(system, p, seed, active_controls)  # (k, 6): tilt and acceleration of the hand
    times, layout = seed.times, system.state
    tilt, accel = push[:, :3], push[:, 3:]
    rate = np.gradient(tilt, times, axis=0)
    states = seed.states.copy()
    attitude = layout.slice('q_WH')
    for k, turn in enumerate(tilt):
        states[k, attitude] = turned(states[k, attitude], turn)
    velocity = _integral(accel, times)
    states[:, layout.slice('w_WH_H')] += rate
    states[:, layout.slice('v_WH_H')] += velocity
    states[:, layout.slice('p_WH')] += _integral(velocity, times)
    controls = np.zeros((len(times), system.control.size))
    controls[:, 0:3] = np.gradient(states[:, layout.slice('w_WH_H')], times, axis=0)
    controls[:, 3:6] = accel
    controls[:, [k for k in range(system.control.size) if k not in active_controls]] = 0.0
    return states, controls


def _integral(values: Array, times: Array) -> Array:
    steps = (values[1:] + values[:-1]) / 2 * np.diff(times)[:, None]
    return np.vstack([np.zeros(values.shape[1]), np.cumsum(steps, axis=0)])


def _push(system: ContactSystem, p: Array, seed: KinematicSeed, active: Array) -> Array:
    found = _sensitivity(system).map(len(seed.times))(seed.states.T, p)
    values, jacobians = np.array(found[0]).T, np.array(found[1]).reshape(3, -1, 6)
    out = np.zeros((len(seed.times), 6))
    used = np.array([k for k in range(6) if k in active], dtype=int)
    if not used.size:
        return out
    for k in range(len(out)):
        J = jacobians[:, k][:, used]
        if not (np.all(np.isfinite(J)) and np.all(np.isfinite(values[k]))):
            continue
        wanted = seed.rolling_rate[k] - values[k]
        scale = max(np.abs(J).max(), 1e-12)
        out[k, used] = np.linalg.lstsq(
            np.vstack([J / scale, SOFT * np.eye(len(used))]),
            np.concatenate([wanted / scale, np.zeros(len(used))]),
            rcond=None,
        )[0]
    out[:, :3] = np.clip(out[:, :3], -LARGEST_TILT, LARGEST_TILT)
    return out


@lru_cache(maxsize=16)
def _sensitivity(system: ContactSystem) -> ca.Function:
    """Return ``(x, p) -> rolling rate, its Jacobian`` in tilt and acceleration of the hand."""
    x, u, prm, d = (
        ca.SX.sym('x', system.state.size),
        ca.SX.sym('u', system.control.size),
        ca.SX.sym('p', system.parameters.size),
        ca.SX.sym('d', 3),
    )
    turn = ca.SX.zeros(system.tangent.size)
    turn[0:3] = d
    rate = system.mode.dynamics(system.retract(x, turn), u, 0, prm)[system.state.slice('w_HO_H')]
    at_rest = ca.substitute(rate, u[0:3], ca.SX.zeros(3))
    sensitivity = ca.jacobian(at_rest, ca.vertcat(d, u[3:6]))
    zero = [d, u], [ca.SX.zeros(3), ca.SX.zeros(6)]
    outputs = ca.substitute([at_rest, sensitivity], *zero)
    return ca.Function('push', [x, prm], [ca.densify(o) for o in outputs])
