"""Hertz's contact: the ellipse over which two elastic bodies touch under a normal force."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class Elastic:
    """
    Elasticity of two bodies that touch.

    Attributes
    ----------
    young, other_young
        Young's moduli [Pa].
    poisson, other_poisson
        Poisson's ratios.

    """

    young: float
    poisson: float
    other_young: float = math.inf
    other_poisson: float = 0.0

    @property
    def modulus(self) -> float:
        """Contact modulus E* [Pa] (Johnson 1985, Eq. 3.2c)."""
        one = (1 - self.poisson**2) / self.young
        return 1 / (one + (1 - self.other_poisson**2) / self.other_young)


@dataclass(frozen=True, kw_only=True)
class Ellipse:
    """
    Ellipse in which two bodies touch.

    Attributes
    ----------
    semi_axes
        The greater and the smaller one [m].
    approach
        By which distant points of the bodies come nearer [m].
    pressure
        The greatest one [Pa].
    friction_radius
        Radius [m] of the round patch that resists spin alone by as great a torque, which is
        3/8 mu N a E(e).

    """

    semi_axes: tuple[float, float]
    approach: float
    pressure: float
    friction_radius: float


def ellipse(curvature: ArrayLike, load: float, elastic: Elastic) -> Ellipse:
    """
    Return where two bodies touch; Johnson, Contact Mechanics (1985), Eqs. 4.22 to 4.30.

    Parameters
    ----------
    curvature
        Relative curvature at the contact: the sum of the second fundamental forms of both bodies
        in a common frame, (2, 2), or its principal values (2) [1/m].
    load
        Normal force [N].
    elastic
        Elasticity of both.

    Raises
    ------
    ParameterError
        The bodies do not touch in one point, or the force does not press them together.

    """
    from scipy.optimize import brentq  # noqa: PLC0415  large
    from scipy.special import elliprd, elliprf  # noqa: PLC0415  large

    given = np.asarray(curvature, dtype=float)
    low, high = map(float, np.sort(np.linalg.eigvalsh(given) if given.ndim > 1 else given))
    if not 0 < low <= high < math.inf:
        raise ParameterError(
            f'the relative curvatures at a contact must be positive, got {low:.6g} and {high:.6g} '
            '1/m: only bodies that touch in one point have an ellipse of contact'
        )
    if not 0 < load < math.inf:
        raise ParameterError(f'the normal force on a contact must be positive, got {load:g} N')

    def integrals(log_ratio: float) -> tuple[float, float, float]:
        """Return b/a, K and D = (K - E) / e^2 (Carlson's form, exact for a circle)."""
        ratio = math.exp(log_ratio)
        return ratio, float(elliprf(0, ratio**2, 1)), float(elliprd(0, ratio**2, 1)) / 3

    def excess(log_ratio: float) -> float:
        ratio, K, D = integrals(log_ratio)
        return ratio**2 * D / (K - D) - low / high

    at = 0.0 if low == high else float(brentq(excess, math.log(low / high), 0.0, xtol=1e-15))
    ratio, K, D = integrals(at)
    a = (3 * load * D / (math.pi * elastic.modulus * low)) ** (1 / 3)
    E = ratio**2 * K + (1 - ratio**2) * (K - D)
    return Ellipse(
        semi_axes=(a, ratio * a),
        approach=3 * load * K / (2 * math.pi * elastic.modulus * a),
        pressure=3 * load / (2 * math.pi * ratio * a**2),
        friction_radius=2 / math.pi * E * a,
    )
