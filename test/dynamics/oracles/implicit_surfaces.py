"""
Surfaces given by an equation phi(p) = 0, with no chart.

The surface belongs to a body; phi is negative inside the material, so the gradient points out of
it. Gradient and Hessian are closed forms in the coordinates of the body frame. phi is not scaled
to a distance: nothing that uses these surfaces may depend on the length of the gradient.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class ImplicitSurface(ABC):
    """Surface phi(p) = 0 of a body, p in the frame of the body [m]."""

    @abstractmethod
    def phi(self, p: ArrayLike) -> float:
        """Return phi at p, negative inside the material."""

    @abstractmethod
    def gradient(self, p: ArrayLike) -> Array:
        """Return the gradient of phi at p, shape (3,)."""

    @abstractmethod
    def hessian(self, p: ArrayLike) -> Array:
        """Return the Hessian of phi at p, shape (3, 3)."""

    def normal(self, p: ArrayLike) -> Array:
        """Return the unit normal out of the material at p, shape (3,)."""
        gradient = self.gradient(p)
        return gradient / np.linalg.norm(gradient)

    def point_with_normal(self, normal: ArrayLike) -> Array:
        """Return the point whose unit normal out of the material is given, shape (3,)."""
        raise NotImplementedError(f'{type(self).__name__}: the normal does not fix the point')


@dataclass(frozen=True)
class ImplicitPlane(ImplicitSurface):
    """
    Half-space below a plane.

    Attributes
    ----------
    unit_normal
        Unit normal out of the material.
    offset
        Distance of the plane from the origin along the normal [m].

    """

    unit_normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    offset: float = 0.0

    def phi(self, p: ArrayLike) -> float:
        """Return n . p - d."""
        return float(np.dot(self.unit_normal, p) - self.offset)

    def gradient(self, p: ArrayLike) -> Array:  # noqa: ARG002
        """Return n."""
        return np.array(self.unit_normal)

    def hessian(self, p: ArrayLike) -> Array:  # noqa: ARG002
        """Return zero."""
        return np.zeros((3, 3))


@dataclass(frozen=True)
class ImplicitEllipsoid(ImplicitSurface):
    """
    Ellipsoid about the origin, solid or, as a dish, the cavity in a larger body.

    phi = s (x^2/a^2 + y^2/b^2 + z^2/c^2 - 1), s = 1 solid, s = -1 cavity.

    Attributes
    ----------
    semi_axes
        a, b, c [m].
    cavity
        Whether the material lies outside.

    """

    semi_axes: tuple[float, float, float]
    cavity: bool = False

    @property
    def _sign(self) -> float:
        return -1.0 if self.cavity else 1.0

    def phi(self, p: ArrayLike) -> float:
        """Return s (sum p_i^2 / a_i^2 - 1)."""
        return float(self._sign * (np.sum((np.asarray(p) / self.semi_axes) ** 2) - 1.0))

    def gradient(self, p: ArrayLike) -> Array:
        """Return 2 s p_i / a_i^2."""
        return self._sign * 2.0 * np.asarray(p, float) / np.square(self.semi_axes)

    def hessian(self, p: ArrayLike) -> Array:  # noqa: ARG002
        """Return 2 s diag(1 / a_i^2)."""
        return self._sign * 2.0 * np.diag(1.0 / np.square(self.semi_axes))

    def point_with_normal(self, normal: ArrayLike) -> Array:
        """Return p = A^2 s n / |A n|, A = diag(a, b, c): the gradient there is along n."""
        normal = np.asarray(normal, float)
        semi_axes = np.asarray(self.semi_axes)
        return self._sign * semi_axes**2 * normal / np.linalg.norm(semi_axes * normal)


@dataclass(frozen=True)
class ImplicitSphere(ImplicitSurface):
    """
    Sphere about the origin, solid or a cavity.

    phi = s (|p|^2 - R^2), s = 1 solid, s = -1 cavity.

    Attributes
    ----------
    radius
        R [m].
    cavity
        Whether the material lies outside.

    """

    radius: float
    cavity: bool = False

    @property
    def _sign(self) -> float:
        return -1.0 if self.cavity else 1.0

    def phi(self, p: ArrayLike) -> float:
        """Return s (|p|^2 - R^2)."""
        return float(self._sign * (np.dot(p, p) - self.radius**2))

    def gradient(self, p: ArrayLike) -> Array:
        """Return 2 s p."""
        return self._sign * 2.0 * np.asarray(p, float)

    def hessian(self, p: ArrayLike) -> Array:  # noqa: ARG002
        """Return 2 s times the identity."""
        return self._sign * 2.0 * np.eye(3)

    def point_with_normal(self, normal: ArrayLike) -> Array:
        """Return s R n."""
        return self._sign * self.radius * np.asarray(normal, float)


@dataclass(frozen=True)
class ImplicitCylinder(ImplicitSurface):
    """
    Circular cylinder about the z axis, solid or a bore.

    phi = s (x^2 + y^2 - R^2), s = 1 solid, s = -1 bore.

    Attributes
    ----------
    radius
        R [m].
    cavity
        Whether the material lies outside.

    """

    radius: float
    cavity: bool = False

    @property
    def _sign(self) -> float:
        return -1.0 if self.cavity else 1.0

    def phi(self, p: ArrayLike) -> float:
        """Return s (x^2 + y^2 - R^2)."""
        x, y, _ = np.asarray(p, float)
        return float(self._sign * (x**2 + y**2 - self.radius**2))

    def gradient(self, p: ArrayLike) -> Array:
        """Return 2 s (x, y, 0)."""
        x, y, _ = np.asarray(p, float)
        return self._sign * 2.0 * np.array([x, y, 0.0])

    def hessian(self, p: ArrayLike) -> Array:  # noqa: ARG002
        """Return 2 s diag(1, 1, 0)."""
        return self._sign * 2.0 * np.diag([1.0, 1.0, 0.0])


@dataclass(frozen=True)
class ImplicitTorus(ImplicitSurface):
    """
    Solid torus about the z axis.

    phi = x^2 + y^2 + z^2 - 2 R rho + R^2 - r^2 with rho = sqrt(x^2 + y^2).

    Attributes
    ----------
    major_radius
        R [m], distance of the tube's centre line from the axis.
    minor_radius
        r [m], radius of the tube.

    """

    major_radius: float
    minor_radius: float

    def phi(self, p: ArrayLike) -> float:
        """Return (rho - R)^2 + z^2 - r^2."""
        x, y, z = np.asarray(p, float)
        rho = np.hypot(x, y)
        return float((rho - self.major_radius) ** 2 + z**2 - self.minor_radius**2)

    def gradient(self, p: ArrayLike) -> Array:
        """Return 2 p - 2 R (x, y, 0) / rho."""
        x, y, z = np.asarray(p, float)
        radial = np.array([x, y, 0.0]) / np.hypot(x, y)
        return 2.0 * np.array([x, y, z]) - 2.0 * self.major_radius * radial

    def hessian(self, p: ArrayLike) -> Array:
        """Return 2 I - (2 R / rho) times the projector on the direction round the axis."""
        x, y, _ = np.asarray(p, float)
        rho = np.hypot(x, y)
        around = np.array([-y, x, 0.0]) / rho
        return 2.0 * np.eye(3) - 2.0 * self.major_radius / rho * np.outer(around, around)
