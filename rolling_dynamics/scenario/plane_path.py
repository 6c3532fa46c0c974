"""Paths that Darboux inputs of a scenario ask for: no kink, and nowhere without direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ScenarioError

SAMPLES = 1001
TURN = 0.01  # between two samples: less is no kink [rad]
NEIGHBOURS = 4.0  # times the turns beside it
HALVINGS = 45
AT_REST = 1e-9  # rolling rate at which the sphere may turn the path [m/s]
SPIN = 1e-9  # of the lever of the path, below which the sphere spins in place


def check_plane_path(
    kind: str,
    inputs: Callable[[float], Mapping[str, float]],
    radius: float,
    duration: float,
) -> None:
    """
    Refuse a path on the plane with a kink, and a direction where the sphere spins in place.

    Parameters
    ----------
    kind
        ``direction`` or ``virtual_surface``.
    inputs
        Time or arc length -> inputs by name.
    radius, duration
        Of the sphere [m]; time or arc length to go.

    Raises
    ------
    ScenarioError
        The text begins with the path of the entry and tells where.

    """
    times = np.linspace(0.0, duration, SAMPLES)
    headings = np.array([_heading(kind, inputs(t), radius) for t in times])
    turns = np.abs(_wrapped(np.diff(headings)))
    for k in np.flatnonzero(turns > TURN).tolist():
        beside = np.delete(turns[max(k - 2, 0) : k + 3], min(k, 2))
        if turns[k] <= NEIGHBOURS * float(np.median(beside)):
            continue
        low, high = _narrowed(lambda t: _heading(kind, inputs(t), radius), times[k], times[k + 1])
        jump = abs(_turn(kind, inputs, radius, low, high))
        if jump > TURN / 2 and _rolls(inputs(low)) and _rolls(inputs(high)):
            what = 'G_f' if kind == 'direction' else 'theta'
            raise ScenarioError(
                f'inputs.{kind}.{what}: the path on the plane has a kink of '
                f'{math.degrees(jump):.3g} degrees at t = {high:.6g}; give a smooth direction, or '
                'let delta vanish there'
            )


def _turn(
    kind: str, inputs: Callable[[float], Mapping[str, float]], radius: float, a: float, b: float
) -> float:
    both = [_heading(kind, inputs(t), radius) for t in (a, b)]
    return float(_wrapped(np.array(both[1] - both[0])))


def _rolls(values: Mapping[str, float]) -> bool:
    return abs(values.get('delta', 1.0)) > AT_REST


def _heading(kind: str, values: Mapping[str, float], radius: float) -> float:
    """Return the direction of the path on the plane [rad]."""
    across, along = radius * values['beta_s'], 1 - radius * values['gamma_s']
    if kind == 'direction':
        if math.hypot(across, along) < SPIN and _rolls(values):
            raise ScenarioError(
                'inputs.direction.gamma_s: beta_s = 0 and gamma_s = 1/R are spin in place, where '
                'the path has no direction; take another gamma_s, or inputs.virtual_surface'
            )
        return values['G_f']
    return values['theta'] + values['phi'] - math.atan2(across, along)


def _narrowed(heading: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return the narrowest stretch that holds the greater part of a turn."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        a, b, c = heading(low), heading(middle), heading(high)
        if abs(_wrapped(np.array(b - a))) > abs(_wrapped(np.array(c - b))):
            high = middle
        else:
            low = middle
    return low, high


def _wrapped(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    out: NDArray[np.float64] = np.mod(angles + math.pi, 2 * math.pi) - math.pi
    return out
