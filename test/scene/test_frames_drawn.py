"""Diagrams of the frames in docs: one for each system, with the frames of its pose."""

import importlib.util
from pathlib import Path
import pkgutil

import numpy as np
import pytest
from rolling_dynamics.plugin import plugin_of
from rolling_dynamics.scenario import load_scenario
from rolling_robotics import plugins as shipped

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location('frames', ROOT / 'tools/frames.py')
frames = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(frames)


def test_every_system_has_its_diagram():
    drawn = {load_scenario(example).system.name for example, _, _ in frames.SYSTEMS.values()}
    assert drawn == {plugin_of(m.name).name for m in pkgutil.iter_modules(shipped.__path__)}
    notation = (ROOT / 'docs/notation.md').read_text(encoding='utf-8')
    for name in frames.SYSTEMS:
        assert (ROOT / f'docs/images/frames_{name}.png').stat().st_size > 10_000
        assert f'images/frames_{name}.png' in notation


@pytest.mark.parametrize('name', frames.SYSTEMS)
def test_letters_stand_for_the_outputs_of_the_pose(name):
    example, time, letters = frames.SYSTEMS[name]
    scenario = load_scenario(example)
    assert list(letters) == scenario.system.pose.name_out()
    assert 0 < time <= scenario.duration


def test_axes_are_drawn_where_the_pose_has_them():
    from matplotlib.figure import Figure

    X = np.eye(4)
    X[:3, 3] = 0.1, -0.2, 0.3
    seen = frames._draw_frame(Figure().subplots(), 'W', X, 0.5)
    right, up, _ = frames.CAMERA.rotation
    np.testing.assert_allclose(seen[0], [right @ X[:3, 3], up @ X[:3, 3]])
    np.testing.assert_allclose(seen[3] - seen[0], [0.5 * right[2], 0.5 * up[2]])
