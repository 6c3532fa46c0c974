"""Whether the contact wrench is the one that the motion of the bodies needs."""

from __future__ import annotations

import casadi as ca
import numpy as np
from rolling_dynamics.contract.capabilities import GivenFormulas, offers, RigidBodies
from rolling_dynamics.testing.checked_system import Failed, NotApplicable, Subject

TOLERANCE = 1e-8  # of the force, in weights


def newton_euler(s: Subject) -> None:
    """Check that contact, gravity and given forces make the rates of momentum of ``pose``."""
    wrench, moved = s.mode.wrench, offers(s.system, RigidBodies)
    if wrench is None:
        raise NotApplicable('a kinematic model has no wrench')
    if moved is None:
        raise NotApplicable('the system does not offer RigidBodies')
    bodies, g = moved.rigid_bodies(s.p), ca.DM(moved.gravity(s.p))
    x, u = ca.SX.sym('x', s.x.size), ca.SX.sym('u', s.u.size)
    xdot = s.mode.dynamics(x, u, 0, s.p)
    poses = s.system.pose(x, s.p)
    poses = poses if isinstance(poses, tuple) else (poses,)
    frame = moved.contact_frame(x, s.p)
    force, torque = ca.SX.zeros(3), ca.SX.zeros(3)
    for name, body in bodies.items():
        X = poses[s.system.pose.name_out().index(name)]
        R, origin = X[:3, :3], X[:3, 3]
        centre = origin + R @ ca.DM(body.centre)
        v = _rate(centre, x, xdot)
        spin = _rate(R, x, xdot) @ R.T
        w = (
            ca.vertcat(spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1])
            / 2
        )
        push = body.mass * (_rate(v, x, xdot) - g)
        force += push
        torque += _rate(R @ ca.DM(body.inertia) @ R.T @ w, x, xdot)
        torque += ca.cross(centre - frame[:3, 3], push)
    given, formulas = wrench(x, u, 0, s.p), offers(s.system, GivenFormulas)
    if formulas is not None:
        applied = formulas.applied_wrench
        if applied is None:
            raise NotApplicable('a body moves by formulas of time, which pose does not tell')
        given += applied(x, u, 0, s.p)
    here = frame[:3, :3]
    both = ca.Function(
        'both', [x, u], [ca.vertcat(torque, force), ca.vertcat(here @ given[:3], here @ given[3:])]
    )
    total = sum(b.mass for b in bodies.values())
    weight = total * max(float(np.linalg.norm(np.array(g))), 1.0)
    for x_now, u_now in s.samples:
        needed, found = (np.array(v).ravel() for v in both(x_now, u_now))
        size = max(weight, float(np.abs(needed).max()))
        off = np.abs(needed - found)
        if not off.max() <= TOLERANCE * size:
            k = int(np.argmax(off))
            what = 'torque' if k < 3 else 'force'
            raise Failed(
                f'{what} along {"xyz"[k % 3]} of W: the motion needs {needed[k]:.6g}, the wrench '
                f'gives {found[k]:.6g}'
            )


def _rate(value: ca.SX, x: ca.SX, xdot: ca.SX) -> ca.SX:
    """Return the rate of an expression along the motion, the control being held."""
    return ca.reshape(ca.jtimes(ca.vec(value), x, xdot), *value.shape)
