"""Maps over the plate: sums of plane waves, smooth everywhere, drawn from a random seed."""

from __future__ import annotations

from collections.abc import Mapping
import math

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.layout import Entry

Array = NDArray[np.float64]
WAVES = 24  # of each map
GRID = 81  # places along each side at which the steepest slope is looked for
SPREAD = 1.5  # how far the breakaway angle goes to the ends of its range


def wave_entries(name: str, unit: str) -> list[Entry]:
    """Return the parameters of a map."""
    parts = (('amplitude', unit), ('wave_x', 'rad/m'), ('wave_y', 'rad/m'), ('phase', 'rad'))
    return [
        Entry(f'{name}_{part}', tuple(f'{name}_{part}_{k}' for k in range(WAVES)), part_unit)
        for part, part_unit in parts
    ]


def wave_sum(name: str, place: ca.SX, p: Mapping[str, ca.SX]) -> ca.SX:
    """Return the value of a map at a place (2) [m]."""
    angle = p[f'{name}_wave_x'] * place[0] + p[f'{name}_wave_y'] * place[1]
    return ca.dot(p[f'{name}_amplitude'], ca.cos(angle + p[f'{name}_phase']))


def breakaway_angle(place: ca.SX, p: Mapping[str, ca.SX]) -> ca.SX:
    """Return the tilt [rad] at which a ball at rest at a place starts to roll."""
    s = wave_sum('breakaway', place, p)
    share = (1 + s / ca.sqrt(1 + s * s)) / 2  # within the range, whatever the waves are
    return p['breakaway_low'] + share * (p['breakaway_high'] - p['breakaway_low'])


def random_waves(
    name: str, length: float, amplitude: float, rng: np.random.Generator
) -> dict[str, Array]:
    """
    Return a map drawn from a Gaussian field, as entries of p.

    Parameters
    ----------
    name
        ``breakaway`` or ``height``.
    length
        Correlation length [m]: the covariance at a distance d is exp(-d^2 / (2 length^2)).
    amplitude
        Standard deviation, in the unit of the map.
    rng
        Source of random numbers.

    """
    waves = rng.normal(scale=1 / length, size=(2, WAVES))
    return {
        f'{name}_amplitude': np.full(WAVES, amplitude * math.sqrt(2 / WAVES)),
        f'{name}_wave_x': waves[0],
        f'{name}_wave_y': waves[1],
        f'{name}_phase': rng.uniform(0, 2 * math.pi, WAVES),
    }


def random_maps(
    *, seed: int, breakaway_length: float, slope: float, slope_length: float, half_width: float
) -> dict[str, Array]:
    """
    Return both maps of a plate, as entries of p.

    Parameters
    ----------
    seed
        Random seed.
    breakaway_length, slope_length
        Correlation lengths of breakaway angle and height [m].
    slope
        Steepest slope of the uneven plate [rad].
    half_width
        Of the part on which it is the steepest [m].

    """
    rng = np.random.default_rng(seed)
    resistance = random_waves('breakaway', breakaway_length, SPREAD, rng)
    height = random_waves('height', slope_length, 1.0, rng)
    height['height_amplitude'] *= slope / max(_steepest(height, half_width), 1e-300)
    return resistance | height


def _steepest(height: Mapping[str, Array], half_width: float) -> float:
    along = np.linspace(-half_width, half_width, GRID)
    x, y = (axis[..., None] for axis in np.meshgrid(along, along))
    k_x, k_y = height['height_wave_x'], height['height_wave_y']
    wave = height['height_amplitude'] * np.sin(k_x * x + k_y * y + height['height_phase'])
    return float(np.hypot(wave @ k_x, wave @ k_y).max())
