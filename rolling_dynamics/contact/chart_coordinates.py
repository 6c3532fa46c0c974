"""What the coordinates of the contact on charts mean: periods, borders, lengths."""

from __future__ import annotations

from collections.abc import Collection, Mapping
import math
from typing import TYPE_CHECKING

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.conversions import contact_view
from rolling_dynamics.quaternions import rotation_vector
from rolling_dynamics.surfaces.surface import Surface
from transforms3d.quaternions import mat2quat

if TYPE_CHECKING:
    from rolling_dynamics.contact.contact_system import ContactSystem

POLE_MARGIN = 0.02  # how near to the border of a chart of a closed surface a plan may come [chart]


def charts_in_state(system: ContactSystem) -> dict[str, tuple[Surface, int]]:
    """Return surface and chart of each entry of the state that stands on one."""
    charts = {
        'contact_o': (system.object_surface, system.object_chart),
        'contact_h': (system.hand_surface, system.hand_chart),
    }
    return {entry: chart for entry, chart in charts.items() if entry in system.state}


def chart_bounds(system: ContactSystem) -> dict[str, tuple[float, float]]:
    """Return how far the contact may go on charts that end where the surface does not."""
    out = {}
    for entry, (surface, chart) in charts_in_state(system).items():
        if entry == 'contact_h' and surface.name in ('plane', 'expression', 'cylinder'):
            continue  # their bounds are edges
        names = system.state.entry(entry).components
        for name, (low, high) in zip(names, surface.charts[chart].bounds, strict=True):
            if math.isfinite(low) and math.isfinite(high):
                out[name] = low + POLE_MARGIN, high - POLE_MARGIN
    return out


def in_lengths(
    system: ContactSystem,
    p: Array,
    x: Array,
    x_goal: Array,
    misses: Mapping[str, Array],
    whole: Collection[str],
) -> dict[str, Array]:
    """Return misses of a goal as lengths; see the capability ``ChartCoordinates``."""
    out = dict(misses)
    if {'contact_o', 'psi', 'contact_h'} <= set(whole):
        R, R_goal = (np.array(contact_view(system)(y, p)[0]) for y in (x, x_goal))
        out['contact_o'] = rotation_vector(mat2quat(R_goal.T @ R))
        out.pop('psi')
    elif 'contact_o' in out:
        out['contact_o'] = _scale(system, p, 'contact_o', x_goal) @ out['contact_o']
    if 'contact_h' in out:
        out['contact_h'] = _scale(system, p, 'contact_h', x_goal) @ out['contact_h']
    return out


def _scale(system: ContactSystem, p: Array, entry: str, x: Array) -> Array:
    """Return the matrix from steps on a chart to lengths along the surface."""
    surface, chart = charts_in_state(system)[entry]
    body = 'hand_surface' if entry == 'contact_h' else 'object_surface'
    geometry = surface.numeric(chart)(
        x[system.state.slice(entry)], p[system.parameters.slice(body)]
    )
    return np.array(geometry[3])
