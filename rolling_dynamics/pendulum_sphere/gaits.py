"""Gaits: starting, stopping and turning in one swing, found from what they shall change."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ConfigDict
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.chebyshev_roots import all_roots
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from rolling_dynamics.pendulum_sphere.swing import speed_change, swing_extremes
from rolling_dynamics.scenario.fields import quantity, SECTION

FULL_RANGE = (-2 * math.pi, 2 * math.pi)  # beyond pi the pendulum passes over the top


@dataclass(frozen=True, kw_only=True)
class GaitLimits:
    """
    Limits of contact and drive.

    Attributes
    ----------
    torque
        Greatest torque of the drive [N m].
    friction
        Greatest friction over normal force; the sphere's mu if None.
    normal_force
        Least normal force as a share of the weight.
    amplitude
        Greatest amplitude [rad].

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    torque: Annotated[float, quantity('maximum torque (default: none)', 'N m', positive=True)] = (
        math.inf
    )
    friction: Annotated[
        float | None,
        quantity('maximum friction over normal force (default: mu)', positive=True),
    ] = None
    normal_force: Annotated[float, quantity('minimum, as a share of the weight', least=0)] = 0.05
    amplitude: Annotated[float, quantity('maximum amplitude', 'rad', positive=True)] = math.pi

    def __post_init__(self) -> None:
        """Refuse limits that allow nothing."""
        for name in ('torque', 'amplitude'):
            if not getattr(self, name) > 0:
                raise ParameterError(f'{name} must be positive, got {getattr(self, name)!r}')
        if self.friction is not None and not self.friction > 0:
            raise ParameterError(f'friction must be positive, got {self.friction!r}')
        if not 0 <= self.normal_force < 1:
            raise ParameterError(
                f'normal_force is a share of the weight, 0 to 1, got {self.normal_force!r}'
            )

    def allow(
        self, params: SphereParameters, amplitude: ArrayLike, period: ArrayLike
    ) -> NDArray[np.bool_]:
        """
        Tell whether contact and drive allow swings of amplitude [rad] and period [s].

        Both broadcast to the shape of the answer.
        """
        x = swing_extremes(params, amplitude, period)
        weight = (params.shell_mass + params.pendulum_mass) * params.gravity
        mu = params.mu if self.friction is None else self.friction
        return np.array(
            (x.normal_force >= self.normal_force * weight)
            & (x.friction <= mu)
            & (x.torque <= self.torque)
            & (np.abs(amplitude) <= self.amplitude)
        )


@dataclass(frozen=True, kw_only=True)
class Gait:
    """
    One swing.

    Attributes
    ----------
    amplitude, period
        alpha [rad] and T [s].
    speed_change
        Along the direction of the swing [m/s].

    """

    amplitude: float
    period: float
    speed_change: float


def gaits_for_speed(
    params: SphereParameters,
    change: float,
    period: float,
    amplitudes: tuple[float, float] = FULL_RANGE,
) -> tuple[Gait, ...]:
    """
    Return every swing of a period that changes the speed as wanted, the smallest first.

    Parameters
    ----------
    params
        The sphere.
    change
        Change of speed along the direction of the swing [m/s].
    period
        T [s].
    amplitudes
        Range in which amplitudes are sought [rad].

    Returns
    -------
    tuple of Gait
        Possibly empty. Whether the contact holds is not asked here.

    """

    def residual(alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        return speed_change(params, alpha, period) - change

    roots = all_roots(residual, *amplitudes)
    return tuple(
        Gait(amplitude=a, period=period, speed_change=change) for a in sorted(roots, key=abs)
    )


def gaits_for_turn(
    params: SphereParameters,
    angle: float,
    speed: float,
    period: float,
    amplitudes: tuple[float, float] = FULL_RANGE,
) -> tuple[Gait, ...]:
    """
    Return every swing across the motion that turns it by an angle, the smallest first.

    The speed along the old direction stays, as in Section 2.2: the swing adds speed tan(psi).

    Raises
    ------
    ParameterError
        The angle is not less than a right angle, or the sphere does not move.

    """
    if not abs(angle) < math.pi / 2:
        raise ParameterError(
            f'a swing across the motion turns it by less than pi/2, got {angle:.6g} rad; swing '
            'obliquely (a change of velocity in any direction), or in two swings of '
            f'{angle / 2:.6g} rad'
        )
    if not speed > 0:
        raise ParameterError(f'a turn needs a positive speed [m/s], got {speed!r}')
    return gaits_for_speed(params, speed * math.tan(angle), period, amplitudes)


def choose_gait(
    params: SphereParameters, change: float, period: float, limits: GaitLimits | None = None
) -> Gait:
    """
    Return the smallest swing that changes the speed as wanted and keeps the contact.

    Parameters
    ----------
    params
        The sphere.
    change
        Change of speed [m/s].
    period
        T [s].
    limits
        Of contact and drive; those of the sphere's friction if None.

    Returns
    -------
    Gait
        The one of least amplitude.

    Raises
    ------
    ParameterError
        There is none; the text names the nearest change at this period and the nearest period.

    """
    limits = limits or GaitLimits()
    span = min(limits.amplitude, math.pi)
    if change == 0:
        return Gait(amplitude=0.0, period=period, speed_change=0.0)
    found = gaits_for_speed(params, change, period, (-span, span))
    for gait in found:
        if limits.allow(params, gait.amplitude, period):
            return gait
    why = (
        'every swing that does loses the contact, slips, or needs more torque than there is'
        if found
        else 'no swing does'
    )
    raise ParameterError(
        f'a change of speed by {change:.6g} m/s in one swing of {period:.6g} s: {why}; '
        + _nearest(params, change, period, limits)
    )


def greatest_change(
    params: SphereParameters, period: float, limits: GaitLimits, samples: int = 400
) -> float:
    """Return the greatest change of speed [m/s] within the limits in one swing of a period."""
    alpha = np.linspace(0, min(limits.amplitude, math.pi), samples)
    good = limits.allow(params, alpha, period)
    return float(np.abs(speed_change(params, alpha, period))[good].max(initial=0.0))


def _nearest(params: SphereParameters, change: float, period: float, limits: GaitLimits) -> str:
    most = greatest_change(params, period, limits)
    text = f'at this period at most {most:.6g} m/s is possible'
    periods = period * np.geomspace(1 / 8, 8, 97)
    works = [T for T in periods if greatest_change(params, T, limits, 100) >= abs(change)]
    if works:
        nearest = min(works, key=lambda T: abs(math.log(T / period)))
        text += f', and this change at a period of {nearest:.4g} s'
    return text
