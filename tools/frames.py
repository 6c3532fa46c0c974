"""
Draw the frames of each system into `docs/images`, from its own poses and in the notation of docs.

    .venv/bin/python tools/frames.py [SYSTEM ...]

Each system is simulated by an example; its frames stand where `pose` of the system puts them, x in
red, y in green, z in blue.
"""

from __future__ import annotations

from dataclasses import replace
import math
from pathlib import Path
import sys
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np
from rolling_dynamics.scenario import load_scenario
from rolling_robotics.animation.painter import Camera, extent, Painter
from rolling_robotics.figures.states import STYLE
from rolling_robotics.result import simulate_scenario, simulation_result
from rolling_robotics.scene.general import scene_of
from rolling_robotics.scene.scene import AXES, GROUND, Scene, Values

IMAGES = Path(__file__).resolve().parents[1] / 'docs' / 'images'
CAMERA = Camera(math.radians(-60), math.radians(22))
LENGTH = 0.3  # of the axes, in sizes of what moves
FAINT = 0.25  # opacity of the bodies
# system, or a scenario of one: example, time [s], and the frame that each output of its pose is
SYSTEMS: dict[str, tuple[str, float, dict[str, str]]] = {
    'contact': ('ellipsoid_on_plate', 0.35, {'hand': 'H', 'object': 'O', 'contact': 'Ch'}),
    'butterfly': ('butterfly_plate', 0.9, {'hand': 'H', 'object': 'O', 'contact': 'Ch'}),
    'point_mass_ball': (
        'point_mass_ball',
        1.0,
        {'shell': 'B', 'mass_1': 'm1', 'mass_2': 'm2', 'mass_3': 'm3'},
    ),
    'point_mass_disk': (
        'point_mass_disk',
        1.0,
        {'shell': 'B', 'mass_1': 'm1', 'mass_2': 'm2', 'mass_3': 'm3', 'mass_4': 'm4'},
    ),
    'pendulum_sphere': (
        'pendulum_torque',
        1.0,
        {'shell': 'S', 'pendulum': 'P', 'contact': 'C'},
    ),
    'spin_rolling_sphere': ('spin_rolling_ball', 1.0, {'object': 'O', 'contact': 'C'}),
    'ball_balancer': ('ball_balancer', 0.2, {'plate': 'P', 'ball': 'B', 'contact': 'C'}),
    'machine': (
        'driven_shell',
        1.0,
        {'shell': 'S', 'yoke': 'Y', 'pendulum': 'P', 'contact': 'C'},
    ),
    'labyrinth': ('labyrinth', 0.5, {'plate': 'P', 'ball': 'B', 'contact': 'C'}),
}
WHOLE = ('butterfly',)  # whose hand is seen as a whole
# entries of an example, so that no two frames fall together
CHANGED: dict[str, dict[str, Any]] = {
    'labyrinth': {
        'ball': {'radius': 0.03, 'mass': 0.3},
        'board': {
            'restitution': 0.5,
            'hole_radius': 0.035,
            'walls': [
                [-0.14, -0.12, 0.14, -0.12],
                [0.14, -0.12, 0.14, 0.12],
                [0.14, 0.12, -0.14, 0.12],
                [-0.14, 0.12, -0.14, -0.12],
                [-0.02, -0.12, -0.02, 0],
            ],
            'holes': [[0.07, -0.06], [-0.09, 0.07]],
            'path': [[-0.08, -0.08], [0.1, 0.08]],
        },
        'speeds': ['0.3', '0.3'],
    },
    'contact': {
        'initial': {
            'hand': {'position': [0.05, -0.05, 0.03]},
            'object': {
                'position': [0.021727702338703202, -0.031493857760593616, 0.05670673079673069],
                'attitude': {'rpy': [0.2, 0.3, 0.4]},
            },
        }
    },
    'butterfly': {
        'initial': {
            'hand': {'position': [0.06, 0, 0.03]},
            'object': {
                'position': [0.0790257156697632, 0.0, 0.11299635216258655],
                'attitude': {'rpy': [0, 0.5, 0]},
            },
        }
    },
}


def frames_figure(name: str) -> Figure:
    """Return the picture of a system's frames."""
    example, time, letters = SYSTEMS[name]
    scenario = load_scenario({**load_scenario(example).raw, **CHANGED.get(name, {})})
    system = scenario.system
    run = simulate_scenario(scenario)
    k = int(np.argmin(np.abs(run.times - time)))
    scene = _faint(scene_of(simulation_result(scenario, run))).resampled(run.times[k : k + 1])
    poses = (np.array(X) for X in system.pose(run.states[k], scenario.p))
    frames = {'W': np.eye(4)} | {
        letters[n]: X for n, X in zip(system.pose.name_out(), poses, strict=True)
    }
    with mpl.rc_context({**STYLE, 'figure.constrained_layout.use': False}):
        figure = Figure(figsize=(5.2, 3.9))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        Painter(axes, scene, CAMERA).draw(0)
        low, high = extent(scene if name in WHOLE else _moving(scene), CAMERA)
        size = float(np.max(high - low))
        ends = []
        for letter, X in frames.items():
            here = [n for n, Y in frames.items() if np.allclose(Y[:3, 3], X[:3, 3], atol=1e-9)]
            text = ', '.join(here) if here[0] == letter else ''  # frames with one origin
            draw = _mark if letter.startswith('m') else _draw_frame
            ends.append(draw(axes, text, X, LENGTH * size))
        corners = np.vstack([low, high, *ends])
        margin = 0.12 * size
        axes.set_xlim(corners[:, 0].min() - margin, corners[:, 0].max() + margin)
        axes.set_ylim(corners[:, 1].min() - margin, corners[:, 1].max() + margin)
    return figure


def _moving(scene: Scene) -> Scene:
    """Return a scene without what lies under everything else, if there is more."""
    bodies = tuple(b for b in scene.bodies if b.layer != GROUND and b.meshes)
    return replace(scene, bodies=bodies or scene.bodies)


def _mark(axes: Axes, letter: str, X: Values, _: float) -> Values:
    """Mark the place of a point mass, and return it on the picture."""
    flat = (X[:3, 3] @ CAMERA.rotation.T)[None, :2]
    axes.plot(*flat.T, 'o', color='black', markersize=4, zorder=10)
    axes.annotate(letter, flat[0], (4, 4), textcoords='offset points', fontsize=8, zorder=12)
    return np.asarray(flat)


def _faint(scene: Scene) -> Scene:
    """Return a scene whose bodies can be looked through, without its own frames and traces."""
    bodies = tuple(
        replace(body, meshes=tuple(replace(m, opacity=FAINT) for m in body.meshes))
        for body in scene.bodies
    )
    return replace(scene, bodies=bodies, frames=(), traces=())


def _draw_frame(axes: Axes, letter: str, X: Values, length: float) -> Values:
    """Draw the axes of a frame with its letter, and return their ends on the picture."""
    tips = X[:3, 3] + length * np.vstack([np.zeros(3), X[:3, :3].T])
    flat = (tips @ CAMERA.rotation.T)[:, :2]
    for tip, colour, axis in zip(flat[1:], AXES, 'xyz', strict=True):
        axes.annotate(
            '',
            tip,
            flat[0],
            zorder=10,
            annotation_clip=False,
            arrowprops={'arrowstyle': '-|>', 'color': colour, 'linewidth': 1.4, 'shrinkA': 0},
        )
        text = flat[0] + 1.12 * (tip - flat[0])
        x, y = (float(v) for v in text)
        axes.text(x, y, axis, color=colour, fontsize=7, ha='center', va='center', zorder=11)
    x, y = (float(v) for v in flat[0] - 0.3 * (flat[1:].mean(axis=0) - flat[0]))
    axes.text(
        x,
        y,
        letter,
        fontsize=11,
        fontweight='bold',
        ha='center',
        va='top',
        zorder=12,
    )
    return np.asarray(flat)


def main() -> None:
    """Draw the systems that are named, or all."""
    for name in sys.argv[1:] or SYSTEMS:
        path = IMAGES / f'frames_{name}.png'
        frames_figure(name).savefig(path, dpi=110)
        print(path)


if __name__ == '__main__':
    main()
