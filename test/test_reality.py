"""The table against reality: without logs, with other logs, and by logs that a model wrote."""

from functools import cache
import hashlib
import re

import casadi as ca
from evidence import reality
from evidence.reality import (
    ballbot,
    beam,
    circle,
    labyrinth,
    published,
    roboball,
    roboball_drake,
    roboball_trials,
    valley,
)
import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.identification.identify import Residuals
from rolling_dynamics.simulation import simulate
from rolling_robotics.cli import main
from transforms3d.quaternions import axangle2quat

PUBLISHED = cache(published.rows)  # seconds


def swings(friction, offset):
    """Return times and angles of three swings in the stand, as the log has them."""
    system, inertia = roboball.stand(), 0.7
    p = system.parameters.pack(
        dry=friction[0], viscous=friction[1], inertia=inertia, offset=offset
    )
    rows = []
    for (begin, end), angle in zip(
        (*roboball.SWINGS, roboball.SWING_HELD_OUT), (0.85, 0.94, -0.78), strict=True
    ):
        times = np.arange(0, end - begin, 0.013)
        run = simulate(system, p, [angle, 0.0], None, times[-1], t_eval=times)
        rows.append(np.column_stack([begin + times, np.array(run.states)[:, 0]]))
    return np.vstack(rows)


def test_friction_of_a_log_that_a_model_wrote_is_found(tmp_path):
    path = tmp_path / 'stand.csv'
    np.savetxt(
        path,
        swings((0.5, 0.3), -0.03),
        delimiter=',',
        header='steer_timestamp,pend_angle',
        comments='',
    )
    z, *found = roboball._swings(path)
    (error, still), (theirs, _) = (residuals.errors[:, 0] for residuals in found)
    np.testing.assert_allclose(z, [0.5, 0.3, 0.7, -0.03], rtol=0.01)
    assert error < 0.002
    assert 0.01 < theirs < still


def rolled(path, p, start, end, *, held):
    """Write the log of a sphere let go at angles of it and its pendulum, after 0.2 s if held."""
    system, times = roboball.rolling_ball(), np.arange(0, end, 0.02)
    x = system.state.pack(
        contact=[0.0, -roboball.RADIUS * start[0]],
        q_WS=axangle2quat([1, 0, 0], start[0]),
        pendulum=[start[1]],
    )
    states = np.array(simulate(system, p, x, None, times[-1], t_eval=times).states)
    names = ('contact_y', 'w_WS_S_x', 'pendulum')
    y, rate, pendulum = (states[:, system.state.index(name)[0]] for name in names)
    rows = np.column_stack([3e9 + 1e9 * times, -y / roboball.RADIUS, rate, pendulum])
    rest = rows[:1] * [0, 1, 0, 1] - np.arange(10, 0, -1)[:, None] * [2e7, 0, 0, 0]
    header = 'timestamp,ball_roll.position,ball_roll.velocity,roll_joint.position'
    logged = np.vstack([rest, rows] if held else [rows])
    np.savetxt(path, logged, delimiter=',', header=header, comments='')
    return path


@pytest.mark.slow
def test_floor_and_shell_of_spheres_that_a_model_let_go_are_found(tmp_path, monkeypatch):
    """By two trials, which predict the third and a sphere let go; and by that one's first part."""
    p = np.array([0.45, 0.3, 2e-3, 0.3, 65.0, 0.1])
    trials = [
        rolled(tmp_path / f'{angle}', p, (roboball_trials.LET_GO, angle), 4.3, held=False)
        for angle in (1.0, 0.8, 0.9)
    ]
    decay = rolled(tmp_path / 'decay', p, roboball.START, 5.1, held=True)
    monkeypatch.setattr(roboball_trials, 'HYPOTHESES', roboball_trials.HYPOTHESES[:1])
    monkeypatch.setattr(roboball_trials, 'fetched', lambda *_: [None, decay])
    rows = list(roboball_trials.found(tmp_path, trials))
    assert len(rows) == 4  # sphere, pendulum, and the one let go, twice
    for row in rows:
        error, still = row.ours.errors[:, 0]
        np.testing.assert_allclose(row.values, p, rtol=0.01)
        assert error < 1e-3
        assert still > 0.1
    monkeypatch.setattr(roboball, 'HYPOTHESES', roboball.HYPOTHESES[-1:])
    monkeypatch.setattr(roboball, 'STIFF', (50.0,))
    (_, rigid), (z, shell) = roboball._decay(roboball.released(decay), p[:2])
    np.testing.assert_allclose(z, p[2:], rtol=0.02)
    assert shell.errors[0] < 1e-3
    assert rigid.errors[0] > 0.1  # nothing resists on its floor, and its shell is round


@pytest.mark.slow
def test_drake_runs_the_code_of_the_authors_and_no_other(tmp_path, monkeypatch):
    """Without Drake or the code there is nothing beside; code of another version is refused."""
    given = tmp_path, roboball.REPOSITORY, roboball.START, 5.0
    monkeypatch.setattr(roboball_drake, 'find_spec', lambda _: None)
    assert roboball_drake.motion(*given) is None
    monkeypatch.setattr(roboball_drake, 'find_spec', lambda name: name)
    assert roboball_drake.motion(*given) is None
    for name in roboball_drake.SHA256:
        path = tmp_path / roboball.REPOSITORY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('raise RuntimeError')
    with pytest.raises(ParameterError, match='has the sha256'):
        roboball_drake.motion(*given)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(roboball_drake, 'SHA256', dict.fromkeys(roboball_drake.SHA256, digest))
    with pytest.raises(ParameterError, match='Error'):  # no Drake, or code that fails
        roboball_drake.motion(*given)


def test_resistance_in_a_valley_that_a_model_wrote_is_found(tmp_path):
    """And a ball without dry resistance comes too late and too far."""
    shape = np.array([1.5, -0.9, 0.2])
    p = np.array([0.55, 0.004, 0.1])
    times = np.arange(0, valley.HELD_OUT[1] + 0.2, 0.01)
    run = simulate(valley.valley(shape), p, [0.05, 0.0], None, times[-1], t_eval=times)
    place = np.array(run.states)[:, 0]
    rows = np.column_stack([times, place, np.polyval(shape, place)])
    np.savetxt(tmp_path / 'log', rows, delimiter=';', header='mass_A\nt;x;y', comments='')
    ((z, *found),) = valley.found(tmp_path, [tmp_path / 'log'])
    (error, held), (theirs, _) = (residuals.errors[:, 0] for residuals in found)
    np.testing.assert_allclose(z, p, rtol=0.01)
    assert error < 1e-3
    assert 0.01 < theirs < held


def driven(system, p, feedback, given, period):
    """Return states (k, n) before each hold of a control, and controls (k,), by Euler steps."""
    f = next(iter(system.modes.values())).dynamics
    x, u = ca.MX.sym('x', system.state.size), ca.MX.sym('u')
    y = ca.MX.sym('y', x.shape)
    step = ca.Function('step', [y, u], [y + 1e-3 * f(y, u, 0.0, p)])
    held = ca.mtimes(ca.DM(feedback).T, x) + u
    after = step.fold(round(period / 1e-3))(x, held)
    run = ca.Function('hold', [x, u], [after, x, held]).mapaccum(len(given))
    _, states, controls = run(np.zeros(x.shape[0]), ca.DM(given).T)
    return np.array(states).T, np.array(controls).ravel()


def test_gain_of_a_beam_that_a_model_wrote_is_found(tmp_path):
    angle = 0.02 * np.sin(0.3 * np.arange(1000)) + 0.001
    p = np.array([4.2, 0.001, 0.3])
    states, _ = driven(beam.beam(), p, np.zeros(2), angle, beam.PERIOD)
    np.savetxt(tmp_path / 'log', np.column_stack([angle, states[:, 0]]))
    ((z, *found),) = beam.found(tmp_path, [tmp_path / 'log'])
    (error, held), (flat, _) = (residuals.errors[:, 0] for residuals in found)
    np.testing.assert_allclose(z[:3], p, rtol=0.05)
    assert 10 * error < flat < held


@pytest.mark.slow
def test_gains_of_a_plate_that_a_model_wrote_are_found_and_another_version_is_refused(
    tmp_path, monkeypatch
):
    """Angles on the lines between the rows, irregular stamps, places not always seen."""
    p = np.array([6.5, 6.6, 0.04, -0.02, 0.2, 0.05, 1.0])
    times = np.arange(0.0, 9.3, 0.044)
    tilt = 0.1 * np.column_stack([np.cos(5 * times), np.sin(6 * times)]) + [-0.02, 0.04]
    turns = np.diff(tilt, axis=0, append=tilt[-1:]) / 0.044

    def angles(t):
        return [*(np.interp(t, times, a) for a in tilt.T), *turns[min(int(t / 0.044), 211)]]

    run = simulate(labyrinth.plate(), p, [0, 0, 0, 0.1], angles, times[-1], t_eval=times)
    stamps = times + np.random.default_rng(0).uniform(0, 0.004, times.size)
    table = np.column_stack([stamps, np.array(run.states)[:, :2], tilt, np.arange(times.size) % 9])
    for name in labyrinth.SHA256:
        path = tmp_path / labyrinth.REPOSITORY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        header = ','.join(labyrinth.COLUMNS)
        np.savetxt(path, table, delimiter=',', header=header, comments='')
    with pytest.raises(ParameterError, match='has the sha256'):
        reality.rows(tmp_path, 'labyrinth')
    digests = {
        name: hashlib.sha256(labyrinth.evaluated(tmp_path / labyrinth.REPOSITORY / name))
        for name in labyrinth.SHA256
    }
    assert len({digest.digest() for digest in digests.values()}) == 3  # of other parts
    known = {name: digest.hexdigest() for name, digest in digests.items()}
    monkeypatch.setattr(labyrinth, 'SHA256', known)
    short, long, *explanations = reality.rows(tmp_path, 'labyrinth')
    gains = [float(v) for v in re.findall(r'[\d.]+', short.fitted.partition(': ')[2])[:2]]
    assert gains == pytest.approx(p[:2], abs=0.05)
    assert 10 * short.error < short.rival
    assert 10 * long.error < long.baseline
    assert {row.rival for row in explanations} == {short.error, long.error}
    late = [row for row in explanations if 'half a row' in row.name]
    assert len(late) == 2
    assert all(row.error > 3 * short.error for row in late)


@pytest.mark.slow
def test_factors_of_a_ballbot_that_a_model_wrote_are_found(tmp_path):
    """As it is logged: degrees, wheels, and torque of the roll."""
    times = np.arange(0, 60, 0.02)
    noise = 0.3 * np.random.default_rng(0).standard_normal(times.size)
    p = np.array([12.0, -8, 0.4, 0.1, -15, 40, -4, 0.2])
    states, torques = driven(ballbot.plane(), p, [6, 0, 1.5, 0], noise, 0.02)
    lean, ball, *_ = states.T
    wheel = ball * ballbot.BALL / ballbot.WHEEL / np.sqrt(2 / 3)
    rows = np.column_stack([torques, times, np.degrees(lean), wheel, 0 * wheel])
    np.savetxt(tmp_path / 'log', rows, header='Ty t_now theta_x psi_2 psi_3', comments='')
    for z, residuals, _ in ballbot.found(tmp_path, [tmp_path / 'log']):
        np.testing.assert_allclose(z, p, rtol=0.1, atol=0.1)
        assert (10 * residuals.errors[0] < residuals.errors[1]).all()


@pytest.mark.slow
def test_without_logs_rows_are_not_fetched(capsys, monkeypatch):
    monkeypatch.delenv(reality.DATA, raising=False)
    monkeypatch.setattr(published, 'rows', PUBLISHED)
    assert main(['reproduce', 'reality']) == 0
    printed = capsys.readouterr().out
    assert printed.count('not fetched') >= 3
    for module in reality.SETS:
        assert f'git clone https://github.com/{module.REPOSITORY}' in printed
        assert all(digest in printed for digest in module.SHA256.values())
        assert f'{module.REPOSITORY}: {module.LICENCE}' in printed


def test_another_log_is_refused_by_its_checksum(tmp_path, capsys):
    for name in roboball.SHA256:
        path = tmp_path / roboball.REPOSITORY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('other')
    assert main(['reproduce', 'reality:roboball', '--data', str(tmp_path)]) == 2
    assert hashlib.sha256(b'other').hexdigest() in capsys.readouterr().err


@pytest.mark.parametrize(
    ('error', 'verdict'), [(0.04, 'met'), (0.06, 'not met'), (None, 'not fetched')]
)
def test_verdicts(error, verdict):
    row = reality.Row(name='a', unit='rad', fitted='b', held_out='c', error=error, goal=0.05)
    assert row.verdict == verdict


def test_published_tests_agree_with_closed_forms_and_integrals():
    rows = PUBLISHED()
    assert {row.name: row.verdict for row in rows if row.goal} == {
        row.name: reality.row.MET for row in rows if row.goal
    }
    assert sum(row.goal is not None for row in rows) >= 5
    # the turn of the stone, by the equations of Kane & Levinson 1982, is between these
    (stone,) = (row for row in rows if row.name == 'Rattleback, energy')
    assert 2.61 < float(re.search(r'turns round after ([\d.]+) s', stone.held_out)[1]) < 2.63
    (sliding,) = (row for row in rows if row.name.startswith('Simbody'))
    assert 2.7 < float(re.search(r'turns round after ([\d.]+) s', sliding.held_out)[1]) < 2.9


@pytest.mark.slow
def test_a_ballbot_leans_on_a_circle_as_its_equations_say():
    """Within 0.1 degree after the start, and 0.5 degree inward on the way there."""
    scenario = circle.ballbot()
    # d'Alembert's, for small leans, has 1.650 degrees
    assert circle.steady_leans(scenario, [0.4]) == pytest.approx([1.639], abs=1e-3)
    rows = circle.rows()
    assert [row.verdict for row in rows] == [reality.row.MET] * 2
    assert [row.error for row in rows] == pytest.approx([0.008, 0.26], rel=0.3)


def test_one_set_of_logs_is_reproduced_by_its_name(capsys, monkeypatch):
    monkeypatch.delenv(reality.DATA, raising=False)
    assert main(['reproduce', 'reality:beam']) == 0
    table = capsys.readouterr().out.partition('zhenwendai')[0]
    assert 'Ball and beam of DaISy' in table
    assert 'Ballbot' not in table
    assert main(['reproduce', 'reality:bean']) == 2
    assert "no 'bean'; there are: published, roboball," in capsys.readouterr().err


def test_residuals_of_rows_with_logs_are_drawn(tmp_path):
    """A panel each, with what was measured less well; rows without logs have none."""
    off = np.array([[[0.1], [0.3]], [[-0.1], [-0.3]], [[np.nan], [np.nan]]])
    found = Residuals(np.array([1.0, 2.0, np.nan]), off)
    plain = {'unit': 'm', 'fitted': 'b', 'held_out': 'c'}
    row = reality.row.judged(reality.Row(name='logged', **plain), reality.row.Found([], found))
    assert (row.error, row.baseline) == pytest.approx((0.1, 0.3))
    assert 'residuals' not in row.to_dict()
    other = reality.Row(name='not there', **plain)
    (file,) = reality.figures(tmp_path, [row, other])
    assert file.name == 'reality_residuals.png'
    figure = reality.row.residual_figure([row])
    (legend,), (panel,) = figure.legends, figure.axes
    assert [text.get_text() for text in legend.get_texts()] == ['last velocity held', 'model']
    assert panel.get_title() == 'logged'
    np.testing.assert_array_equal(panel.lines[1].get_ydata(), off[:, 0, 0])
    assert reality.figures(tmp_path, [other]) == []
