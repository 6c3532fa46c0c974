"""Friction at a contact over its normal force: sliding, spinning and rolling, and their limit."""

from __future__ import annotations

import math

import casadi as ca
from rolling_dynamics.contract.rolling_system import number_entry

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
STILL = 1e-12  # m/s: keeps the direction of no motion a number
SLOW = 0.03  # rad/s: slower, dry resistance is in proportion, of what slides and in plans
SPINNING = 3 * math.pi / 16  # torque over mu N a of a patch that only spins
_SLOPE = 3 * math.pi / 8  # friction over mu N of such a patch, by speed over the rim's
_RIM = 0.3  # coefficient of the Pade form: 8 % of mu N from the integral at most


def against(motion: ca.SX, slow: ca.SX | float = STILL) -> ca.SX:
    """
    Return the unit vector against a motion (n) [m/s]: Coulomb friction over mu N.

    Of rolling it is the torque of dry resistance over the normal force and its lever arm. Slower
    than ``slow`` [m/s] it is proportional to the motion.
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
        Velocity (2) [m/s] of the middle of the patch.
    rim
        Velocity of its rim about the middle, a times the spin [m/s].

    """
    v, u = ca.sqrt(ca.sumsqr(slip) + STILL**2), ca.fabs(rim)
    force = (v + _RIM * _SLOPE * u) / (v**2 + _RIM * _SLOPE * u * v + _RIM * u**2)
    b = 2 / (5 * SPINNING)
    torque = SPINNING * (u + b * v) / (u**2 + b * u * v + 2 * v**2 + STILL**2)
    return -slip * force, -rim * torque


def held(force: ca.SX, torque: ca.SX) -> ca.SX:
    """
    Return what lies within mu N where a patch at rest holds a force (2), and a torque over a.

    Its limit is an ellipse of both, at most 6 % from the one that follows from Hertz's pressure
    (Goyal, Ruina & Papadopoulos 1991).
    """
    return ca.vertcat(force, torque / SPINNING)
