"""Bounds of the inputs of the Darboux-frame model; the inputs that make an angular velocity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario.fields import quantity, SECTION
from rolling_planner.spin_rolling.motion import Motion

QUARTER = math.pi / 2


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
