"""
Contact coordinates (u_o, v_o, u_h, v_h, psi) on the first charts, followed along an integration.

The frame of a chart turns by half a turn while the contact passes its pole, however short the
time. Between a time before and a time after the pole, the angle alone does not determine the
direction. So the path between them is halved until the contact frames turn little.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import cast, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.surfaces.surface import (
    locate_on_chart,
    POLE,
    regularity,
    regularity_function,
    Surface,
)

PARTS = 4  # of a step, at least
TURN = 0.5  # rad, maximum turn of a body or contact frame from one instant to the next
HALVINGS = 50  # beyond, the path leads through the pole itself
STEPS = 2048  # processed at once
HALF = 1e-6  # rad, within which a turn of -pi is one of pi


class Charted(NamedTuple):
    """
    Contacts on the first charts of both surfaces.

    Attributes
    ----------
    q
        u_o, v_o, u_h, v_h, psi; psi within half a turn of zero, shape (N, 5).
    axes
        x of Co in O and x of Ch in H, shape (N, 6).
    turning
        Rate at which the object turns in the hand and the contact moves over the bodies [rad/s].
    regular_o, regular_h
        Whether the charts of object and hand are regular there.

    """

    q: Array
    axes: Array
    turning: Array
    regular_o: NDArray[np.bool_]
    regular_h: NDArray[np.bool_]


def charted(system: ContactSystem, p: ArrayLike, states: Array) -> Charted:
    """
    Return contacts on the first charts of both surfaces.

    Parameters
    ----------
    system
        The system on the charts of the states.
    p
        Its parameters.
    states
        Shape (N, n).

    """
    p = np.asarray(p, dtype=float)
    rows = np.array(_chart_function(system)(states.T, p)).T
    uv, psi, axes, turning, regular, p_OC, R_ChO = np.split(rows, (4, 5, 11, 12, 14, 17), axis=1)
    if system.object_surface.chart.inverse is None and not _stands_on_first(system):
        uv[:, :2], R_OCo, regular[:, 0] = _searched(system, p, p_OC)
        axes[:, :3] = R_OCo[:, :, 0]
        R = np.einsum('nji,njk->nik', R_ChO.reshape(-1, 3, 3), R_OCo)  # vec goes by columns
        psi = np.arctan2(-R[:, 0, 1] - R[:, 1, 0], R[:, 0, 0] - R[:, 1, 1])[:, None]
    good = regular > POLE
    return Charted(np.hstack([uv, psi]), axes, turning[:, 0], good[:, 0], good[:, 1])


class ContactCoordinates:
    """
    Follows contact coordinates, a :class:`Follower`; they are NaN at the poles of their charts.

    A path through the pole itself counts as half a turn forward.
    """

    def __init__(self, system: ContactSystem, p: ArrayLike) -> None:
        """Follow the contact of these bodies, whose parameters are p."""
        surfaces = (system.object_surface, system.hand_surface)
        periods = [period for s in surfaces for period in s.chart.periods]
        self._p = np.asarray(p, dtype=float)
        self._period = np.array([period or np.inf for period in periods] + [2 * np.pi])
        self._last: Array | None = None

    def along(
        self,
        system: RollingSystem,
        borders: Array,
        interpolate: Callable[[Array], Array],
        times: Array,
    ) -> Array:
        """
        Return (u_o, v_o, u_h, v_h, psi) at output times [s] of a segment, shape (M, 5).

        Units are the charts', psi in rad.
        """
        out = np.empty((times.size, 5))
        for first in range(0, borders.size - 1, STEPS):
            part = borders[first : first + STEPS + 1]
            last = first + STEPS + 1 >= borders.size
            here = (times >= part[0]) & ((times < part[-1]) | last)
            if first == 0:
                here |= times < part[0]
            out[here] = self._part(system, part, interpolate, times[here])
        return out

    def at(self, system: RollingSystem, x: Array) -> Array:
        """
        Return the coordinates at the end of the motion so far.

        Shape (5,), units as of ``along``.
        """
        contacts = charted(cast('ContactSystem', system), self._p, x[None, :])
        q = contacts.q[0]
        self._last = q if self._last is None else self._near(q, self._last)
        out: Array = _existing(self._last[None, :], contacts)[0]
        return out

    def _part(
        self,
        system: RollingSystem,
        borders: Array,
        interpolate: Callable[[Array], Array],
        times: Array,
    ) -> Array:
        contact = cast('ContactSystem', system)

        def look(instants: Array) -> Charted:
            return charted(contact, self._p, interpolate(instants))

        instants = _divided(borders)
        contacts = look(instants)
        for _ in range(HALVINGS):
            between = _middles(instants, contacts)
            if not between.size:
                break
            where = np.searchsorted(instants, between)
            new = look(between)
            instants = np.insert(instants, where, between)
            contacts = Charted(
                *(np.insert(a, where, b, axis=0) for a, b in zip(contacts, new, strict=True))
            )
        q = contacts.q
        start = q[0] if self._last is None else self._near(q[0], self._last)
        steps = np.nan_to_num(self._wrapped(np.diff(q, axis=0)))
        followed = start + np.vstack([np.zeros(5), np.cumsum(steps, axis=0)])
        self._last = followed[-1]
        if not times.size:
            return np.empty((0, 5))
        k = np.clip(np.searchsorted(instants, times), 1, instants.size - 1)
        k -= times - instants[k - 1] < instants[k] - times  # the nearer one
        there = look(times)
        return _existing(self._near(there.q, followed[k]), there)

    def _near(self, q: Array, reference: Array) -> Array:
        """Return coordinates shifted by whole turns to be closest to a reference."""
        return reference + self._wrapped(q - reference)

    def _wrapped(self, d: Array) -> Array:
        """Return differences within half a period of zero."""
        turns = np.round((d - HALF) / self._period)
        out: Array = d - np.where(turns == 0, 0.0, self._period) * turns
        return out


def _existing(q: Array, contacts: Charted) -> Array:
    """Return coordinates, NaN where they do not exist."""
    out = q.copy()
    out[~contacts.regular_o, :2] = np.nan
    out[~contacts.regular_h, 2:4] = np.nan
    out[~(contacts.regular_o & contacts.regular_h), 4] = np.nan
    return out


def _divided(borders: Array) -> Array:
    """Return instants that divide every step evenly."""
    steps = np.diff(borders)
    starts = borders[:-1, None] + steps[:, None] * np.arange(PARTS) / PARTS
    return np.append(starts.ravel(), borders[-1])


def _middles(instants: Array, contacts: Charted) -> Array:
    """Return instants halfway where bodies or contact frames turn much."""
    apart = np.diff(instants)
    moves = np.maximum(contacts.turning[:-1], contacts.turning[1:]) * apart
    turns = np.diff(contacts.axes, axis=0)
    chord = np.maximum(np.linalg.norm(turns[:, :3], axis=1), np.linalg.norm(turns[:, 3:], axis=1))
    much = (moves > TURN) | (chord > TURN)
    middles = (instants[:-1] + apart / 2)[much]
    out: Array = middles[(middles > instants[:-1][much]) & (middles < instants[1:][much])]
    return out


def _stands_on_first(system: ContactSystem) -> bool:
    """Return whether a state has coordinates on the first chart of the object."""
    return 'contact_o' in system.state and system.object_chart == 0


@lru_cache(maxsize=64)
def _chart_function(system: ContactSystem) -> ca.Function:
    """
    Return ``(x, p) -> uv (4), psi, axes (6), turning, regularities (2), p_OC (3), R_ChO (9)``.

    Outputs on the object's first chart are NaN where its coordinates have to be searched for.
    """
    e, g = system.expressions, system.expressions.state.geometry
    op, hp = e.params['object_surface'], e.params['hand_surface']
    obj, hand = system.object_surface, system.hand_surface
    p_OC, n_H = g.R_HO.T @ g.r_OC, g.frame[:, 2]
    uv_h = _first(hand, g.p_HC, hp, e.values['contact_h'] if system.hand_chart == 0 else None)
    known_o = e.values['contact_o'] if _stands_on_first(system) else None
    uv_o = _first(obj, p_OC, op, known_o)
    if uv_o is None:
        uv_o, R_OCo, regular_o = ca.SX.nan(2), ca.SX.nan(3, 3), ca.SX.nan(1)
    else:
        R_OCo = (
            obj.geometry(uv_o, op).frame
            if known_o is not None
            else obj.contact_frame(p_OC, -(g.R_HO.T @ n_H), op)
        )
        regular_o = regularity(obj, uv_o, op)
    R_ChO = e.frame.T @ g.R_HO
    R = R_ChO @ R_OCo
    turning = ca.norm_2(e.state.w_HO_H) + ca.norm_2(g.n_rate)
    out = ca.vertcat(
        uv_o,
        uv_h,
        ca.atan2(-R[0, 1] - R[1, 0], R[0, 0] - R[1, 1]),  # R_psi, Appendix B-B
        R_OCo[:, 0],
        e.frame[:, 0],
        turning,
        regular_o,
        regularity(hand, uv_h, hp),
        p_OC,
        ca.vec(R_ChO),
    )
    return ca.Function('first_charts', [e.x, e.p], [ca.densify(out)])


def _first(surface: Surface, point: ca.SX, parameters: ca.SX, known: ca.SX | None) -> ca.SX | None:
    """Return coordinates on the first chart; None if there is no closed form."""
    if known is not None:
        return known
    if surface.chart.inverse is None:
        return None
    return ca.vertcat(*surface.chart.inverse(point, parameters))


def _searched(system: ContactSystem, p: Array, points: Array) -> tuple[Array, Array, Array]:
    """Return coordinates, contact frames and regularity of points of the object, by search."""
    surface, values = system.object_surface, system.parameters.unpack(p)['object_surface']
    uv = np.empty((len(points), 2))
    near = None
    for k, point in enumerate(points):
        uv[k] = near = locate_on_chart(surface, point, 0, values, near)
    frames = np.array(surface.numeric().map(len(uv))(uv.T, values)[1])
    regular = np.array(regularity_function(surface)(uv.T, values)).ravel()
    return uv, frames.T.reshape(-1, 3, 3).transpose(0, 2, 1), regular
