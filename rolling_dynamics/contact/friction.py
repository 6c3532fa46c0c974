"""The envelope in which rolling holds: normal force, friction cone, spin friction."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca


class Margins(NamedTuple):
    """Margins of the contact, each positive inside the envelope (Section V-A)."""

    normal_force: ca.SX  # f_z [N]
    friction: ca.SX  # mu f_z - |(f_x, f_y)| [N]
    spin: ca.SX  # mu_spin f_z - |tau_z| [N m]


def contact_margins(wrench_Ch: ca.SX, mu: ca.SX, mu_spin: ca.SX) -> Margins:
    """
    Return the margins of a contact wrench.

    Parameters
    ----------
    wrench_Ch
        (tau, f) on the object in the contact frame of the hand, 6 entries [N m, N].
    mu
        Coefficient of static friction.
    mu_spin
        Coefficient of spin friction [m].

    Returns
    -------
    Margins
        Positive inside the envelope.

    """
    fx, fy, fz = wrench_Ch[3], wrench_Ch[4], wrench_Ch[5]
    return Margins(fz, mu * fz - ca.sqrt(fx * fx + fy * fy), mu_spin * fz - ca.fabs(wrench_Ch[2]))
