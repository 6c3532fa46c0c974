"""The printed numbers of the paper come out, and the figures are drawn."""

import json

from evidence.papers import ivanova_pivovarova
from mpl_toolkits.mplot3d import Axes3D
import numpy as np
import pytest
from rolling_dynamics.pendulum_sphere.system import PendulumSphere, STATE
from rolling_robotics.cli import main


def test_every_printed_number_comes_out_to_its_digits():
    rows = [row.to_dict() for row in ivanova_pivovarova.rows()]
    assert {r['printed'] for r in rows} >= {0.38, 2.56, 0.83, 0.6, 0.5}
    for row in rows:
        digits = len(f'{row["printed"]:g}'.partition('.')[2])
        if row['name'].startswith('amplitudes'):
            assert row['computed'] >= row['printed']
        else:
            assert round(row['computed'], digits) == row['printed'], row


def test_command_writes_table_and_says_what_was_inferred(tmp_path, capsys):
    out = tmp_path / 'numbers.json'
    assert main(['reproduce', 'ivanova-pivovarova', '--json', str(out)]) == 0
    rows = json.loads(out.read_text())['rows']
    assert rows[0]['verdict'] == 'met'
    assert 'M = 0.1 m' in capsys.readouterr().out
    assert main(['reproduce', 'nobody']) == 2


@pytest.mark.parametrize('friction', [0.8, pytest.param(0.3, marks=pytest.mark.slow)])
def test_surfaces_are_masked_where_the_contact_does_not_hold(friction, monkeypatch):
    """Colours of the drawn surface against normal force and friction of each swing by dynamics."""
    drawn = {}

    def keep(_self, alpha, T, values, *, facecolors, **_):
        drawn.update(alpha=alpha, T=T, values=values, colours=facecolors)

    monkeypatch.setattr(ivanova_pivovarova, 'FRICTION', friction)
    monkeypatch.setattr(Axes3D, 'plot_surface', keep)
    ivanova_pivovarova.speed_figure()
    held = drawn['colours'][..., 3] > 0.9
    assert held.any()
    assert not held.all()
    params = ivanova_pivovarova.paper_sphere()
    weight = (params.shell_mass + params.pendulum_mass) * params.gravity
    rng = np.random.default_rng(0)
    for _ in range(75):
        i, j = (int(rng.integers(n)) for n in held.shape)
        normal, ratio = swung(params, drawn['alpha'][i, j], drawn['T'][i, j])
        margin = min(normal / weight - 0.05, friction - ratio)
        assert abs(margin) < 5e-3 or held[i, j] == (margin > 0)


def swung(params, alpha, T):
    """Return least normal force and greatest friction of a swing, by inverse dynamics."""
    system, t = PendulumSphere(), np.linspace(0, T, 401)
    p = system.pack_parameters(params)
    theta = alpha * np.sin(np.pi * t / T) ** 2
    rate = alpha * np.pi / T * np.sin(2 * np.pi * t / T)
    acceleration = 2 * alpha * (np.pi / T) ** 2 * np.cos(2 * np.pi * t / T)
    x = np.zeros((STATE.size, t.size))
    x[STATE.slice('q_WS').start] = 1
    q = STATE.slice('q_WP').start
    x[q], x[q + 2] = np.cos(theta / 2), np.sin(theta / 2)
    x[STATE.slice('w_WP_W').start + 1] = rate
    turn = np.vstack([0 * t, acceleration, 0 * t])
    force = np.array(system.inverse_dynamics.map(t.size)(x, turn, p)[2])
    with np.errstate(divide='ignore'):
        ratio = np.hypot(force[0], force[1]) / np.maximum(force[2], 0)
    return force[2].min(), ratio.max()


@pytest.mark.slow
def test_figures_are_drawn(tmp_path):
    files = ivanova_pivovarova.figures(tmp_path)
    assert len(files) == 6
    assert all(f.stat().st_size > 10_000 for f in files)
