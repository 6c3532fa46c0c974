"""
The angular velocity of the sphere in the Darboux frame of its path, per arc length.

alpha, beta, gamma are the geodesic curvature, geodesic torsion and normal curvature of the virtual
surface between sphere and plane; theta + phi is the angle from the plane's x axis to the Darboux
frame, phi that from the sphere's e_u to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from rolling_dynamics.errors import ParameterError

VARIANTS = ('corrected', 'as_published')


@dataclass(frozen=True, eq=False, kw_only=True)
class DarbouxInputs:
    """
    Inputs of the Darboux-frame form.

    Attributes
    ----------
    alpha, beta, gamma
        Geodesic curvature, geodesic torsion, normal curvature of the virtual surface [1/m].
    theta, phi
        Angles of the Darboux frame [rad].

    """

    alpha: ca.SX
    beta: ca.SX
    gamma: ca.SX
    theta: ca.SX
    phi: ca.SX


def checked_variant(variant: str) -> str:
    """Return a variant of the model; raise ParameterError if there is none of this name."""
    if variant not in VARIANTS:
        raise ParameterError(f'variant must be one of {VARIANTS}, got {variant!r}')
    return variant


def angular_velocity(
    inputs: DarbouxInputs, radius: ca.SX, tan_v_o: ca.SX, variant: str = 'corrected'
) -> ca.SX:
    """
    Return the angular velocity of the sphere per arc length, in S.

    Parameters
    ----------
    inputs
        Virtual surface and angles.
    radius
        Radius [m].
    tan_v_o
        Tangent of the latitude of the contact on the sphere.
    variant
        ``corrected``, or ``as_published`` with the sine that Eq. (12) prints twice.

    Returns
    -------
    casadi.SX
        (w_x, w_y, w_z) / delta [1/m].

    """
    kn = 1 / radius - inputs.gamma  # Eq. (5) with (8), (9)
    tau = -inputs.beta
    kg = tan_v_o * ca.cos(inputs.phi) / radius - inputs.alpha
    s, c = ca.sin(inputs.theta + inputs.phi), ca.cos(inputs.theta + inputs.phi)
    cosine = c if checked_variant(variant) == 'corrected' else s
    return ca.vertcat(-c * tau - s * kn, -s * tau + cosine * kn, -kg)  # Eq. (12)
