"""Charts of the contact coordinates, and the change from one to another."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cached_property
import math
from typing import cast, TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.conversions import contact_view, convert_state
from rolling_dynamics.contact.equations import ContactExpressions
from rolling_dynamics.contract.capabilities import Rechart
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.quaternions import rotation_vector
from rolling_dynamics.surfaces.surface import (
    POLE,
    regularities,
    regularity,
    Surface,
)
from transforms3d.quaternions import mat2quat

if TYPE_CHECKING:
    from rolling_dynamics.contact.contact_system import ContactSystem

CHARTED = {'contact_o', 'contact_h', 'psi', 'w_HO_Ch'}  # entries that depend on charts
WORTH = 1.2  # factor by which another chart must be better for a change


class ContactAtlas:
    """Changes the charts under a state of a contact system, the motion staying the same."""

    def __init__(self, system: ContactSystem) -> None:
        """Manage the charts of a system."""
        self.system = system

    @cached_property
    def regularity(self) -> Mapping[str, ca.Function]:
        """
        Name -> ``(x, u, t, p) -> scalar``: 1 where a chart is best, 0 where it degenerates.

        Charts that are equally good everywhere, such as a plane's, are left out.
        """
        e, out = self.system.expressions, {}
        for name, surface, chart in self._in_use():
            body = name.removesuffix('_chart')
            contact = e.values[f'contact_{body[0]}']
            value = regularity(surface, contact, e.params[f'{body}_surface'], chart)
            value = ca.simplify(value)
            if ca.depends_on(value, e.x) and not _is_constant(value, e):
                out[name] = self.system.function(name, value)
        return out

    def rechart(
        self, name: str, p: ArrayLike, x: ArrayLike, worth: float = WORTH
    ) -> Rechart | None:
        """
        Return the state on the best chart of a body.

        Parameters
        ----------
        name
            ``object_chart`` or ``hand_chart``.
        p
            Parameters of the system.
        x
            State.
        worth
            Factor by which the other chart must be better.

        Returns
        -------
        Rechart or None
            None if no other chart is that much better.

        """
        system = self.system
        surface, chart = {n: (s, c) for n, s, c in self._in_use()}[name]
        if len(surface.charts) == 1:
            return None
        body = name.removesuffix('_chart')
        values = system.parameters.unpack(p)[f'{body}_surface']
        quality = regularities(surface, self._point(body, p, x), values)
        best = int(np.argmax(quality))
        if best == chart or not quality[best] > worth * quality[chart]:
            return None
        target = self._sibling(**{name: best})
        text = (
            f'{body}: from chart {surface.charts[chart].name!r} to {surface.charts[best].name!r}'
        )
        return Rechart(target, convert_state(system, target, p, x), text)

    def off_pole(self, p: ArrayLike, x: ArrayLike) -> Rechart | None:
        """
        Return a state at a pole of the hand's chart on the best of the others.

        Parameters
        ----------
        p
            Parameters of the system.
        x
            State.

        Returns
        -------
        Rechart or None
            None where the chart is regular or the only one. Also None for ``coordinates``, whose
            state does not determine the attitude at a pole.

        """
        system = self.system
        if 'contact_o' in system.state:
            return None
        uv = system.state.unpack(x)['contact_h']
        values = system.parameters.unpack(p)['hand_surface']
        here = system.hand_surface.regularity(uv, system.hand_chart, values)
        return None if here > POLE else self.rechart('hand_chart', p, x)

    def from_charts_of(self, source: RollingSystem, p: ArrayLike, x: ArrayLike) -> Array:
        """
        Convert a state of the same system on other charts to the charts of this one.

        Parameters
        ----------
        source
            The system on the charts of the state.
        p, x
            Parameters and state of the source.

        Returns
        -------
        Array
            Entries that depend on charts are NaN where one of them is degenerate.

        """
        system, out = self.system, np.array(x, dtype=float)
        with suppress(SurfaceError):
            found = convert_state(cast('ContactSystem', source), system, p, x)
            charts = charts_in_state(system).items()
            if all(s.regularity(found[system.state.slice(e)], c) > POLE for e, (s, c) in charts):
                return found
        for entry in CHARTED.intersection(e.name for e in system.state.entries):
            out[system.state.slice(entry)] = math.nan
        return out

    def has_alternatives(self, name: str) -> bool:
        """Return whether the surface has more than one chart."""
        return any(n == name and len(s.charts) > 1 for n, s, _ in self._in_use())

    def _in_use(self) -> list[tuple[str, Surface, int]]:
        system = self.system
        out = [('hand_chart', system.hand_surface, system.hand_chart)]
        if 'contact_o' in system.state:
            out.append(('object_chart', system.object_surface, system.object_chart))
        return out

    def _point(self, body: str, p: ArrayLike, x: ArrayLike) -> Array:
        p, x = np.asarray(p, dtype=float), np.asarray(x, dtype=float)
        R_HO, p_HC, r_OC, _, _ = (np.array(a) for a in contact_view(self.system)(x, p))
        return p_HC.ravel() if body == 'hand' else R_HO.T @ r_OC.ravel()

    def _sibling(self, **charts: int) -> ContactSystem:
        """Return the same bodies on other charts, built once."""
        system = self.system
        known: dict[tuple[int, int], ContactSystem] = system.__dict__.setdefault(
            '_siblings', {(system.object_chart, system.hand_chart): system}
        )
        key = (
            charts.get('object_chart', system.object_chart),
            charts.get('hand_chart', system.hand_chart),
        )
        if key not in known:
            known[key] = system.with_representation(
                system.representation.name, object_chart=key[0], hand_chart=key[1]
            )
            known[key].__dict__['_siblings'] = known
        return known[key]


def _is_constant(value: ca.SX, e: ContactExpressions) -> bool:
    """Return whether an expression that contains the state is constant, by sampling."""
    f = ca.Function('f', [e.x, e.p], [ca.jacobian(value, e.x)])
    rng = np.random.default_rng(0)
    x, p = rng.uniform(0.3, 1.2, f.size_in(0)), rng.uniform(0.5, 1.5, f.size_in(1))
    return bool(np.abs(np.array(f(x, p))).max() < 1e-12)


POLE_MARGIN = 0.02  # how near to the border of a chart of a closed surface a plan may come [chart]


def charts_in_state(system: ContactSystem) -> dict[str, tuple[Surface, int]]:
    """Return surface and chart of each entry of the state that has a chart."""
    charts = {
        'contact_o': (system.object_surface, system.object_chart),
        'contact_h': (system.hand_surface, system.hand_chart),
    }
    return {entry: chart for entry, chart in charts.items() if entry in system.state}


def chart_bounds(system: ContactSystem) -> dict[str, tuple[float, float]]:
    """Return bounds of the contact on charts that end where the surface continues."""
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
    """Return errors from a goal as lengths; see the capability ``ChartCoordinates``."""
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
