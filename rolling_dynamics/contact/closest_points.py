"""
Closest points of two bodies at given poses: where they touch, or their distance.

The closest points of two smooth surfaces, or the deepest ones of two that overlap, have opposite
normals that lie on one line. Newton's method finds that line from the best points of a grid.
"""

from __future__ import annotations

from functools import lru_cache
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contact.representation import support_point
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.rotations import inverse_2x2
from rolling_dynamics.surfaces.surface import locate_on_chart, Surface

GRID = 15  # starts along each chart direction of the hand
TRIES = 12
TOLERANCE = 1e-10  # residual over the size of the bodies; Newton's method converges to rounding
ITERATIONS = 60


class Touch(NamedTuple):
    """
    Closest points of two bodies, in the hand frame.

    Attributes
    ----------
    contact_h
        Chart coordinates of the point on the hand.
    contact_o
        Chart coordinates of the point on the object; NaN where its support function was used.
    p_HC_h, p_HC_o
        Points of hand and object [m].
    frame_H
        R_HCh, contact frame of the hand; third column out of the hand.
    gap
        Distance along the normal [m], negative where the bodies overlap.
    curvature_margin
        Smallest eigenvalue of -(H~_o + H_h) [1/m]; positive where they touch in one point.

    """

    contact_h: Array
    contact_o: Array
    p_HC_h: Array
    p_HC_o: Array
    frame_H: Array
    gap: float
    curvature_margin: float


def closest_points(
    object_surface: Surface,
    hand_surface: Surface,
    R_HO: ArrayLike,
    p_HO: ArrayLike,
    *,
    object_parameters: ArrayLike | None = None,
    hand_parameters: ArrayLike | None = None,
    object_chart: int = 0,
    hand_chart: int = 0,
    near: ArrayLike | None = None,
) -> Touch:
    """
    Return the closest points of an object and a hand.

    Parameters
    ----------
    object_surface, hand_surface
        The surfaces.
    R_HO, p_HO
        Attitude, shape (3, 3), and origin [m], shape (3,), of the object in the hand.
    object_parameters, hand_parameters
        Dimensions; the surfaces' own if None.
    object_chart, hand_chart
        Charts of the search.
    near
        Chart coordinates of the hand from which the search starts; a grid if None.

    Returns
    -------
    Touch
        Of several pairs of points, the closest with a definite relative curvature.

    Raises
    ------
    SurfaceError
        No pair of points with opposite normals on one line was found.

    """
    pose = np.concatenate([np.asarray(R_HO, float).T.ravel(), np.asarray(p_HO, float).ravel()])
    search = _Search(
        _Side.of(object_surface, object_chart, object_parameters),
        _Side.of(hand_surface, hand_chart, hand_parameters),
        pose,
    )
    found = []
    if near is not None and search.convex:
        y = search.solve(np.asarray(near, dtype=float))
        found = [y] if y is not None and hand_surface.is_inside(y[-2:], hand_chart) else []
    found = found or search.solve_all(search.starts(near))
    if not found:
        raise SurfaceError(
            f'no closest points of the object ({object_surface.name}) and the hand '
            f'({hand_surface.name}) were found for the object at p_HO = '
            f'{pose[9:].round(6).tolist()} m; place it above the surface of the hand'
        )
    best = min((search.touch(search.in_bounds(y, near)) for y in found), key=search.rank)
    if near is None:
        best = best._replace(contact_h=within_period(hand_surface, best.contact_h, hand_chart))
    return best._replace(contact_o=within_period(object_surface, best.contact_o, object_chart))


def within_period(surface: Surface, uv: Array, chart: int) -> Array:
    """
    Return the same chart coordinates (u, v), each period within half a period of zero.

    Their units are the chart's.
    """
    out = np.array(uv, dtype=float)
    for k, period in enumerate(surface.charts[chart].periods):
        if period and math.isfinite(out[k]):
            out[k] -= period * round(out[k] / period)
    return out


class _Side(NamedTuple):
    """A surface, the chart of the search, and dimensions."""

    surface: Surface
    chart: int
    values: Array

    @classmethod
    def of(cls, surface: Surface, chart: int, parameters: ArrayLike | None) -> _Side:
        given = surface.parameter_values if parameters is None else parameters
        return cls(surface, chart, np.asarray(given, dtype=float))

    @property
    def locates(self) -> bool:
        """True if points on the chart are searched for."""
        return self.surface.charts[self.chart].inverse is not None

    def is_inside(self, uv: Array) -> bool:
        return self.surface.is_inside(uv, self.chart)

    def normal(self, uv: Array) -> Array:
        known = self.surface.numeric(self.chart)(uv, self.surface.parameter_values)
        return np.array(known[1])[:, 2]


class _Search:
    """Newton's method with backtracking on a compiled residual."""

    def __init__(self, obj: _Side, hand: _Side, pose: Array) -> None:
        self._object, self._hand, self._pose = obj, hand, pose
        self.convex = obj.surface.support is not None and obj.surface.side == 'outside'
        functions = _functions(obj.surface, hand.surface, self.convex, obj.chart, hand.chart)
        # separate buffers, so that several threads may search at once
        self._residual, self._details = map(FastFunction, functions)
        for f in (self._residual, self._details):
            for buffer, value in zip(f.inputs[1:], (pose, obj.values, hand.values), strict=True):
                buffer[:] = value
        self._n = self._residual.inputs[0].size

    def starts(self, near: ArrayLike | None) -> Array:
        """Return start points on the hand, and also on an object that is not convex."""
        surface, chart, _ = self._hand
        on_hand = hand_starts(surface, chart, self._pose[9:], near)
        if self.convex:
            return on_hand
        on_object = hand_starts(self._object.surface, self._object.chart, np.zeros(3))
        # with each point on the hand, those on the object with opposite normals
        R = self._pose[:9].reshape(3, 3).T
        table = np.array([self._object.normal(uv) for uv in on_object]) @ R.T
        out = []
        for uv in on_hand:
            facing = table @ self._hand.normal(uv)
            facing[~np.isfinite(facing)] = 1.0
            out += [np.concatenate([on_object[k], uv]) for k in np.argsort(facing)[:3]]
        return np.array(out)

    def in_bounds(self, y: Array, near: ArrayLike | None) -> Array:
        """Return the same points within the bounds of the charts: a search may cross a pole."""
        (surface, chart, values), details, out = self._hand, self.details(y), y.copy()
        if self._hand.locates:
            out[-2:] = locate_on_chart(surface, details[0:3], chart, values, near)
        surface, chart, values = self._object
        if y.size == 4 and self._object.locates:
            # rows of R^T
            point_O = self._pose[:9].reshape(3, 3) @ (details[3:6] - self._pose[9:])
            out[:2] = locate_on_chart(surface, point_O, chart, values)
        return out

    def touch(self, y: Array) -> Touch:
        """Return the closest points at a root."""
        details = self.details(y)
        K = details[16:19]
        mean, half = (K[0] + K[2]) / 2, (K[0] - K[2]) / 2
        return Touch(
            contact_h=y[-2:].copy(),
            contact_o=np.full(2, math.nan) if self.convex else y[:2].copy(),
            p_HC_h=details[0:3],
            p_HC_o=details[3:6],
            frame_H=details[6:15].reshape(3, 3).T,
            gap=float(details[15]),
            curvature_margin=float(-mean - math.hypot(half, K[1])),
        )

    def rank(self, r: Touch) -> tuple[bool, bool, bool, float]:
        """Return the quantity that the best pair of points minimises."""
        return (
            not self._hand.is_inside(r.contact_h),
            not (self.convex or self._object.is_inside(r.contact_o)),
            not r.curvature_margin > 0,
            abs(r.gap),
        )

    def residual(self, y: Array) -> tuple[Array, Array]:
        """Return the residual and its Jacobian."""
        self._residual.inputs[0][:] = y
        out, n = self._residual.evaluate(), self._n
        return out[:n].copy(), out[n:].reshape(n, n).T.copy()

    def details(self, y: Array) -> Array:
        """Return points, frame, gap and curvature."""
        self._details.inputs[0][:] = y
        return self._details.evaluate().copy()

    def solve(self, y: Array) -> Array | None:
        """Return the root near y, accurate to rounding, or None."""
        r, J = self.residual(y)
        size = float(np.abs(r).max())
        for _ in range(ITERATIONS):
            improved = math.isfinite(size) and size > 0 and self._step(y, r, J, size)
            if not improved:
                break
            y, r, J, size = improved
        d = self.details(y)
        scale = max(float(np.abs(d[:6]).max()), 1e-300)
        return y if size <= TOLERANCE * min(scale, 1.0) else None

    def _step(
        self, y: Array, r: Array, J: Array, size: float
    ) -> tuple[Array, Array, Array, float] | None:
        try:
            step = np.linalg.solve(J, r)
        except np.linalg.LinAlgError:
            return None
        for halvings in range(20):
            trial = y - 0.5**halvings * step
            r_new, J_new = self.residual(trial)
            new = float(np.abs(r_new).max())
            if new < size:
                return trial, r_new, J_new, new
        return None

    def solve_all(self, starts: Array) -> list[Array]:
        """Return the roots found from the most promising starts."""
        order = np.argsort([np.abs(self.residual(y)[0]).max() for y in starts])
        roots = (self.solve(starts[k]) for k in order[: TRIES * self._n])
        return [y for y in roots if y is not None]


@lru_cache(maxsize=32)
def _functions(
    object_surface: Surface,
    hand_surface: Surface,
    convex: bool,
    object_chart: int,
    hand_chart: int,
) -> tuple[ca.Function, ca.Function]:
    """Return residual with Jacobian, and points, frame, gap and curvature, of the unknowns."""
    y, pose = ca.SX.sym('y', 2 if convex else 4), ca.SX.sym('pose', 12)
    op = ca.SX.sym('op', object_surface.parameters.numel())
    hp = ca.SX.sym('hp', hand_surface.parameters.numel())
    R, p = ca.reshape(pose[:9], 3, 3), pose[9:]
    hand = hand_surface.geometry(y[-2:], hp, hand_chart)
    n, tangent = hand.frame[:, 2], hand.frame[:, :2]
    if convex:  # the point of the object with the normal opposite to the hand's is known
        point_O, hessian = support_point(object_surface, -(R.T @ n), op)
        tangent_O = R.T @ tangent
        curvature = hand.curvature - inverse_2x2(tangent_O.T @ hessian @ tangent_O)
        tilt = ca.SX(0, 1)
    else:
        obj = object_surface.geometry(y[:2], op, object_chart)
        point_O = obj.position
        across = obj.frame[:, :2].T @ R.T @ tangent
        curvature = hand.curvature + across.T @ obj.curvature @ across
        tilt = tangent.T @ R @ obj.frame[:, 2]
    point = p + R @ point_O
    apart = point - hand.position
    residual = ca.vertcat(tangent.T @ apart, tilt)
    details = ca.vertcat(
        hand.position,
        point,
        ca.vec(hand.frame),
        ca.dot(n, apart),
        curvature[0, 0],
        curvature[0, 1],
        curvature[1, 1],
    )
    inputs, J = [y, pose, op, hp], ca.jacobian(residual, y)
    first, second = compiled(
        ca.Function(
            'touch_residual', inputs, [ca.densify(ca.vertcat(residual, ca.vec(ca.densify(J))))]
        ),
        ca.Function('touch_details', inputs, [ca.densify(details)]),
    )
    return first, second


def hand_starts(
    surface: Surface, chart: int, point: Array, near: ArrayLike | None = None
) -> Array:
    """
    Return a grid on a chart, shape (k, 2), in its units.

    Where unbounded, next to a point [m].
    """
    c = surface.charts[chart]
    if near is None:
        uv = (0.0, 0.0) if c.inverse is None else c.inverse(point, surface.parameter_values)
        centre = np.array(uv, dtype=float)
    else:
        centre = np.asarray(near, dtype=float)
    reach = max(1.0, float(np.linalg.norm(point)))
    axes = []
    for k in range(2):
        low, high = c.bounds[k]
        period = c.periods[k]
        if period:
            axis = centre[k] + period * np.arange(GRID) / GRID
        elif math.isfinite(low) and math.isfinite(high):
            axis = low + (high - low) * (np.arange(GRID) + 0.5) / GRID
        else:
            axis = np.clip(centre[k] + reach * np.linspace(-1, 1, GRID), low, high)
        axes.append(axis)
    grid = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, 2)
    return np.vstack([np.clip(centre, *np.array(c.bounds).T), grid])
