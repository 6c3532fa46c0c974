"""Markers of RViz as meshes and lines of a scene."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from rolling_robotics.scene.meshes import box_mesh, cylinder_mesh, moved_mesh, sphere_mesh
from rolling_robotics.scene.scene import Colour, layer_of, Line, Mesh, rotation_matrices, Values

CUBE, SPHERE, CYLINDER, LINE_STRIP, TRIANGLE_LIST = 1, 2, 3, 4, 11  # of visualization_msgs/Marker
ROUND = 12  # cells of a small ball


def marker_shapes(marker: Any) -> tuple[tuple[Mesh, ...], tuple[Line, ...]]:
    """Return what a marker looks like in its frame; nothing if its kind is not drawn."""
    rgba = (marker.color.r, marker.color.g, marker.color.b, marker.color.a)
    colour: Colour = (float(rgba[0]), float(rgba[1]), float(rgba[2]))
    if marker.type == TRIANGLE_LIST and len(marker.points):
        return (_placed(_triangles(marker), marker),), ()
    if marker.type == LINE_STRIP and len(marker.points) > 1:
        return (), (Line(points=_points(marker), colour=colour, width=1.5),)
    scale = np.array([marker.scale.x, marker.scale.y, marker.scale.z])
    opacity = float(rgba[3])
    if marker.type == SPHERE:
        ball = sphere_mesh(0.5, (colour, colour), opacity=opacity, cells=ROUND)
        return (_placed(replace(ball, vertices=ball.vertices * scale), marker),), ()
    if marker.type == CYLINDER:
        tin = cylinder_mesh(0.5, 0.5, (colour, colour), opacity=opacity)
        return (_placed(replace(tin, vertices=tin.vertices * scale), marker),), ()
    if marker.type == CUBE:
        box = box_mesh(scale.tolist(), colour, opacity=opacity)
        return (_placed(replace(box, layer=layer_of(marker.ns)), marker),), ()
    return (), ()


def _points(marker: Any) -> Values:
    return np.array([[p.x, p.y, p.z] for p in marker.points])


def _triangles(marker: Any) -> Mesh:
    points = _points(marker)
    corners = np.arange(len(points)).reshape(-1, 3)
    if len(marker.colors) == len(points):
        rgba = np.array([[c.r, c.g, c.b, c.a] for c in marker.colors])[::3]
    else:
        c = marker.color
        rgba = np.tile([c.r, c.g, c.b, c.a], (len(corners), 1))
    return Mesh(
        vertices=points,
        faces=corners[:, [0, 1, 2, 2]],
        colours=rgba[:, :3],
        opacity=float(rgba[:, 3].mean()),
        closed=False,
    )


def _placed(mesh: Mesh, marker: Any) -> Mesh:
    """Return a mesh at the pose of its marker."""
    p, q = marker.pose.position, marker.pose.orientation
    R = rotation_matrices(np.array([[q.w, q.x, q.y, q.z]]))[0]
    return moved_mesh(mesh, R, np.array([p.x, p.y, p.z]))
