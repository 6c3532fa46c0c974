"""All places where a body and a hand of any shape come closest, and what follows from several."""

from __future__ import annotations

import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.equations import FAR
from rolling_dynamics.contract.rolling_system import MotionState
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.mode_equations import CONTACT_MODES
from rolling_dynamics.point_contact.transitions import TOUCHING, Transitions

if TYPE_CHECKING:
    from rolling_dynamics.hybrid_contact.system import HybridContactSystem

STARTS = 10  # in each direction of the chart
STEPS = 40  # of Newton, each at most a tenth of the chart
FOUND = 1e-10  # step of (u, v) at a closest point
SAME = 1e-6  # of (u, v): two searches came to one point


class ClosestPoint(NamedTuple):
    """A place (u, v) of the hand that the body is closest to, and its distance [m]."""

    uv: tuple[float, float]
    gap: float


def closest_points(system: HybridContactSystem, p: Array, x: Array) -> list[ClosestPoint]:
    """
    Return every place where the body comes closest to the hand, the nearest first.

    Parameters
    ----------
    system
        A body over a hand that is not a plane.
    p, x
        Parameters and state; its own closest point is one of the starts of the search.

    Returns
    -------
    list of ClosestPoint
        Local minima of the distance within bounds and edges of the hand.

    """
    where, surface = system.state.slice('contact_h'), system.hand_surface
    low, high = _box(system, p)
    grid = np.meshgrid(
        *(np.linspace(a, b, STARTS + 2)[1:-1] for a, b in zip(low, high, strict=True))
    )
    uv = np.vstack([x[where], np.column_stack([g.ravel() for g in grid])])
    states = np.tile(x, (len(uv), 1))
    most = (high - low) / STARTS
    look = system.nearness.map(len(uv))
    params = np.tile(p[:, None], (1, len(uv)))
    for _ in range(STEPS):
        states[:, where] = uv
        step, gap, margin = (np.array(a) for a in look(states.T, params))
        uv = uv + np.clip(np.nan_to_num(step.T), -most, most)
    good = (np.abs(step).max(axis=0) < FOUND) & (margin[0] > 0)
    found: list[ClosestPoint] = []
    for k in np.argsort(gap[0]):
        inside = surface.is_inside(uv[k]) and np.all((low <= uv[k]) & (uv[k] <= high))
        place = _in_period(surface.chart.periods, uv[k])
        known = any(np.abs(np.subtract(place, f.uv)).max() < SAME for f in found)
        if good[k] and (inside or k == 0) and not known:
            found.append(ClosestPoint(place, float(gap[0, k])))
    return found


def placed_on_closest_point(system: HybridContactSystem, p: Array, x: Array) -> Array:
    """
    Return a state with the nearest of the closest points of the hand.

    Raises
    ------
    ParameterError
        There is none within the edges, or the body touches the hand in several points.

    """
    if x.shape != (system.state.size,) or not np.all(np.isfinite(x)):
        return x  # refused where all states are checked
    found = closest_points(system, p, x)
    if not found:
        raise ParameterError(
            'the object is not over the hand: no point of it, within its chart and edges, is '
            'closest to the object'
        )
    touching = [f for f in found if f.gap <= TOUCHING]
    if len(touching) > 1:
        raise ParameterError(f'{_told(touching)}; single contacts are simulated only')
    out = x.copy()
    out[system.state.slice('contact_h')] = found[0].uv
    return out


class CurvedTransitions(Transitions):
    """Decides as on a plane, and stops where the body touches in a second point."""

    system: HybridContactSystem

    @property
    def _periods(self) -> tuple[float | None, float | None]:
        return self.system.hand_surface.chart.periods

    def after(self, guard: str, s: MotionState, u: Array) -> MotionState:
        """Return the state after a guard of its mode has fallen at its time."""
        out = super().after(guard, s, u)
        uv = np.array(self.system.foot(out.x, out.p)).ravel()
        near = TOUCHING if out.mode in CONTACT_MODES else -TOUCHING
        others = [
            f
            for f in closest_points(self.system, out.p, out.x)
            if f.gap <= near and math.dist(f.uv, _in_period(self._periods, uv)) > SAME
        ]
        if not others:
            return out
        return out.noted(
            'several_contacts', _told([ClosestPoint((uv[0], uv[1]), 0.0), *others]), ends=True
        )


def _told(points: list[ClosestPoint]) -> str:
    places = ', '.join(f'({f.uv[0]:.6g}, {f.uv[1]:.6g})' for f in points)
    return f'the object touches the hand in several points (u_h, v_h): {places}'


def _box(system: HybridContactSystem, p: Array) -> tuple[Array, Array]:
    """Return least and greatest (u, v) in which closest points are sought."""
    low, high = system.hand_surface.box()
    edges = p[system.parameters.slice('hand_edges')].reshape(2, 2)
    near = np.abs(edges) < FAR
    return np.where(near[:, 0], edges[:, 0], low), np.where(near[:, 1], edges[:, 1], high)


def _in_period(periods: tuple[float | None, float | None], uv: Array) -> tuple[float, float]:
    """Return coordinates from -half to half a period."""
    u, v = (
        float(value) if not period else float(math.remainder(value, period))
        for value, period in zip(uv, periods, strict=True)
    )
    return u, v
