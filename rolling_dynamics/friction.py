"""
Friction at a contact per normal force: sliding, spinning and rolling, and their limit.

Also the Hertzian contact ellipse of two elastic bodies.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.contract.rolling_system import number_entry
from rolling_dynamics.errors import check_positive, ParameterError

MU = number_entry('mu', '', 'coefficient of static friction', 'zero or positive')
MU_KINETIC = number_entry('mu_kinetic', '', 'coefficient of kinetic friction', 'zero or positive')
MU_SPIN = number_entry('mu_spin', 'm', 'coefficient of spin friction', 'zero or positive')
RESISTANCE = number_entry(
    'rolling_resistance',
    'm s/rad',
    'torque against rolling over normal force and rate of rolling',
    'zero or positive',
)
LEVER_ARM = number_entry('lever_arm', 'm', 'of dry rolling resistance', 'zero or positive')
STILL = 1e-12  # m/s: keeps the direction finite at zero velocity
SLOW = 0.03  # rad/s: below, dry resistance is proportional to the rate, in slipping and in plans
SPINNING = 3 * math.pi / 16  # torque over mu N a of a patch that only spins
_SLOPE = 3 * math.pi / 8  # friction over mu N of such a patch, per speed over rim speed
_RIM = 0.3  # coefficient of the Pade form: 8 % of mu N from the integral at most


def against(motion: ca.SX, slow: ca.SX | float = STILL) -> ca.SX:
    """
    Return the unit vector against a motion (n) [m/s]: Coulomb friction over mu N.

    For rolling, it is the torque of dry resistance over normal force and lever arm. Below ``slow``
    [m/s] it is proportional to the motion.
    """
    return -motion / ca.sqrt(ca.sumsqr(motion) + slow**2)


def against_patch(slip: ca.SX, rim: ca.SX) -> tuple[ca.SX, ca.SX]:
    """
    Return friction (2) over mu N, and torque over mu N a, of a patch of radius a.

    Sliding and spinning weaken each other. Both limits have the slopes of the integral over
    Hertz's pressure (Contensou 1963, Zhuravlev 1998): the friction is 3 pi v / (8 u) where the
    patch only spins, the torque u / (5 v) where it only slides.

    Parameters
    ----------
    slip
        Velocity (2) [m/s] of the centre of the patch.
    rim
        Velocity of its rim about the centre, a times the spin [m/s].

    """
    v, u = ca.sqrt(ca.sumsqr(slip) + STILL**2), ca.fabs(rim)
    force = (v + _RIM * _SLOPE * u) / (v**2 + _RIM * _SLOPE * u * v + _RIM * u**2)
    b = 2 / (5 * SPINNING)
    torque = SPINNING * (u + b * v) / (u**2 + b * u * v + 2 * v**2 + STILL**2)
    return -slip * force, -rim * torque


def held(force: ca.SX, torque: ca.SX) -> ca.SX:
    """
    Return the load of a patch at rest, to be at most mu N, from force (2) and torque over a.

    The limit is an ellipse of both, within 6 % of the limit for Hertz's pressure (Goyal, Ruina &
    Papadopoulos 1991).
    """
    return ca.vertcat(force, torque / SPINNING)


@dataclass(frozen=True, kw_only=True)
class Elastic:
    """
    Elasticity of two bodies in contact.

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
        The major and the minor one [m].
    approach
        Approach of distant points of the bodies [m].
    pressure
        Maximum pressure [Pa].
    friction_radius
        Radius [m] of the circular patch with the same torque against pure spin, which is 3/8 mu N
        a E(e).

    """

    semi_axes: tuple[float, float]
    approach: float
    pressure: float
    friction_radius: float


def ellipse(curvature: ArrayLike, load: float, elastic: Elastic) -> Ellipse:
    """
    Return the contact ellipse of two bodies; Johnson, Contact Mechanics (1985), Eqs. 4.22 to 4.30.

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
    check_positive('the normal force on a contact', load, 'N')

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
