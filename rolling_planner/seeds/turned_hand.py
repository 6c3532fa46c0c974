"""
A hand that turns with the contact, so that gravity holds the object on it.

A path over a rim or round a body leads to its underside while the hand rests. The active rotations
of the hand then turn the contact normal, one time after the other, as far upwards as they can.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.quaternions import rotation_vector
from rolling_planner.problem.goal import turned
from rolling_planner.seeds.kinematic_seed import KinematicSeed
from transforms3d.quaternions import qconjugate, qmult

STEPS = 10  # of Gauss and Newton at each time
CLOSE = 1e-6  # rad


def with_turning_hand(
    system: ContactSystem, p: Array, seed: KinematicSeed, active: Array
) -> KinematicSeed:
    """
    Return a seed whose hand keeps the object on top; the same seed where it stays there anyway.

    Parameters
    ----------
    system, p
        The contact system and its parameters.
    seed
        A rolling path; the hand rests in it.
    active
        Indices of the controls that may be used.

    """
    gravity, axes = system.gravity(p), np.array([k for k in range(3) if k in active], dtype=int)
    weight = float(np.linalg.norm(gravity))
    if not (weight > 0 and axes.size):
        return seed
    up, frame = -gravity / weight, system.contact_frame
    frames = np.array(frame.map(len(seed.times))(seed.states.T, p))
    if np.min(up @ frames[:3, 2 :: frame.size2_out(0)]) > 0:
        return seed
    normal, states, attitude = _normal(system), seed.states.copy(), system.state.slice('q_WH')
    for k, x in enumerate(states):
        x[attitude] = states[max(k - 1, 0), attitude]
        for _ in range(STEPS if k else 0):
            n, J = (np.array(v) for v in normal(x, p))
            turn = np.zeros(3)
            turn[axes] = np.linalg.lstsq(J[:, axes], up - n.ravel(), rcond=None)[0]
            x[attitude] = turned(x[attitude], turn)
            if np.linalg.norm(turn) < CLOSE:
                break
    steps = [
        rotation_vector(qmult(qconjugate(a), b))
        for a, b in zip(states[:-1, attitude], states[1:, attitude], strict=True)
    ]
    travelled = np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])
    states[:, system.state.slice('w_WH_H')] += np.gradient(travelled, seed.times, axis=0)
    return replace(seed, states=states)


@lru_cache(maxsize=16)
def _normal(system: ContactSystem) -> ca.Function:
    """Return ``(x, p) -> contact normal in W, its Jacobian`` in a turn of the hand about H."""
    x, p = ca.SX.sym('x', system.state.size), ca.SX.sym('p', system.parameters.size)
    d = ca.SX.sym('d', 3)
    turn = ca.SX.zeros(system.tangent.size)
    turn[0:3] = d
    n = system.contact_frame(system.retract(x, turn), p)[:3, 2]
    values = ca.substitute([n, ca.jacobian(n, d)], [d], [ca.SX.zeros(3)])
    return ca.Function('normal', [x, p], [ca.densify(v) for v in values])
