"""
Montana's equations of a sphere on a plane.

The angular velocity w = (w_x, w_y, w_z) of the sphere is expressed in the frame S of the plane:
the vectors on the right of Tafrishi et al., Eqs. (10), (11) are those of the plane.
"""

from __future__ import annotations

import casadi as ca


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
