"""Equations of an object that rolls, slides and flies over a moving hand, by Newton and Euler."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.contact.representation import (
    AttitudeRepresentation,
    ContactGeometry,
    support_point,
)
from rolling_dynamics.friction import against_patch
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from rolling_dynamics.inertia import inertia_matrix
from rolling_dynamics.mechanism.elimination import eliminate
from rolling_dynamics.rotations import inverse_2x2, rotation_matrix


@dataclass(frozen=True, eq=False, kw_only=True)
class HandMotion:
    """Motion of the hand in H: w_WH [rad/s], alpha_WH [rad/s^2], true a_WH [m/s^2]."""

    w: ca.SX
    alpha: ca.SX
    a: ca.SX


class Scene:
    """What the equations depend on, in the symbols of a system; in H unless said otherwise."""

    def __init__(self, system: HybridContactSystem) -> None:
        """Take the placement and the geometry of the contact from a system."""
        s, q = system.symbols, system.symbols.params
        self.body = SimpleNamespace(**s.values)
        values = {'contact_h': ca.SX.zeros(2), **s.values}
        surfaces = system.object_surface, system.hand_surface
        dimensions = q['object_surface'], q.get('hand_surface', ca.SX(0, 1))
        rolling = AttitudeRepresentation().evaluate(values, *surfaces, *dimensions)
        self.contact = replace(rolling.geometry, p_HC=system.at.p_HC)
        self.mass, self.resistance = q['mass'], q['rolling_resistance']
        self.inertia_O = inertia_matrix(q['inertia'])
        self.gravity_H = rotation_matrix(self.body.q_WH).T @ q['gravity_W']
        u = system.symbols.u
        self.hand = HandMotion(w=self.body.w_WH_H, alpha=u[0:3], a=u[3:6])
        w, frame = self.body.w_HO_H, system.at.frame
        V = self.body.v_HO_H + ca.cross(w, system.at.r_OC)
        # rate of the contact's velocity in Ch at zero rates of the velocities
        r_rate, w_frame = contact_rates(system, self.body)
        self.bias = frame.T @ ca.cross(w, r_rate) + (frame @ ca.skew(w_frame)).T @ V
        self.R_HO = R = rotation_matrix(self.body.q_HO)
        self.J = R @ self.inertia_O @ R.T
        self.rolling_torque = -self.resistance * (frame[:, 0:2] @ (frame.T @ w)[0:2])
        h, p, v = self.hand, self.body.p_HO_H, self.body.v_HO_H
        self.carried = h.a + ca.cross(h.alpha, p) + ca.cross(h.w, ca.cross(h.w, p) + 2 * v)
        self.carried_turn = h.alpha + ca.cross(h.w, w)


def contact_rates(system: HybridContactSystem, x: SimpleNamespace) -> tuple[ca.SX, ca.SX]:
    """
    Return the rate of the body's closest point in H, and the turn of Ch in Ch.

    The point of the hand moves along its tangents by s, the normal by -H s, the point of the body
    by its turn and by the turn of the normal in it; that their distance stays along the normal
    gives s.
    """
    R, w, p = rotation_matrix(x.q_HO), x.w_HO_H, system.symbols.params
    if not system.curved:
        n = ca.SX(ca.DM([0, 0, 1]))
        point, radii = support_point(system.object_surface, -R[2, :].T, p['object_surface'])
        r_rate = ca.cross(w, R @ point) + R @ (radii @ (R.T @ ca.cross(w, n)))
        return r_rate, ca.SX(3, 1)
    hand = system.hand_surface.geometry(x.contact_h, p['hand_surface'])
    tangent, n = hand.frame[:, :2], hand.frame[:, 2]
    point, radii = support_point(system.object_surface, -(R.T @ n), p['object_surface'])
    r, T = R @ point, R.T @ tangent
    gap, K, turning = (
        ca.dot(n, x.p_HO_H + r - hand.position),
        T.T @ radii @ T,
        tangent.T @ ca.cross(w, n),
    )
    s = inverse_2x2(ca.SX.eye(2) - (K + gap * ca.SX.eye(2)) @ hand.curvature) @ (
        tangent.T @ (x.v_HO_H + ca.cross(w, r)) + K @ turning
    )
    bend = hand.curvature @ s
    r_rate = ca.cross(w, r) + R @ (radii @ (T @ (bend + turning)))
    about = hand.connection @ (inverse_2x2(hand.scale) @ s)
    return r_rate, ca.vertcat(bend[1], -bend[0], about)


class Accelerations(NamedTuple):
    """Rates of the components of w_HO_H and v_HO_H [rad/s^2], [m/s^2]."""

    w: ca.SX
    v: ca.SX


class ContactMotion(NamedTuple):
    """Motion in one state of the contact; force and torque at the contact on the object."""

    accelerations: Accelerations
    force_H: ca.SX
    torque_H: ca.SX
    margin: ca.SX

    def wrench(self, frame: ca.SX) -> ca.SX:
        """Return torque and force in Ch."""
        return ca.vertcat(frame.T @ self.torque_H, frame.T @ self.force_H)


def flight(s: Scene) -> Accelerations:
    """Return the motion without contact."""
    R = s.R_HO
    w_O = R.T @ (s.hand.w + s.body.w_HO_H)
    turn = -R @ eliminate(s.inertia_O, ca.cross(w_O, s.inertia_O @ w_O), symmetric=True)
    return Accelerations(turn - s.carried_turn, s.gravity_H - s.carried)


def answer(s: Scene, force_H: ca.SX, torque_H: ca.SX) -> Accelerations:
    """Return what a force [N] and a torque [N m] at the contact add."""
    R = s.R_HO
    moment = ca.cross(s.contact.r_OC, force_H) + torque_H
    turn = R @ eliminate(s.inertia_O, R.T @ moment, symmetric=True)
    return Accelerations(turn, force_H / s.mass)


def of_contact(s: Scene, a: Accelerations) -> ca.SX:
    """Return the part of the rate of v_contact that is linear in the accelerations, in Ch."""
    return s.contact.frame.T @ (a.v + ca.cross(a.w, s.contact.r_OC))


def sliding(s: Scene, mu: ca.SX, patch: ca.SX) -> ContactMotion:
    """Return slip, with spin that a patch of a radius [m] resists."""
    C, w = s.contact.frame, s.body.w_HO_H
    v = (C.T @ (s.body.v_HO_H + ca.cross(w, s.contact.r_OC)))[:2]
    force, rim = against_patch(v, patch * ca.dot(C[:, 2], w))
    force = C[:, 2] + mu * (C[:, :2] @ force)
    torque = s.rolling_torque + C[:, 2] * (mu * patch * rim)
    start, unit = flight(s), answer(s, force, torque)
    lift = of_contact(s, start)[2] + s.bias[2]
    coefficient = of_contact(s, unit)[2]
    N = -lift / coefficient
    a = Accelerations(start.w + N * unit.w, start.v + N * unit.v)
    return ContactMotion(a, N * force, N * torque, coefficient * s.mass)


def sticking_impulse(s: Scene) -> ca.SX:
    """
    Return the impulse in Ch that leaves no motion at the contact [N s].

    With r from the contact to the centre, J_c w+ = J w- + m r x v-, velocities over the hand.
    """
    r = -s.contact.r_OC
    about_contact = s.J + s.mass * (ca.sumsqr(r) * ca.SX.eye(3) - r @ r.T)
    momentum = s.J @ s.body.w_HO_H + s.mass * ca.cross(r, s.body.v_HO_H)
    w = eliminate(about_contact, momentum, symmetric=True)
    return s.contact.frame.T @ (s.mass * (ca.cross(w, r) - s.body.v_HO_H))


class RollingMotion(NamedTuple):
    """What the rolling dynamics determine."""

    w_HO_rate: ca.SX  # rate of the components of w_HO_H [rad/s^2]
    force_H: ca.SX  # contact force on the object, in H [N]
    spin_torque: ca.SX  # contact torque on the object about the normal [N m]


def rolling_motion(
    contact: ContactGeometry,
    hand: HandMotion,
    w_HO_H: ca.SX,
    *,
    mass: ca.SX,
    inertia_O: ca.SX,
    gravity_H: ca.SX,
    friction: str,
) -> RollingMotion:
    """
    Return relative angular acceleration and contact wrench.

    Parameters
    ----------
    contact
        Geometry of the contact.
    hand
        Motion of the hand.
    w_HO_H
        Relative angular velocity of the object, in H [rad/s].
    mass
        Mass of the object [kg].
    inertia_O
        Its inertia matrix about the centre of mass, in O [kg m^2].
    gravity_H
        Gravity, in H [m/s^2].
    friction
        ``rolling`` (no torque through the contact) or ``pure_rolling`` (no spin about the normal).

    Returns
    -------
    RollingMotion
        Woodruff & Lynch, Eqs. (9)-(12).

    """
    R, r, p, n = contact.R_HO, contact.r_OC, contact.p_HC, contact.frame[:, 2]
    w_o = hand.w + w_HO_H
    # The material points at the contact move alike: differentiating
    #   v_o + w_o x r = v_h + w_h x p   gives   a_o = b - alpha_o x r   with
    b = (
        hand.a
        + ca.cross(hand.alpha, p)
        + ca.cross(hand.w, ca.cross(hand.w, p))
        - ca.cross(w_o, ca.cross(w_o, r))
        - ca.cross(w_HO_H, contact.v_C)  # Eq. (4)
    )
    # Euler about the centre of mass with f = m (a_o - g), in O where the inertia is constant
    r_O, w_O = R.T @ r, R.T @ w_o
    # about the contact J = S - m r r'. Its inverse, Sherman & Morrison, with r'(r x c) = 0 and
    # S - inertia = m r^2 used: nothing cancels where the inertia is far below m r^2
    lever, gyration = ca.cross(r_O, R.T @ (b - gravity_H)), ca.cross(w_O, inertia_O @ w_O)
    square = ca.sumsqr(r_O)
    inverse = inverse_symmetric(inertia_O + mass * square * ca.SX.eye(3))
    along = inverse @ r_O
    least = ca.dot(along, inertia_O @ r_O)
    turned = inverse @ (mass * lever - gyration) - mass * along * (
        ca.dot(along, inertia_O @ lever + square * gyration) / least
    )
    carried = hand.alpha + ca.cross(hand.w, w_HO_H)
    if friction == 'rolling':
        spin_torque = ca.SX(0)
        alpha_o = R @ turned
    else:  # Eq. (5): the rate of w_HO . n vanishes
        n_O = R.T @ n
        wanted = ca.dot(n, carried) - ca.dot(w_HO_H, contact.n_rate)
        column = inverse @ n_O + along * (mass * square * ca.dot(along, n_O) / least)
        spin_torque = (wanted - ca.dot(n_O, turned)) / ca.dot(n_O, column)
        alpha_o = R @ (turned + column * spin_torque)
    force = mass * (b - ca.cross(alpha_o, r) - gravity_H)
    return RollingMotion(alpha_o - carried, force, spin_torque)


def inverse_symmetric(m: ca.SX) -> ca.SX:
    """Return the inverse of a symmetric 3x3 matrix in closed form."""
    a, b, c = m[:, 0], m[:, 1], m[:, 2]
    bc, ca_, ab = ca.cross(b, c), ca.cross(c, a), ca.cross(a, b)
    return ca.horzcat(bc, ca_, ab).T / ca.dot(a, bc)


def with_friction(s: Scene, *, pure: bool) -> ContactMotion:
    """
    Return the motion without slip, under friction that grows with the normal force.

    Parameters
    ----------
    s
        Body and hand.
    pure
        Whether the contact holds the spin.

    """
    friction = 'pure_rolling' if pure else 'rolling'
    free = rolling_motion(
        s.contact,
        s.hand,
        s.body.w_HO_H,
        mass=s.mass,
        inertia_O=s.inertia_O,
        gravity_H=s.gravity_H,
        friction=friction,
    )
    # a torque at the contact turns the body about it and changes the force by -m alpha x r;
    # both torques of friction grow with the normal force f_z
    r, n = s.contact.r_OC, s.contact.frame[:, 2]
    inertia = s.J + s.mass * (ca.sumsqr(r) * ca.SX.eye(3) - r @ r.T)
    compliance = inverse_symmetric(inertia)
    unit = s.rolling_torque
    if pure:  # the spin stays held
        unit -= n * ca.dot(n, compliance @ unit) / ca.dot(n, compliance @ n)
    turn = compliance @ unit
    margin = 1 + s.mass * ca.dot(n, ca.cross(turn, r))
    f_z = ca.dot(n, free.force_H) / margin
    force = free.force_H - f_z * s.mass * ca.cross(turn, r)
    a = Accelerations(free.w_HO_rate + f_z * turn, s.gravity_H + force / s.mass - s.carried)
    return ContactMotion(a, force, f_z * unit + n * free.spin_torque, margin)
