"""The table against reality: without logs, with other logs, and by logs that a model wrote."""

import hashlib

from evidence import reality
from evidence.reality import roboball
import numpy as np
import pytest
from rolling_dynamics.simulation import simulate
from rolling_robotics.cli import main


def swings(friction, offset):
    """Return times and angles of three swings in the stand, as the log has them."""
    system, inertia = roboball.Stand(), 0.7
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
    z, (error, still), (theirs, _) = roboball._swings(path)
    np.testing.assert_allclose(z, [0.5, 0.3, 0.7, -0.03], rtol=0.01)
    assert error < 0.002
    assert 0.01 < theirs < still


def test_without_logs_rows_are_not_fetched(capsys, monkeypatch):
    monkeypatch.delenv(reality.DATA, raising=False)
    assert main(['reproduce', 'reality']) == 0
    printed = capsys.readouterr().out
    assert printed.count('not fetched') >= 3
    assert f'git clone https://github.com/{roboball.REPOSITORY}' in printed
    assert all(digest in printed for digest in roboball.SHA256.values())
    assert 'MIT' in printed


def test_another_log_is_refused_by_its_checksum(tmp_path, capsys):
    for name in roboball.SHA256:
        path = tmp_path / roboball.REPOSITORY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('other')
    assert main(['reproduce', 'reality', '--data', str(tmp_path)]) == 2
    assert hashlib.sha256(b'other').hexdigest() in capsys.readouterr().err


@pytest.mark.parametrize(
    ('error', 'verdict'), [(0.04, 'met'), (0.06, 'not met'), (None, 'not fetched')]
)
def test_verdicts(error, verdict):
    row = reality.Row(name='a', unit='rad', fitted='b', held_out='c', error=error, goal=0.05)
    assert row.verdict == verdict
