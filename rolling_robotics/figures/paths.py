"""Paths of the contact point over both surfaces."""

from __future__ import annotations

import math
from typing import Any, cast, TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d import Axes3D  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.surfaces.surface import Surface, surface_points
from rolling_robotics.figures.style import COLOURS, END, GREY, START, WIDTH
from rolling_robotics.result_arrays import Arrays, Values
from rolling_robotics.scene.meshes import drawn_box

if TYPE_CHECKING:
    from rolling_dynamics.contact import ContactSystem
    from rolling_dynamics.hybrid_contact import HybridContactSystem

MESH = 49  # lines of a surface along each coordinate


def paths_figure(arrays: Arrays) -> Figure | None:
    """Return the path over the hand, in the plane or in space, and the path over the object."""
    if 'p_HC' not in arrays or 'p_OC' not in arrays:
        return None
    system = cast(
        'ContactSystem | HybridContactSystem', load_scenario(arrays.result['scenario']).system
    )
    figure = Figure(figsize=(WIDTH, 3.7), layout=ConstrainedLayoutEngine(wspace=0.12))
    if system.hand_surface.name == 'plane':
        left = figure.add_subplot(1, 2, 1)
        _plane(left, arrays)
    else:
        left = figure.add_subplot(1, 2, 1, projection='3d')
        box = drawn_box(system.hand_surface, arrays['contact_h'], _edges(arrays))
        left.view_init(elev=35, azim=-60)
        _space(left, system.hand_surface, arrays['p_HC'], arrays['contact_h'], box)
    left.set_title('Path over the hand, in H')
    right = figure.add_subplot(1, 2, 2, projection='3d')
    points, contact_o = arrays['p_OC'], arrays['contact_o']
    middle = points.mean(axis=0)
    right.view_init(elev=18, azim=math.degrees(math.atan2(middle[1], middle[0])) + 15)
    box = drawn_box(system.object_surface, contact_o, None)
    _space(right, system.object_surface, points, contact_o, box)
    right.set_title('Path over the object, in O')
    entries = dict(zip(*reversed(left.get_legend_handles_labels()), strict=True))
    figure.legend(entries.values(), entries.keys(), loc='outside lower center', ncols=len(entries))
    return figure


def _edges(arrays: Arrays) -> Values:
    return np.array(arrays.result['parameters']['hand_edges']['values'], dtype=float)


def _ends(axes: Axes, *path: Values) -> None:
    size: dict[str, Any] = {'markersize': 7, 'markeredgewidth': 1.8, 'zorder': 10}
    axes.plot(*(c[:1] for c in path), color=COLOURS[1], label='start', **START, **size)
    axes.plot(*(c[-1:] for c in path), color=COLOURS[2], label='end', **END, **size)


def _plane(axes: Axes, arrays: Arrays) -> None:
    """Draw the path on a plane in metres, with goal and edges of the plate."""
    u, v = arrays['contact_h'].T
    axes.plot(u, v, color=COLOURS[0], label='contact')
    _ends(axes, u, v)
    goal = arrays.result.get('goal', {}).get('contact_h')
    if goal is not None:
        axes.plot(*goal['values'], 'k+', markersize=10, label='goal')
    axes.set_aspect('equal', adjustable='datalim')
    axes.set_xlabel('$u_h$ [m]')
    axes.set_ylabel('$v_h$ [m]')
    axes.margins(0.12)
    edges, size = _edges(arrays), max(np.ptp(u), np.ptp(v), 1e-9)
    if np.abs(edges).max() < 8 * max(size, np.abs(u).max(), np.abs(v).max()):
        corners = edges[[0, 1, 1, 0, 0]], edges[[2, 2, 3, 3, 2]]
        axes.plot(*corners, color=GREY, linewidth=1, label='edge')


def _space(axes: Axes3D, surface: Surface, points: Values, path: Values, box: Values) -> None:
    """Draw a surface in space with a path on it."""
    if surface.side == 'inside':  # a dish: only what is near the path, or it hides the path
        low, high = np.nanmin(path, axis=0), np.nanmax(path, axis=0)
        pad = 0.35 * np.max(high - low) + 0.05
        box = np.array([low - pad, high + pad])
    xyz = surface_points(surface, box, MESH)
    axes.plot_surface(
        *np.moveaxis(xyz, 2, 0),
        color='#e9e4d8',
        alpha=0.45,
        linewidth=0,
        rstride=2,
        cstride=2,
        antialiased=True,
        shade=True,
    )
    axes.plot_wireframe(
        *np.moveaxis(xyz, 2, 0), color='#8a8a8a', linewidth=0.3, rstride=6, cstride=6, alpha=0.6
    )
    hidden = _hidden(axes, surface, path)
    axes.plot(*points.T, color=COLOURS[0], linewidth=0.8, alpha=0.45, zorder=8)
    front = np.where(hidden[:, None], np.nan, points)
    axes.plot(*front.T, color=COLOURS[0], linewidth=1.7, zorder=9, label='contact')
    _ends(axes, *points.T)
    size = np.ptp(np.vstack([xyz.reshape(-1, 3), points]), axis=0)
    size = np.maximum(size, 0.15 * size.max())
    axes.set_box_aspect(size, zoom=0.82)
    axes.set_proj_type('ortho')
    for axis, name, length in zip(
        (axes.xaxis, axes.yaxis, axes.zaxis), 'xyz', size / size.max(), strict=True
    ):
        axis.set_label_text(f'${name}$ [m]')
        axis.set_major_locator(MaxNLocator(nbins=max(2, round(4 * length))))
        axis.set_tick_params(labelsize=7, pad=0)
        axis.labelpad = 3


def _hidden(axes: Axes3D, surface: Surface, path: Values) -> NDArray[np.bool_]:
    """Return where the surface faces away from the viewer."""
    elevation, azimuth = math.radians(axes.elev), math.radians(axes.azim)
    to_viewer = np.array(
        [
            math.cos(elevation) * math.cos(azimuth),
            math.cos(elevation) * math.sin(azimuth),
            math.sin(elevation),
        ]
    )
    frames = surface.numeric().map(len(path))(path.T, surface.parameter_values)[1]
    normals = np.array(frames).T.reshape(-1, 3, 3)[:, 2]
    away: NDArray[np.bool_] = normals @ to_viewer < 0
    return away
