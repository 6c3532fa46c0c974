"""Contact coordinates (u_o, v_o, u_h, v_h, psi) and contact state from poses and twists."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.conversions import posed_state
from rolling_dynamics.surfaces import Surface

SWITCH_BELOW = 0.3  # regularity of the object's chart below which a better one is searched for
CLOSE = 1e-9  # maximum distance of a point from that of its coordinates [m]
LAST_STEP = 1e-8  # tolerance; the method converges quadratically [m]
FOLLOW_STEPS = 8  # from the last contact; four are enough within a millimetre
OFF_POLE = 1e-9  # of a chart's bounds: distance from a pole at which its frame is taken there

OBJECT, HAND = 0, 1
NAMES = ('u_o', 'v_o', 'u_h', 'v_h', 'psi')
APART = 5e-3  # m between the bodies beyond which the contact is also searched for elsewhere
REACH = 0.25  # fraction of the chart within which Newton's method is trusted
PLACES = (6, 2)  # of the hand's chart, to search for an object that was moved

Searched = tuple[bool, float, Array]


class ContactView:
    """
    Reports where bodies touch: on the first chart of the hand, and on the object's that fits best.

    Ch is thus the same frame as in every topic and file. Angles lie within half a turn of zero,
    since a message has no history.
    """

    def __init__(self, object_surface: Surface, hand_surface: Surface) -> None:
        """Use these two surfaces."""
        self._surfaces = (object_surface, hand_surface)
        self._charts = [0, 0]
        self._near: list[Array | None] = [None, None]
        self._evaluate = [
            [_evaluator(surface, c) for c in range(len(surface.charts))]
            for surface in self._surfaces
        ]

    @property
    def charts(self) -> tuple[str, str]:
        """Names of the charts in use, of the object and of the hand."""
        o, h = (s.charts[c].name for s, c in zip(self._surfaces, self._charts, strict=True))
        return o, h

    def coordinates(self, X_WO: Array, X_WH: Array, p_WC: Array) -> tuple[Array, Array]:
        """
        Return the contact coordinates and the contact frame of the object.

        Parameters
        ----------
        X_WO, X_WH
            Poses of object and hand, shape (4, 4).
        p_WC
            Contact point in the world [m].

        Returns
        -------
        q
            u_o, v_o, u_h, v_h, psi; shape (5,).
        X_OCo
            Pose of the contact frame of the object, shape (4, 4).

        """
        uv_o, R_OCo, p_OC = self._locate(OBJECT, X_WO, p_WC)
        uv_h, R_HCh, _ = self._locate(HAND, X_WH, p_WC)
        R_ChCo = (X_WH[:3, :3] @ R_HCh).T @ X_WO[:3, :3] @ R_OCo
        psi = math.atan2(-R_ChCo[1, 0], R_ChCo[0, 0])  # R_psi, Woodruff & Lynch, Eq. (2)
        X_OCo = np.eye(4)
        X_OCo[:3, :3], X_OCo[:3, 3] = R_OCo, p_OC
        return np.array([*uv_o, *uv_h, psi]), X_OCo

    def _locate(self, body: int, X_WB: Array, p_WC: Array) -> tuple[Array, Array, Array]:
        surface = self._surfaces[body]
        p_BC = X_WB[:3, :3].T @ (p_WC - X_WB[:3, 3])
        chart = self._charts[body]
        near = self._near[body]
        uv = None if near is None else self._follow(body, p_BC, near)
        if uv is None:
            uv = surface.locate(p_BC, chart, near)
        worth, R = self._geometry(body, chart, uv)
        if body == OBJECT and len(surface.charts) > 1 and worth < SWITCH_BELOW:
            places = [surface.locate(p_BC, c) for c in range(len(surface.charts))]
            seen = [self._geometry(body, c, place) for c, place in enumerate(places)]
            best = int(np.argmax([w for w, _ in seen]))
            if best != chart:
                self._charts[body], uv, R = best, places[best], seen[best][1]
        if surface.charts[self._charts[body]].inverse is None:
            self._near[body] = uv  # start of the next search
        return uv, R, p_BC

    def _follow(self, body: int, p_BC: Array, near: Array) -> Array | None:
        """
        Return (u, v) of a point close to a known one by Gauss-Newton steps; None where they fail.

        The search of the surface is too slow for a loop of 1 kHz.
        """
        surface, chart, (u, v) = self._surfaces[body], self._charts[body], near.tolist()
        for _ in range(FOLLOW_STEPS):
            frame, (t_uu, _, t_uv, t_vv), point = self._first_order(body, chart, (u, v))
            error = frame.T @ (point - p_BC)  # F_u, F_v = (x, y) T, and T is upper triangular
            x, y, n = error.tolist()
            dv = y / t_vv if t_vv else math.inf
            du = (x - t_uv * dv) / t_uu if t_uu else math.inf
            u, v = u - du, v - dv
            if not math.isfinite(u + v):
                return None
            if math.hypot(x, y) < LAST_STEP:
                found = np.array([u, v])
                return found if abs(n) < CLOSE and surface.is_inside(found, chart) else None
        return None

    def _geometry(self, body: int, chart: int, uv: Array) -> tuple[float, Array]:
        """Return the regularity of the chart, 0 (degenerate) to 1, and the contact frame."""
        frame, scale, _ = self._first_order(body, chart, uv)
        if not math.isfinite(frame.sum() + sum(scale)):  # x still follows u at the pole of a chart
            low, high = np.array(self._surfaces[body].charts[chart].bounds).T
            frame, scale, _ = self._first_order(
                body, chart, np.clip(uv, low + OFF_POLE, high - OFF_POLE)
            )
        a, _, b, d = scale
        return abs(a * d) / max((a * a + b * b + d * d) / 2, 1e-300), frame

    def _first_order(
        self, body: int, chart: int, uv: ArrayLike
    ) -> tuple[Array, list[float], Array]:
        """Return the contact frame, T by columns and the point of the body."""
        out = self._evaluate[body][chart](uv, self._surfaces[body].parameter_values)
        return out[:9].reshape(3, 3, order='F'), out[9:13].tolist(), out[13:]


def _evaluator(surface: Surface, chart: int) -> FastFunction:
    """Return ``(uv, parameters) -> frame (9), T (4), point (3)``."""
    uv, p = ca.SX.sym('uv', 2), ca.SX.sym('p', surface.parameters.numel())
    geometry = surface.geometry(uv, p, chart)
    out = ca.vertcat(ca.vec(geometry.frame), ca.vec(geometry.scale), geometry.position)
    return FastFunction(compiled(ca.Function('contact_view', [uv, p], [ca.densify(out)]))[0])


class Source(Protocol):
    """Makes a state of poses and twists of hand and object, 13 numbers each."""

    def state(self, hand: ArrayLike, object_: ArrayLike) -> tuple[Array, float]:
        """Return the state, and the gap between the bodies [m]."""
        ...

    def restart(self) -> None:
        """Start again after an invalid state."""


class StateSource:
    """
    Converts poses and twists of hand and object to the state, in a fixed number of iterations.

    The object is taken to touch the hand: a measured gap is projected away along the normal, and
    the contact point rolls without slipping.
    """

    def __init__(self, system: ContactSystem, params: ArrayLike, contact_h: ArrayLike) -> None:
        """
        Compile the conversion.

        Parameters
        ----------
        system
            A system in the representation ``attitude``.
        params
            Its parameters p.
        contact_h
            Chart coordinates of the hand near the initial contact.

        """
        self._start = np.array(contact_h, dtype=float)
        self._near = self._start.copy()
        self._contact = system.state.slice('contact_h')
        self._size = system.state.size
        self._convert = FastFunction(compiled(posed_state(system))[0])
        self._params = np.asarray(params, dtype=float)
        low, high = system.hand_surface.box()
        self._reach = REACH * (high - low)
        grid = (np.indices(PLACES).reshape(2, -1).T + 0.5) / PLACES
        self._places = low + grid * (high - low)

    def _searched(self, hand: ArrayLike, object_: ArrayLike, near: Array) -> Searched:
        """
        Return whether Newton's method went far away, the remaining distance [m], and its result.

        Far away it may end a full turn from the correct point, which a chart without a period
        takes for another point.
        """
        out = self._convert(hand, object_, near, self._params)
        apart = math.hypot(*out[self._size :].tolist())
        far = bool((abs(out[self._contact] - near) > self._reach).any())
        return far, apart if math.isfinite(apart) else math.inf, out

    def restart(self) -> None:
        """Search from the first contact point again."""
        self._near = self._start.copy()

    def state(self, hand: ArrayLike, object_: ArrayLike) -> tuple[Array, float]:
        """
        Return the state and the gap between the bodies.

        Parameters
        ----------
        hand, object_
            q (w, x, y, z), p [m] in the world, w [rad/s], v [m/s] in the body; 13 numbers each.

        Returns
        -------
        x
            Shape (state.size,).
        gap
            Distance along the normal [m]; negative where the bodies overlap.

        """
        best = self._searched(hand, object_, self._near)
        if best[:2] > (False, APART):  # it was moved: its old position misleads
            others = (self._searched(hand, object_, uv) for uv in (self._start, *self._places))
            best = min((best, *others), key=itemgetter(0, 1))
        out = best[2]
        x, gap = out[: self._size], float(out[self._size])
        if np.all(np.isfinite(x)):
            self._near = x[self._contact]
        return x, gap
