"""Limits of a plan: the region of the contact, and the bounds of the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario.fields import entry, quantity, SECTION, several
from rolling_planner.spin_rolling.motion import (
    angle_between,
    distance_to_arc,
    Motion,
    norm,
    unit,
    Vector,
)

QUARTER = math.pi / 2
POLES: tuple[Vector, Vector] = ((0.0, 1.0, 0.0), (0.0, -1.0, 0.0))
EVERYWHERE = (-math.inf, math.inf)
AT_POLE = 1e-9  # a start or goal nearer than this lies at the pole, which cannot be avoided [rad]
EDGE = 1e-12  # slack of a point that lies on an edge [rad], [m]


@dataclass(frozen=True, kw_only=True)
class ContactRegion:
    """
    Region of contact on both surfaces.

    Attributes
    ----------
    u_bounds, v_bounds
        Least and greatest u_s, v_s [m].
    axis
        Centre of the cap of the sphere, in O; any length.
    half_angle
        Angle from the centre of the cap to its edge [rad]; pi for the whole sphere.
    pole_margin
        Least angle from the poles of the chart [rad]. Where start or goal lie closer, half
        their distance is kept.

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    u_bounds: Annotated[
        tuple[float, float], entry(several(count=2, made=tuple), 'range of u_s', 'm')
    ] = EVERYWHERE
    v_bounds: Annotated[
        tuple[float, float], entry(several(count=2, made=tuple), 'range of v_s', 'm')
    ] = EVERYWHERE
    axis: Annotated[
        tuple[float, float, float],
        entry(several(count=3, made=tuple), 'centre of the cap of the sphere, in its frame'),
    ] = (0.0, 0.0, -1.0)
    half_angle: Annotated[float, quantity('from the centre of the cap to its edge', 'rad')] = (
        math.pi
    )
    pole_margin: Annotated[float, quantity('minimum angle from the poles of the chart', 'rad')] = (
        0.01
    )

    def __post_init__(self) -> None:
        """Refuse what is no region."""
        for name in ('u_bounds', 'v_bounds'):
            low, high = getattr(self, name)
            if not low < high:
                raise ParameterError(f'{name} must increase [m], got {(low, high)}')
        if not (len(self.axis) == 3 and math.isfinite(norm(self.axis)) and norm(self.axis) > 0):
            raise ParameterError(f'axis must be 3 numbers, not all 0, got {self.axis}')
        if not 0 < self.half_angle <= math.pi:
            raise ParameterError(f'half_angle must lie in (0, pi] [rad], got {self.half_angle!r}')
        if not 0 <= self.pole_margin < 0.5:
            raise ParameterError(
                f'pole_margin must lie in [0, 0.5) [rad], got {self.pole_margin!r}'
            )

    @property
    def is_bounded(self) -> bool:
        """Tell whether anything but the poles is left out."""
        return self.half_angle < math.pi or (self.u_bounds, self.v_bounds) != (
            EVERYWHERE,
            EVERYWHERE,
        )

    def check(self, name: str, point: Sequence[float], normal: Vector) -> None:
        """Raise ParameterError naming ``name`` unless a contact lies in the region."""
        for k, (which, bounds) in enumerate((('u_s', self.u_bounds), ('v_s', self.v_bounds))):
            if not bounds[0] - EDGE <= point[k] <= bounds[1] + EDGE:
                raise ParameterError(
                    f'{name}: {which} = {point[k]:g} m lies outside the contact region, '
                    f'{bounds[0]:g} to {bounds[1]:g} m'
                )
        away = angle_between(unit(self.axis), normal)
        if not away <= self.half_angle + EDGE:
            raise ParameterError(
                f'{name}: the contact on the sphere lies {away:.4g} rad from the centre of the '
                f'contact region, whose edge is at {self.half_angle:.4g} rad'
            )

    def keep_out(self, normals: Sequence[Vector]) -> list[tuple[Vector, float]]:
        """Return discs of the sphere (centre, angular radius) for a path between two contacts."""
        discs = []
        for pole in POLES:
            nearest = min(angle_between(pole, n) for n in normals)
            nearest = nearest if nearest > AT_POLE else 0.0
            discs.append((pole, min(self.pole_margin, 0.5 * nearest)))
        if self.half_angle < math.pi:
            x, y, z = unit(self.axis)
            discs.append(((-x, -y, -z), math.pi - self.half_angle - EDGE))
        return discs

    def holds_point(self, point: Sequence[float]) -> bool:
        """Tell whether a point of the plane lies inside."""
        u, v = self.u_bounds, self.v_bounds
        return u[0] - EDGE <= point[0] <= u[1] + EDGE and v[0] - EDGE <= point[1] <= v[1] + EDGE


def arc_is_free(discs: Sequence[tuple[Vector, float]], a: Vector, b: Vector) -> bool:
    """Tell whether the short great-circle arc from a to b enters no disc."""
    return all(distance_to_arc(q, a, b) >= radius for q, radius in discs)


@dataclass(frozen=True, kw_only=True)
class InputBounds:
    """
    Greatest magnitude of the inputs.

    Attributes
    ----------
    delta
        Rolling rate [m/s].
    alpha_s, gamma_s
        Geodesic and normal curvature of the virtual surface [1/m]; beta_s is not used by plans.

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    delta: Annotated[float, quantity('rolling rate', 'm/s')] = 0.1
    alpha_s: Annotated[float, quantity('geodesic curvature', '1/m')] = math.inf
    gamma_s: Annotated[float, quantity('normal curvature', '1/m')] = math.inf

    def __post_init__(self) -> None:
        """Refuse bounds that allow no motion."""
        if not (math.isfinite(self.delta) and self.delta > 0):
            raise ParameterError(f'delta must be positive and finite [m/s], got {self.delta!r}')
        for name in ('alpha_s', 'gamma_s'):
            if not getattr(self, name) >= 0:
                raise ParameterError(
                    f'{name} must be zero or positive [1/m], got {getattr(self, name)!r}'
                )

    def allow_spin(self, radius: float) -> bool:
        """Tell whether the sphere may spin in place: gamma_s = 1/R with alpha_s not zero."""
        return self.gamma_s * radius >= 1 and self.alpha_s > 0

    def check(self, inputs: NDArray[np.float64]) -> None:
        """
        Raise ParameterError where inputs exceed the bounds.

        Parameters
        ----------
        inputs
            Columns alpha_s, beta_s, gamma_s, theta, phi, delta, of :func:`darboux_inputs`.

        """
        for name, k in (('alpha_s', 0), ('gamma_s', 2), ('delta', 5)):
            bound, values = getattr(self, name), np.abs(inputs[:, k])
            if np.any(values > bound * (1 + 1e-9)):
                at = int(np.argmax(values))
                raise ParameterError(
                    f'inputs: |{name}| = {values[at]:g} in row {at} exceeds its bound {bound:g}'
                )


def seconds_per_turn(w: Sequence[float], radius: float, bounds: InputBounds) -> float:
    """Return the least time of a roll or a spin in place at a constant rate [s]."""
    length = radius * math.hypot(w[0], w[1])
    if length > 0:
        return length / bounds.delta
    return abs(w[2]) / (bounds.delta * min(bounds.alpha_s, 1 / radius))


def check_spins(motion: Motion, bounds: InputBounds) -> None:
    """Raise ParameterError if a motion spins in place and the bounds do not allow it."""
    if motion.spin > 0 and not bounds.allow_spin(motion.radius):
        raise ParameterError(
            f'bounds: spin in place needs gamma_s = 1/R = {1 / motion.radius:g} 1/m and alpha_s; '
            f'their bounds are {bounds.gamma_s:g} and {bounds.alpha_s:g}; use the mode '
            "'pure_rolling'"
        )


def darboux_inputs(
    w_SO_S: NDArray[np.float64], radius: float, bounds: InputBounds
) -> NDArray[np.float64]:
    """
    Return inputs of the corrected Darboux-frame model over time that make an angular velocity.

    phi is pi/2, which takes the geodesic curvature of the chart, and its poles, out of the model.
    A spin in place is gamma_s = 1/R; everything else is rolled with beta_s = gamma_s = 0.

    Parameters
    ----------
    w_SO_S
        Angular velocities in S [rad/s], shape (N, 3).
    radius
        Radius [m].
    bounds
        Bounds of the inputs; the rates are taken to be slow enough for them.

    Returns
    -------
    NDArray
        Columns alpha_s, beta_s, gamma_s, theta, phi, delta, shape (N, 6).

    """
    w = np.atleast_2d(np.asarray(w_SO_S, dtype=float))
    rolling = radius * np.hypot(w[:, 0], w[:, 1])
    spin_alone = (rolling <= 1e-12 * radius * np.abs(w[:, 2])) & (w[:, 2] != 0)
    alpha_in_place = min(bounds.alpha_s, 1 / radius)
    in_place = np.abs(w[:, 2]) / alpha_in_place if alpha_in_place else 0.0
    delta = np.where(spin_alone, in_place, rolling)
    safe = np.where(delta > 0, delta, 1.0)
    alpha = np.where(delta > 0, w[:, 2] / safe, 0.0)
    gamma = np.where(spin_alone, 1 / radius, 0.0)
    theta = np.arctan2(-w[:, 0], w[:, 1]) - QUARTER
    zero = np.zeros(len(w))
    return np.column_stack([alpha, zero, gamma, theta, zero + QUARTER, delta])
