"""Limits of the state: those asked for, edges of the hand, poles of charts."""

from __future__ import annotations

from collections.abc import Mapping
import math

from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import ChartCoordinates, offers, StateBounds
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError

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
    bounded = offers(system, StateBounds)
    if bounded is not None:
        known.append(bounded.state_bounds(p))
    for limits in known:
        for name, (low, high) in limits.items():
            before = out.get(name, (-math.inf, math.inf))
            out[name] = max(before[0], float(low)), min(before[1], float(high))
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
    charted = offers(system, ChartCoordinates)
    if charted is not None:
        charted.check_charts(x)
