"""
Orthogonal charts, each beside the implicit surface it covers.

The normal of each chart points out of the material. A chart is a function u, v -> (x, y, z) of
CasADi expressions; the angles are in rad, the lengths in m.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
from oracles.implicit_surfaces import (
    ImplicitCylinder,
    ImplicitEllipsoid,
    ImplicitPlane,
    ImplicitSphere,
    ImplicitSurface,
    ImplicitTorus,
)

Expression = Callable[[ca.SX, ca.SX], tuple[ca.SX, ca.SX, ca.SX]]
Charted = tuple[ImplicitSurface, Expression]


def plane() -> Charted:
    """Return the plane (u, v, 0), material below."""
    return ImplicitPlane(), lambda u, v: (u, v, ca.SX(0))


def sphere(radius: float) -> Charted:
    """Return the sphere in the chart of 002, Section V-C1: u from the pole, v round it."""
    return ImplicitSphere(radius), lambda u, v: (
        radius * ca.sin(u) * ca.cos(v),
        radius * ca.sin(u) * ca.sin(v),
        radius * ca.cos(u),
    )


def ellipsoid(a: float, b: float, c: float, *, cavity: bool = False) -> Charted:
    """
    Return an ellipsoid with axes a > b > c in Jacobi's coordinates, its lines of curvature.

    The usual chart (a sin u cos v, b sin u sin v, c cos u) is not orthogonal unless a = b. The
    order of the coordinates makes the normal point outward, or inward for a cavity.
    """

    def outward(w: ca.SX, b_: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        x = ca.sqrt((a**2 - (b * ca.sin(b_)) ** 2 - (c * ca.cos(b_)) ** 2) / (a**2 - c**2))
        z = ca.sqrt(((a * ca.sin(w)) ** 2 + (b * ca.cos(w)) ** 2 - c**2) / (a**2 - c**2))
        return a * ca.cos(w) * x, b * ca.cos(b_) * ca.sin(w), c * ca.sin(b_) * z

    surface = ImplicitEllipsoid((a, b, c), cavity=cavity)
    return surface, (lambda u, v: outward(v, u)) if cavity else outward


def turned_cylinder(radius: float, angle: float) -> Charted:
    """Return a cylinder whose orthonormal coordinate lines are helices turned by an angle."""
    cos, sin = ca.cos(angle), ca.sin(angle)
    return ImplicitCylinder(radius), lambda u, v: (
        radius * ca.cos((u * cos - v * sin) / radius),
        radius * ca.sin((u * cos - v * sin) / radius),
        u * sin + v * cos,
    )


def turned_torus(major: float, minor: float, angle: float) -> Charted:
    """
    Return a torus in conformal coordinates turned by an angle.

    Conformal coordinates stay orthogonal when they are turned, but are no longer lines of
    curvature: the second fundamental form is full, and every Christoffel symbol is there.
    """
    cos, sin, root = ca.cos(angle), ca.sin(angle), ca.sqrt(major**2 - minor**2)

    def expression(u: ca.SX, v: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        along, across = u * cos - v * sin, u * sin + v * cos
        # d(theta) / d(across) = (R + r cos(theta)) / r
        stretch = ca.sqrt((major + minor) / (major - minor))
        theta = 2 * ca.atan(stretch * ca.tan(root * across / (2 * minor)))
        rho = major + minor * ca.cos(theta)
        return rho * ca.cos(along), rho * ca.sin(along), minor * ca.sin(theta)

    return ImplicitTorus(major, minor), expression
