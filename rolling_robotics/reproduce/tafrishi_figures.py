"""Figures 4 and 5 of Tafrishi et al., as published and corrected side by side."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.simulation import simulate
from rolling_dynamics.spin_rolling_sphere import SpinRollingSphere
from rolling_robotics.figures.style import COLOURS, GREY
from rolling_robotics.reproduce.drawings import write_drawings
from rolling_robotics.reproduce.tafrishi import G_F, LENGTH, RADIUS, SETS

VARIANTS = {'as_published': 'as published', 'corrected': 'corrected'}
THETAS = np.linspace(-math.pi, math.pi, 241)


def draw_all(folder: Path) -> list[Path]:
    """Write both figures as PNG and return the files."""
    return write_drawings(folder, 'tafrishi', {'figure_4': figure_4, 'figure_5': figure_5})


def figure_4() -> Figure:
    """Return figure 4: a direction on the plane by several inputs, and the paths on the sphere."""
    figure = Figure(figsize=(9.0, 7.6), layout='constrained')
    for column, (variant, title) in enumerate(VARIANTS.items()):
        plane = figure.add_subplot(2, 2, 1 + column)
        sphere = figure.add_subplot(2, 2, 3 + column, projection='3d')
        _wire(sphere)
        for colour, inputs in zip(COLOURS, SETS, strict=False):
            points, normals = _roll(variant, inputs)
            words = ', '.join(f'{v:g}' for v in inputs)
            plane.plot(*points.T, color=colour, label=rf'$\alpha,\beta,\gamma$ = {words}')
            plane.plot(*points[-1], 'o', color=colour, markersize=5)
            sphere.plot(*normals.T, color=colour)
        end = LENGTH * np.array([math.cos(G_F), math.sin(G_F)])
        plane.plot([0, end[0]], [0, end[1]], '--', color=GREY, linewidth=1, zorder=0)
        plane.set(title=f'plane, {title}', xlabel=r'$u_s$ [m]', ylabel=r'$v_s$ [m]')
        plane.set_aspect('equal', adjustable='datalim')
        plane.legend(loc='upper left')
        sphere.set_title(f'sphere, {title}')
    figure.suptitle(r'Figure 4: $G_f$ = 30 deg for 6 m of arc length; inputs chosen, not printed')
    return figure


def _roll(
    variant: str, inputs: tuple[float, float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the contact on the plane [m] and on the unit sphere along the arc length."""
    system = SpinRollingSphere(inputs='direction', variant=variant)
    x0 = system.state.pack(contact_s=[0, 0], q_SO=[1, 0, 0, 0])
    run = simulate(
        system,
        [RADIUS],
        x0,
        np.r_[inputs, G_F],
        LENGTH,
        t_eval=np.linspace(0, LENGTH, 301),
        rtol=1e-9,
        atol=1e-10,
    )
    normals = np.array([-np.array(system.attitude(x))[2] for x in run.states])
    return run.states[:, :2], normals


def _wire(axes: Any) -> None:  # noqa: ANN401 (axes in space have no types)
    """Draw the sphere as lines."""
    u, v = np.mgrid[-math.pi : math.pi : 25j, -math.pi / 2 : math.pi / 2 : 13j]
    axes.plot_wireframe(
        -np.sin(u) * np.cos(v),
        np.sin(v),
        -np.cos(u) * np.cos(v),
        color=GREY,
        linewidth=0.4,
        alpha=0.5,
    )
    axes.set_box_aspect((1, 1, 1))
    axes.set(
        xlabel='x', ylabel='y', zlabel='z', xticks=[-1, 0, 1], yticks=[-1, 0, 1], zticks=[-1, 0, 1]
    )


def figure_5() -> Figure:
    """Return figure 5: the drift on the plane for all theta: its components, its direction."""
    figure = Figure(figsize=(9.0, 6.4), layout='constrained')
    for column, (variant, title) in enumerate(VARIANTS.items()):
        velocity = np.array([_drift(variant, theta) for theta in THETAS])
        parts, arrows = (figure.add_subplot(2, 2, k + column) for k in (1, 3))
        degrees = np.degrees(THETAS)
        parts.plot(degrees, velocity[:, 0], color=COLOURS[0], label=r"$u_s'$")
        parts.plot(degrees, velocity[:, 1], '--', color=COLOURS[1], label=r"$v_s'$")
        speed = np.hypot(*velocity.T)
        parts.plot(degrees, speed, color=GREY, linewidth=1, label='speed')
        parts.set(
            title=f'drift, {title}',
            xlabel=r'$\theta$ [deg], $\phi = 0$',
            xticks=range(-180, 181, 90),
            ylim=(-1.9, 1.6),
        )
        parts.legend(loc='lower center', ncols=3)
        arrows.plot(*velocity.T, color=COLOURS[2])
        arrows.set(
            title=f"$(u_s', v_s')$ for all theta, {title}",
            xlabel=r"$u_s'$",
            ylabel=r"$v_s'$",
            xlim=(-1.6, 1.6),
            ylim=(-1.6, 1.6),
        )
        arrows.set_aspect('equal')
    figure.suptitle('Figure 5: the drift is always along 45 deg only with the printed sine')
    return figure


def _drift(variant: str, theta: float) -> NDArray[np.float64]:
    """Return the velocity of the contact on the plane per arc length without inputs."""
    system = SpinRollingSphere(inputs='virtual_surface', variant=variant)
    x = system.state.pack(contact_s=[0, 0], q_SO=[1, 0, 0, 0])
    return np.array(system.mode.dynamics(x, [0, 0, 0, theta, 0], 0, [RADIUS])).ravel()[:2]
