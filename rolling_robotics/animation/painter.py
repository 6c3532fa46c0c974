"""
Drawing a scene with depth: polygons from back to front on ordinary axes.

An orthographic camera looks at the scene; every face and every piece of a line is projected,
sorted by its distance from the camera, and drawn. The ground comes first, then lines on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
import math

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
import numpy as np
from rolling_dynamics.robots.view import CONE, FORCE
from rolling_robotics.scene.scene import (
    AXES,
    Body,
    Frame,
    GROUND,
    Line,
    Mesh,
    rotation_matrices,
    Scene,
    UNDER,
    Values,
    Wrench,
)

SEEN_THROUGH = 0.22  # opacity of a line behind a body
LIGHT = np.array([0.35, -0.45, 0.82])
TURN = np.linspace(0, 2 * np.pi, 17)
LIFT = 1e-3  # lines on a surface are drawn as if this much nearer, in sizes of the scene


@dataclass(frozen=True)
class Camera:
    """An orthographic camera: direction from which it looks [rad]."""

    azimuth: float
    elevation: float

    @property
    def rotation(self) -> Values:
        """Rows: right, up, and towards the camera, in the world."""
        a, e = self.azimuth, self.elevation
        back = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
        right = np.array([-math.sin(a), math.cos(a), 0.0])
        return np.array([right, np.cross(back, right), back])


# Polygons of one instant, to be sorted: corners as the camera sees them, depths, colours of faces
# and edges, and widths of lines.
_Pile = list[tuple[Values, ...]]


def extent(scene: Scene, camera: Camera) -> tuple[Values, Values]:
    """Return the bounds of everything on the picture, shape (2,) each [m]."""
    points = []
    for body in scene.bodies:
        drawn = [*(m.vertices for m in body.meshes), *(line.points for line in body.lines)]
        if not drawn:
            continue
        vertices = np.vstack(drawn)
        steps = np.unique(np.linspace(0, len(body.position) - 1, 60).astype(int))
        turned = rotation_matrices(body.attitude[steps])
        world = np.einsum('tij,nj->tni', turned, vertices) + body.position[steps][:, None]
        points.append((world @ camera.rotation.T)[:, :, :2].reshape(-1, 2))
    every = np.vstack(points)
    low, high = every.min(axis=0), every.max(axis=0)
    pad = 0.02 * np.max(high - low)
    return low - pad, high + pad


class Painter:
    """Draws instants of a scene on axes."""

    def __init__(self, axes: Axes, scene: Scene, camera: Camera) -> None:
        """
        Prepare the axes.

        Parameters
        ----------
        axes
            Where to draw.
        scene
            What to draw, at the times of the pictures.
        camera
            From where.

        """
        self._axes, self._scene, self._camera = axes, scene, camera
        self._drawn: list[PolyCollection] = []
        self._remaining = [scene.remaining(ghost) for ghost in scene.ghosts]
        low, high = extent(scene, camera)
        self._size = float(np.max(high - low))
        axes.set_xlim(low[0], high[0])
        axes.set_ylim(low[1], high[1])
        axes.set_aspect('equal')
        axes.axis('off')

    def draw(self, k: int) -> None:
        """Draw an instant in place of the one before."""
        for old in self._drawn:
            old.remove()
        self._drawn = []
        piles: list[_Pile] = [[] for _ in range(4)]
        under, ground, marks, above = piles
        for body in self._scene.bodies:
            here = (ground, marks) if body.layer == GROUND else (above, above)
            self._add_body(under, ground, *here, body, k)
        for ghost, remains in zip(self._scene.ghosts, self._remaining, strict=True):
            self._add_body(under, ground, above, above, ghost, k, float(remains[k]))
        self._add_traces(marks, above, k)
        self._add_contact(above, k)
        for order, pile in enumerate(piles):
            self._show(pile, order + 1)
        self._show(marks, 5, opacity=SEEN_THROUGH)

    def _show(self, pile: _Pile, order: int, *, opacity: float | None = None) -> None:
        if not pile:
            return
        corners, depths, faces, edges, widths = map(np.concatenate, zip(*pile, strict=True))
        by_depth = np.argsort(depths, kind='stable')
        collection = PolyCollection(
            list(corners[by_depth]),
            facecolors='none' if opacity else faces[by_depth],
            edgecolors=edges[by_depth],
            linewidths=widths[by_depth],
            zorder=order,
            alpha=opacity,
        )
        self._axes.add_collection(collection, autolim=False)
        self._drawn.append(collection)

    def _viewed(self, points: Values, item: Body | Frame, k: int) -> Values:
        """Return points of a body or a frame as the camera sees them."""
        R = rotation_matrices(item.attitude[k : k + 1])[0]
        viewed: Values = (points @ R.T + item.position[k]) @ self._camera.rotation.T
        return viewed

    @staticmethod
    def _add(
        pile: _Pile, corners: Values, faces: Values, edges: Values, width: float, lift: float
    ) -> None:
        """Add polygons: corners as the camera sees them (M, 4, 3), colours (M, 4)."""
        depths = corners[:, :, 2].mean(axis=1) + lift
        pile.append((corners[:, :, :2], depths, faces, edges, np.full(len(corners), width)))

    def _add_body(
        self,
        under: _Pile,
        ground: _Pile,
        faces: _Pile,
        lines: _Pile,
        body: Body,
        k: int,
        opacity: float = 1.0,
    ) -> None:
        for mesh in body.meshes:
            pile = {UNDER: under, GROUND: ground}.get(mesh.layer, faces)
            self._add_mesh(pile, mesh, self._viewed(mesh.vertices, body, k))
        for line in body.lines:
            self._add_line(lines, line, self._viewed(line.points, body, k), 0.0, opacity)

    def _add_mesh(self, pile: _Pile, mesh: Mesh, viewed: Values) -> None:
        corners = viewed[mesh.faces]
        normals = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
        towards = normals[:, 2]
        opacity = mesh.opacity
        hides = mesh.closed and opacity == 1
        shown = towards > -1e-9 if hides else np.ones(len(towards), bool)
        light = normals @ (self._camera.rotation @ LIGHT)
        shade = 0.62 + 0.38 * np.clip(np.where(towards < 0, -light, light), 0, 1)
        rgba = np.column_stack([mesh.colours * shade[:, None], np.full(len(shade), opacity)])[
            shown
        ]
        # an opaque face covers the seam to its neighbour, a transparent one would double there
        edges = rgba if opacity == 1 else np.zeros_like(rgba)
        self._add(pile, corners[shown], rgba, edges, 0.4, 0.0)

    def _add_line(
        self, pile: _Pile, line: Line, viewed: Values, lift: float, opacity: float = 1.0
    ) -> None:
        if len(viewed) < 2:
            return
        pieces = np.stack([viewed[:-1], viewed[1:], viewed[1:], viewed[:-1]], axis=1)
        pieces = pieces[np.isfinite(pieces).all(axis=(1, 2))]
        rgba = np.tile([*line.colour, opacity], (len(pieces), 1))
        self._add(pile, pieces, np.zeros_like(rgba), rgba, line.width, lift)

    def _add_traces(self, marks: _Pile, above: _Pile, k: int) -> None:
        for trace in self._scene.traces:
            line = Line(points=trace.points[: k + 1], colour=trace.colour, width=1.8)
            if not trace.body:
                self._add_line(marks, line, line.points @ self._camera.rotation.T, 0.0)
                continue
            body = self._scene.body(trace.body)
            viewed = self._viewed(line.points, body, k)
            if GROUND in (body.layer, *(m.layer for m in body.meshes)):
                self._add_line(marks, line, viewed, 0.0)
                continue
            if all(m.opacity == 1 for m in body.meshes):
                viewed = np.where(self._behind(viewed, body, k)[:, None], np.nan, viewed)
            self._add_line(above, line, viewed, LIFT * self._size)

    def _behind(self, viewed: Values, body: Body, k: int) -> Values:
        """Report which points of a convex body face away from the camera."""
        centre = self._camera.rotation @ body.position[k]
        hidden: Values = viewed[:, 2] < centre[2]
        return hidden

    def _add_contact(self, pile: _Pile, k: int) -> None:
        near = 10 * self._size
        for frame in self._scene.frames:
            if np.isfinite(frame.attitude[k]).all():
                self._add_frame(pile, frame, k, near)
                if frame.wrench is not None:
                    self._add_force(pile, frame, frame.wrench, k, near)

    def _add_force(self, pile: _Pile, frame: Frame, wrench: Wrench, k: int, near: float) -> None:
        force = wrench.force[k] * wrench.scale
        if not np.isfinite(force).all() or force[2] <= 0:
            return
        rim = np.column_stack(
            [
                wrench.mu[k] * force[2] * np.cos(TURN),
                wrench.mu[k] * force[2] * np.sin(TURN),
                np.full(len(TURN), force[2]),
            ]
        )
        sides = np.array([[np.zeros(3), a, b, b] for a, b in pairwise(rim)])
        viewed = self._viewed(sides.reshape(-1, 3), frame, k)
        rgba = np.tile([*CONE, 0.10], (len(sides), 1))
        self._add(pile, viewed.reshape(-1, 4, 3), rgba, np.zeros_like(rgba), 0.0, near)
        for points, colour, width in (
            (rim, CONE, 1.2),
            (np.array([np.zeros(3), force]), FORCE, 2.6),
        ):
            line = Line(points=points, colour=colour, width=width)
            viewed = self._viewed(points, frame, k)
            self._add_line(pile, line, viewed, near)

    def _add_frame(self, pile: _Pile, frame: Frame, k: int, near: float) -> None:
        for axis in range(3):
            points = np.array([np.zeros(3), 0.05 * self._size * np.eye(3)[axis]])
            viewed = self._viewed(points, frame, k)
            self._add_line(pile, Line(points=points, colour=AXES[axis], width=1.4), viewed, near)
