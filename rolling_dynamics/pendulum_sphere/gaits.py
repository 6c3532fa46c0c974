"""Gaits of a sphere with a pendulum, made of swings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike, NDArray
from pydantic import ConfigDict
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import check_positive, ParameterError
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from rolling_dynamics.scenario.fields import quantity, SECTION

NODES = 32  # midpoints of half a period; the integrand is periodic, so the sum is exact


class Angle(NamedTuple):
    """Angle of the pendulum [rad], its rate and acceleration."""

    theta: Array
    rate: Array
    acceleration: Array


class PlanarMotion(NamedTuple):
    """Along the direction of the swing: acceleration [m/s^2], torque, normal force, friction."""

    acceleration: Array
    torque: Array
    normal_force: Array
    friction: Array


class SwingExtremes(NamedTuple):
    """Over one swing: minimum normal force [N], maximum friction / normal force, torque [N m]."""

    normal_force: Array
    friction: Array
    torque: Array


def swing_angle(t: ArrayLike, amplitude: ArrayLike, period: ArrayLike) -> Angle:
    """
    Return theta = alpha sin^2(pi t / T) [rad] and its derivatives, Eq. (8).

    Arguments are broadcast to a common shape.
    """
    t, alpha, T = (np.asarray(v, dtype=float) for v in (t, amplitude, period))
    w = 2 * np.pi / T
    return Angle(
        alpha * (1 - np.cos(w * t)) / 2,
        alpha * w / 2 * np.sin(w * t),
        alpha * w**2 / 2 * np.cos(w * t),
    )


def planar_motion(params: SphereParameters, angle: Angle) -> PlanarMotion:
    """
    Return the motion of the sphere for a planar motion of the pendulum on a level floor.

    Parameters
    ----------
    params
        The sphere.
    angle
        Angle and derivatives, any shape.

    Returns
    -------
    PlanarMotion
        The acceleration is Eq. (12) with the signs of its first and third terms corrected; the
        torque follows Eq. (10); it acts on the pendulum about s x e and moves it along s.

    """
    theta, rate, acc = angle
    sine, cosine = np.sin(theta), np.cos(theta)
    m, L, R, g = (
        params.pendulum_mass,
        params.pendulum_length,
        params.shell_radius,
        params.gravity,
    )
    c, total = params.coupling, params.shell_mass + m
    a = (
        R
        * (acc * (params.i0 - c * cosine) + c * rate**2 * sine + m * g * L * sine)
        / (params.I0 - c * cosine)
    )
    along = cosine * acc - sine * rate**2  # of the pendulum's centre relative to the shell's,
    upward = sine * acc + cosine * rate**2  # over R_t
    return PlanarMotion(
        a, a / R * params.I0 + c * along, total * g + m * L * upward, total * a + m * L * along
    )


def speed_change(params: SphereParameters, amplitude: ArrayLike, period: ArrayLike) -> Array:
    """
    Return the change of speed along the swing, Eq. (9); amplitude [rad] and period [s] broadcast.

    Raises
    ------
    ParameterError
        A period is not positive.

    """
    alpha, T = np.broadcast_arrays(*_checked(amplitude, period))
    times = (np.arange(NODES) + 0.5) / (2 * NODES) * T[..., None]
    motion = planar_motion(params, swing_angle(times, alpha[..., None], T[..., None]))
    return np.array(motion.acceleration.mean(axis=-1) * T)


def swing_extremes(
    params: SphereParameters, amplitude: ArrayLike, period: ArrayLike
) -> SwingExtremes:
    """
    Return the loads of swings on contact and drive; friction is inf if the contact lifts.

    Amplitude [rad] and period [s] are broadcast to a common shape.
    """
    alpha, T = np.broadcast_arrays(*_checked(amplitude, period))
    times = np.linspace(0, 0.5, 2 * NODES + 1) * T[..., None]  # the second half mirrors the first
    motion = planar_motion(params, swing_angle(times, alpha[..., None], T[..., None]))
    N = motion.normal_force
    ratio = np.where(N > 0, np.abs(motion.friction) / np.where(N > 0, N, 1), np.inf)
    return SwingExtremes(N.min(axis=-1), ratio.max(axis=-1), np.abs(motion.torque).max(axis=-1))


def _checked(amplitude: ArrayLike, period: ArrayLike) -> tuple[Array, Array]:
    alpha, T = np.asarray(amplitude, dtype=float), np.asarray(period, dtype=float)
    check_positive('period', T, 's')
    if not np.all(np.isfinite(alpha)):
        raise ParameterError(f'amplitude must be finite [rad], got {amplitude!r}')
    return alpha, T


DEGREE = 24
SMALL = 1e-12  # maximum fraction of the largest coefficient for the last ones
PIECE = math.pi / 2
DEEPEST = 12  # maximum number of bisections of a piece
_NODES = chebyshev.chebpts1(DEGREE + 1)
_ANALYSIS = np.linalg.inv(chebyshev.chebvander(_NODES, DEGREE))


def all_roots(function: Callable[[Array], Array], low: float, high: float) -> list[float]:
    """
    Return all roots of a smooth function in an interval, double roots once, increasing.

    Parameters
    ----------
    function
        Vectorised, shape (k,) -> (k,).
    low, high
        The interval.

    Returns
    -------
    list of float
        The pieces are halved until the interpolant equals the function to rounding, and has the
        same roots.

    """
    cuts = np.linspace(low, high, max(1, math.ceil((high - low) / PIECE)) + 1)
    pieces = np.column_stack([cuts[:-1], cuts[1:]])
    roots: list[float] = []
    for depth in range(DEEPEST + 1):
        middle, half = pieces.mean(axis=1), np.diff(pieces, axis=1)[:, 0] / 2
        samples = function((middle[:, None] + np.outer(half, _NODES)).ravel())
        series = samples.reshape(len(pieces), -1) @ _ANALYSIS.T
        size, tail = np.abs(series).max(axis=1), np.abs(series[:, -3:]).max(axis=1)
        free = np.abs(series[:, 0]) > np.abs(series[:, 1:]).sum(axis=1)
        rough = (tail > SMALL * size) & ~(free & (tail < 1e-3 * size)) & (depth < DEEPEST)
        for k in np.flatnonzero(~free & ~rough):
            roots += [float(middle[k] + half[k] * z) for z in _roots(series[k])]
        if not rough.any():
            break
        a, m, b = pieces[rough, 0], middle[rough], pieces[rough, 1]
        pieces = np.concatenate([np.column_stack([a, m]), np.column_stack([m, b])])
    kept: list[float] = []
    for r in sorted(roots):
        if not kept or r - kept[-1] > 1e-7 * (high - low):
            kept.append(r)
    return kept


def _roots(c: Array) -> Array:
    """Return the real roots of a Chebyshev series in [-1, 1]."""
    size = np.abs(c).max()
    last = int(np.flatnonzero(np.abs(c) > 1e-16 * size).max(initial=0))
    z = chebyshev.chebroots(c[: last + 1])
    x = np.real(z[(np.abs(np.imag(z)) < 1e-7) & (np.abs(np.real(z)) < 1 + 1e-10)])
    slope = chebyshev.chebder(c)
    for _ in range(3):  # Newton's method; a double root has no slope and is kept
        d = chebyshev.chebval(x, slope)
        steep = np.abs(d) > 1e-9 * size
        step = np.where(steep, chebyshev.chebval(x, c) / np.where(steep, d, 1), 0)
        x = x - np.clip(step, -1e-4, 1e-4)
    return np.array(x[np.abs(x) <= 1 + 1e-10])


FULL_RANGE = (-2 * math.pi, 2 * math.pi)  # beyond pi the pendulum passes over the top


@dataclass(frozen=True, kw_only=True)
class GaitLimits:
    """
    Limits of contact and drive.

    Attributes
    ----------
    torque
        Maximum torque of the drive [N m].
    friction
        Maximum friction over normal force; the sphere's mu if None.
    normal_force
        Minimum normal force as a fraction of the weight.
    amplitude
        Maximum amplitude [rad].

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    torque: Annotated[float, quantity('maximum torque (default: none)', 'N m', positive=True)] = (
        math.inf
    )
    friction: Annotated[
        float | None,
        quantity('maximum friction over normal force (default: mu)', positive=True),
    ] = None
    normal_force: Annotated[float, quantity('minimum, over the weight', least=0)] = 0.05
    amplitude: Annotated[float, quantity('maximum amplitude', 'rad', positive=True)] = math.pi

    def __post_init__(self) -> None:
        """Reject limits that allow no motion."""
        for name in ('torque', 'amplitude'):
            check_positive(name, getattr(self, name), most=math.inf)
        if self.friction is not None:
            check_positive('friction', self.friction, most=math.inf)
        if not 0 <= self.normal_force < 1:
            raise ParameterError(
                f'normal_force is a fraction of the weight, 0 to 1, got {self.normal_force!r}'
            )

    def allow(
        self, params: SphereParameters, amplitude: ArrayLike, period: ArrayLike
    ) -> NDArray[np.bool_]:
        """
        Return whether contact and drive allow swings of amplitude [rad] and period [s].

        Both are broadcast to the shape of the result.
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


def gaits_for_speed(
    params: SphereParameters,
    change: float,
    period: float,
    amplitudes: tuple[float, float] = FULL_RANGE,
) -> list[float]:
    """
    Return the amplitudes [rad] of all swings with a given change of speed, the smallest first.

    Parameters
    ----------
    params
        The sphere.
    change
        Change of speed along the direction of the swing [m/s].
    period
        T [s].
    amplitudes
        Range of amplitudes [rad].

    Returns
    -------
    list of float
        Possibly empty. Whether the contact holds is not checked.

    """

    def residual(alpha: Array) -> Array:
        return speed_change(params, alpha, period) - change

    return sorted(all_roots(residual, *amplitudes), key=abs)


def choose_gait(
    params: SphereParameters, change: float, period: float, limits: GaitLimits | None = None
) -> float:
    """
    Return the smallest amplitude [rad] with a given change of speed that keeps the contact.

    Parameters
    ----------
    params
        The sphere.
    change
        Change of speed [m/s].
    period
        T [s].
    limits
        Limits of contact and drive; from the sphere's friction if None.

    Raises
    ------
    ParameterError
        There is none; the text gives the nearest change at this period and the nearest period.

    """
    limits = limits or GaitLimits()
    span = min(limits.amplitude, math.pi)
    if change == 0:
        return 0.0
    found = gaits_for_speed(params, change, period, (-span, span))
    for amplitude in found:
        if limits.allow(params, amplitude, period):
            return amplitude
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
    """Return the maximum change of speed [m/s] within the limits in one swing of a period."""
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
