"""
Equations of a convex body on or above a moving hand, in every state of the contact.

Rolling is that of a machine, whose joint the contact is; sliding and flight are Newton's and
Euler's equations with the contact force that Coulomb's law gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.contact.rolling_dynamics import ContactGeometry
from rolling_dynamics.hybrid_contact.foot import Foot
from rolling_dynamics.hybrid_contact.layouts import BodyVectors
from rolling_dynamics.mechanism.dynamics import Dynamics
from rolling_dynamics.mechanism.elimination import eliminate


@dataclass(frozen=True, eq=False, kw_only=True)
class HandMotion:
    """Motion of the hand in H: w_WH [rad/s], alpha_WH [rad/s^2], true a_WH [m/s^2]."""

    w: ca.SX
    alpha: ca.SX
    a: ca.SX


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """
    A body and a hand at a state, as expressions in H unless it is said otherwise.

    Attributes
    ----------
    body
        Placement and motion.
    contact
        Geometry of the contact, for the closest points of body and hand; its frame Ch has z along
        the normal out of the hand.
    hand
        Motion of the hand.
    rolling
        Equations of rolling, for the rates of w_HO_H.
    spin_rate
        Rate of w_HO_H along the normal that keeps the spin [rad/s^2].
    foot
        Where the closest point stands on the hand, and how it moves.
    gap
        Distance of the closest points [m], negative where the bodies overlap.
    v_contact
        Velocity of the body's closest point relative to the hand, in Ch [m/s]; the last component
        is the rate of the gap.
    bias
        Rate of v_contact [m/s^2] at zero rates of the velocities, in Ch.
    mass, inertia_O, gravity_H
        Of the body [kg], [kg m^2] in O, and gravity in H [m/s^2].
    resistance
        Torque of rolling resistance on the body over the normal force and -w_HO_H along the plate
        [m s/rad].

    """

    body: BodyVectors
    contact: ContactGeometry
    hand: HandMotion
    rolling: Dynamics
    spin_rate: ca.SX
    foot: Foot
    gap: ca.SX
    v_contact: ca.SX
    bias: ca.SX
    mass: ca.SX
    inertia_O: ca.SX
    gravity_H: ca.SX
    resistance: ca.SX

    @property
    def J(self) -> ca.SX:
        """Inertia about the centre of mass, in H [kg m^2]."""
        R = self.contact.R_HO
        return R @ self.inertia_O @ R.T

    @property
    def rolling_torque(self) -> ca.SX:
        """Torque of rolling resistance over the normal force, in H [m]."""
        w_Ch = self.contact.frame.T @ self.body.w_HO_H
        return -self.resistance * (self.contact.frame[:, 0:2] @ w_Ch[0:2])

    @property
    def spin(self) -> ca.SX:
        """Rate of turning about the normal, relative to the hand [rad/s]."""
        return ca.dot(self.contact.frame[:, 2], self.body.w_HO_H)


class Accelerations(NamedTuple):
    """Rates of the components of w_HO_H and v_HO_H [rad/s^2], [m/s^2]."""

    w: ca.SX
    v: ca.SX


class ContactMotion(NamedTuple):
    """
    Motion in one state of the contact.

    ``margin`` is positive where friction lets the equations determine the normal force.
    """

    accelerations: Accelerations
    force_H: ca.SX  # of the hand on the body [N]
    torque_H: ca.SX  # at the contact point [N m]
    margin: ca.SX


def flight(s: Scene) -> Accelerations:
    """Return the motion without contact."""
    R = s.contact.R_HO
    w_O = R.T @ (s.hand.w + s.body.w_HO_H)
    turn = -R @ eliminate(s.inertia_O, ca.cross(w_O, s.inertia_O @ w_O), symmetric=True)
    return Accelerations(turn - _carried_turn(s), s.gravity_H - _carried(s))


def answer(s: Scene, force_H: ca.SX, torque_H: ca.SX) -> Accelerations:
    """Return what a force [N] and a torque [N m] at the contact add; alike for impulses."""
    R = s.contact.R_HO
    moment = ca.cross(s.contact.r_OC, force_H) + torque_H
    turn = R @ eliminate(s.inertia_O, R.T @ moment, symmetric=True)
    return Accelerations(turn, force_H / s.mass)


def of_contact(s: Scene, a: Accelerations) -> ca.SX:
    """Return the part of the rate of v_contact that is linear in the accelerations, in Ch."""
    return s.contact.frame.T @ (a.v + ca.cross(a.w, s.contact.r_OC))


def rolling(s: Scene, mu_spin: ca.SX, spin_direction: ca.SX, *, pure: bool) -> ContactMotion:
    """
    Return the motion without slip.

    Parameters
    ----------
    s
        Body and plate.
    mu_spin
        Coefficient of spin friction [m].
    spin_direction
        Sign of the spin that friction opposes, 0 where there is no spin friction; of no meaning
        in pure rolling.
    pure
        Whether the contact holds the spin.

    """
    # both torques of friction grow with the normal force f_z, and turn the body about the contact
    r, n, torque = s.contact.r_OC, s.contact.frame[:, 2], s.rolling_torque
    if not pure:
        torque -= n * spin_direction * mu_spin
    matrix, right = s.rolling.equations
    solved = eliminate(matrix, ca.horzcat(right, torque, n), symmetric=True)
    w, turn, spin_torque = solved[:, 0], solved[:, 1], ca.SX(0)
    if pure:  # the spin stays held
        grip, held = ca.dot(n, solved[:, 2]), solved[:, 2]
        spin_torque = (s.spin_rate - ca.dot(n, w)) / grip
        along = -ca.dot(n, turn) / grip
        w, turn, torque = w + spin_torque * held, turn + along * held, torque + along * n
    push = s.mass * ca.cross(turn, r)
    margin = 1 + ca.dot(n, push)
    force = s.rolling.carried(1, w).force
    f_z = ca.dot(n, force) / margin
    force -= f_z * push
    a = Accelerations(w + f_z * turn, s.gravity_H + force / s.mass - _carried(s))
    return ContactMotion(a, force, f_z * torque + n * spin_torque, margin)


def sliding(
    s: Scene, mu: ca.SX, mu_spin: ca.SX, spin_direction: ca.SX, slip: ca.SX, *, held: bool
) -> ContactMotion:
    """
    Return the motion in which the body slides on the plate.

    Parameters
    ----------
    s
        Body and plate.
    mu, mu_spin
        Kinetic coefficient of friction, and that of spin friction [m].
    spin_direction
        See :func:`rolling`.
    slip
        Direction of slip along the hand, a unit vector of 3 entries in H.
    held
        Whether the contact holds the spin.

    Returns
    -------
    ContactMotion
        ``margin`` is what multiplies the normal force in the acceleration of the gap, times the
        mass; where it is not positive, the configuration is one of Painleve's.

    """
    n, none = s.contact.frame[:, 2], ca.SX.zeros(3)
    start, force, torque = flight(s), n - mu * slip, s.rolling_torque
    offset = ca.SX(0)
    if held:  # n . w_HO' = 0: tau = offset + slope N
        grip = ca.dot(n, answer(s, none, n).w)
        offset = -ca.dot(n, start.w) / grip
        torque -= n * ca.dot(n, answer(s, force, torque).w) / grip
    else:
        torque -= n * spin_direction * mu_spin
    constant, unit = answer(s, none, offset * n), answer(s, force, torque)
    start = Accelerations(start.w + constant.w, start.v + constant.v)
    lift = of_contact(s, start)[2] + s.bias[2]
    coefficient = of_contact(s, unit)[2]
    N = -lift / coefficient
    a = Accelerations(start.w + N * unit.w, start.v + N * unit.v)
    return ContactMotion(a, N * force, offset * n + N * torque, coefficient * s.mass)


def contact_mobility(s: Scene) -> ca.SX:
    """Return W, 3x3 [1/kg]: an impulse P in Ch at the contact changes v_contact by W P."""
    return ca.horzcat(
        *(of_contact(s, answer(s, e, ca.SX.zeros(3))) for e in ca.horzsplit(s.contact.frame))
    )


def sticking_impact(s: Scene) -> tuple[Accelerations, ca.SX]:
    """
    Return the velocities w_HO_H, v_HO_H after an impact that leaves no motion at the contact.

    Also its impulse in H [N s]. With r from the contact to the centre, J_c w+ = J w- + m r x v-,
    velocities relative to the hand.
    """
    r = -s.contact.r_OC
    momentum = s.J @ s.body.w_HO_H + s.mass * ca.cross(r, s.body.v_HO_H)
    w = eliminate(s.rolling.equations[0], momentum, symmetric=True)
    v = ca.cross(w, r)
    return Accelerations(w, v), s.mass * (v - s.body.v_HO_H)


def _carried_turn(s: Scene) -> ca.SX:
    """Return what a body that only follows the hand's turning would have in w_HO_H's rate."""
    return s.hand.alpha + ca.cross(s.hand.w, s.body.w_HO_H)


def _carried(s: Scene) -> ca.SX:
    """Return the acceleration of the centre of mass in W that is not the rate of v_HO_H, in H."""
    h, p, v = s.hand, s.body.p_HO_H, s.body.v_HO_H
    return h.a + ca.cross(h.alpha, p) + ca.cross(h.w, ca.cross(h.w, p) + 2 * v)
