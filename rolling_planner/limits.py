"""Limits of the state: those asked for, edges of the hand, poles of charts."""

from __future__ import annotations

from collections.abc import Mapping
import math

from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.surfaces import Surface
from rolling_planner.arrays import Array

POLE_MARGIN = 0.02  # how near to the border of a chart of a closed surface a plan may come [chart]

Limits = dict[str, tuple[float, float]]


def state_limits(
    system: RollingSystem, p: Array, given: Mapping[str, tuple[float, float]]
) -> Limits:
    """
    Return least and greatest values of states by scalar name.

    Parameters
    ----------
    system, p
        The system and its parameters.
    given
        Limits that were asked for; they may narrow the others, not widen them.

    """
    out: Limits = {}
    known = [given]
    if hasattr(system, 'state_bounds'):
        known.append(system.state_bounds(p))
    if isinstance(system, ContactSystem):
        known.append(_chart_limits(system))
    for limits in known:
        for name, (low, high) in limits.items():
            before = out.get(name, (-math.inf, math.inf))
            out[name] = max(before[0], float(low)), min(before[1], float(high))
    return out


def _chart_limits(system: ContactSystem) -> Limits:
    """Return how far the contact may go on charts that end where the surface does not."""
    sides: list[tuple[str, Surface, int]] = []
    if system.hand_surface.name not in ('plane', 'expression', 'cylinder'):
        sides.append(('contact_h', system.hand_surface, system.hand_chart))
    if 'contact_o' in system.state:
        sides.append(('contact_o', system.object_surface, system.object_chart))
    out = {}
    for entry, surface, chart in sides:
        names = system.state.entry(entry).components
        for name, (low, high) in zip(names, surface.charts[chart].bounds, strict=True):
            if math.isfinite(low) and math.isfinite(high):
                out[name] = low + POLE_MARGIN, high - POLE_MARGIN
    return out


def check_within(
    system: RollingSystem, what: str, x: Array, limits: Mapping[str, tuple[float, float]]
) -> None:
    """Raise an error if a state passes its limits or stands at a pole of the hand's chart."""
    for name, (low, high) in limits.items():
        value = float(x[system.state.names.index(name)])
        if not low <= value <= high:
            why = ''
            if name in ('u_h', 'v_h'):
                why = ', the edge of the hand or of its chart'
            raise ParameterError(
                f'{what}.{name} must lie between {low:.6g} and {high:.6g}{why}; got {value:.6g}'
            )
    if isinstance(system, ContactSystem):
        system.hand_surface.check_regular(x[system.state.slice('contact_h')], system.hand_chart)
