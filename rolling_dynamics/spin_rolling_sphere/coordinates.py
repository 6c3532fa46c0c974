"""Contact coordinates of a spin-rolling sphere, and their kinematics."""

from __future__ import annotations

from collections.abc import Mapping
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry, number_entry, quaternion_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.rotations import rate_space, rotation_matrix

POLE = math.pi / 2  # |v_o| of the poles
TURN = 2 * math.pi


RADIUS = number_entry('radius', 'm', 'radius of the sphere', 'positive')


def check_radius(radius: object) -> None:
    """Raise ParameterError unless a radius [m] is a number, positive and finite."""
    if isinstance(radius, bool) or not isinstance(radius, (int, float, np.number)):
        raise ParameterError(f'radius must be a number [m], got {radius!r}')
    RADIUS.check(radius)


def attitude_expression(contact_o: ca.SX, psi: ca.SX) -> ca.SX:
    """Return R_SO of contact coordinates: R_psi with opposite normals after the Gauss frame."""
    u, v, c, s = contact_o[0], contact_o[1], ca.cos(psi), ca.sin(psi)
    gauss = ca.horzcat(  # columns e_u, e_v, outward normal, in O
        ca.vertcat(-ca.cos(u), 0, ca.sin(u)),
        ca.vertcat(ca.sin(u) * ca.sin(v), ca.cos(v), ca.cos(u) * ca.sin(v)),
        ca.vertcat(-ca.sin(u) * ca.cos(v), ca.sin(v), -ca.cos(u) * ca.cos(v)),
    )
    turn = ca.vertcat(ca.horzcat(-c, s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, -1))
    return turn @ gauss.T


def contact_normal(R_SO: ca.SX) -> ca.SX:
    """Return the outward normal of the sphere at the contact, in O: minus the plane's normal."""
    return -R_SO[2, :].T


def attitude_from_coordinates(contact_o: ArrayLike, psi: float) -> Array:
    """Return the rotation matrix R_SO, shape (3, 3), of (u_o, v_o) and psi [rad]."""
    contact_o = np.asarray(contact_o, dtype=float)
    R_SO = attitude_expression(ca.SX(ca.DM(contact_o)), ca.SX(float(psi)))
    return np.array(ca.evalf(R_SO))


def coordinates_from_attitude(R_SO: ArrayLike, near: ArrayLike | None = None) -> Array:
    """
    Return (u_o, v_o, psi) of an attitude.

    Parameters
    ----------
    R_SO
        Rotation matrix, shape (3, 3).
    near
        Coordinates (u_o, v_o, psi) whose turns of u_o and psi are taken.

    Returns
    -------
    NDArray
        Shape (3,) [rad].

    Raises
    ------
    ParameterError
        The contact lies on a pole of the chart, where u_o and psi are not defined.

    """
    R = np.asarray(R_SO, dtype=float)
    n = -R[2]
    if math.hypot(n[0], n[2]) < 1e-12:
        raise ParameterError(
            f'the contact lies on a pole of the chart, v_o = {math.copysign(POLE, n[1]):.6g}, '
            'where u_o and psi are not defined; use the attitude'
        )
    u, v = math.atan2(-n[0], -n[2]), math.atan2(n[1], math.hypot(n[0], n[2]))
    e_u = np.array([-math.cos(u), 0.0, math.sin(u)])
    x, y = R[0] @ e_u, R[1] @ e_u  # (-cos psi, sin psi)
    out = np.array([u, v, math.atan2(y, -x)])
    if near is not None:
        for k in (0, 2):
            out[k] += TURN * round((float(np.asarray(near)[k]) - out[k]) / TURN)
    return out


def contact_velocity(radius: ca.SX, w_SO_S: ca.SX) -> ca.SX:
    """Return (u_s, v_s)-dot [m/s] of the contact point on the plane, Eq. (13), rows 1 and 2."""
    return radius * ca.vertcat(w_SO_S[1], -w_SO_S[0])


def coordinate_rates(v_o: ca.SX, psi: ca.SX, w_SO_S: ca.SX) -> ca.SX:
    """
    Return (u_o, v_o, psi)-dot [rad/s].

    Parameters
    ----------
    v_o, psi
        Latitude of the contact on the sphere and angle of spin [rad].
    w_SO_S
        Angular velocity of the sphere in S [rad/s].

    Returns
    -------
    casadi.SX
        Tafrishi et al., Eq. (13), rows 3 to 5; singular at v_o = +-pi/2.

    """
    s, c, sec, tan = ca.sin(psi), ca.cos(psi), 1 / ca.cos(v_o), ca.tan(v_o)
    matrix = ca.vertcat(
        ca.horzcat(-s * sec, -c * sec, 0), ca.horzcat(-c, s, 0), ca.horzcat(-s * tan, -c * tan, -1)
    )
    return matrix @ w_SO_S


REPRESENTATIONS = {
    'attitude': (quaternion_entry('q_SO', 'attitude of the sphere'),),
    'coordinates': (
        Entry('contact_o', ('u_o', 'v_o'), 'rad', 'O', 'vector', 'contact on the sphere'),
        Entry('psi', ('psi',), 'rad', '', 'angle', 'angle of spin'),
    ),
}


def attitude(values: Mapping[str, ca.SX]) -> ca.SX:
    """Return R_SO (3, 3) of the entries of a state."""
    if 'q_SO' in values:
        return rotation_matrix(values['q_SO'])
    return attitude_expression(values['contact_o'], values['psi'])


def attitude_rates(values: Mapping[str, ca.SX], w_SO_S: ca.SX) -> ca.SX:
    """Return the rates of the entries of the attitude."""
    if 'q_SO' in values:
        return rate_space(values['q_SO'], w_SO_S)
    return coordinate_rates(values['contact_o'][1], values['psi'], w_SO_S)


def tan_v_o(values: Mapping[str, ca.SX]) -> ca.SX:
    """Return the tangent of the latitude of the contact on the sphere."""
    if 'q_SO' not in values:
        return ca.tan(values['contact_o'][1])
    n = contact_normal(attitude(values))
    return n[1] / ca.sqrt(n[0] ** 2 + n[2] ** 2)
