"""`rolling sweep` in processes of this machine."""

import json
import math
import multiprocessing
import os
from pathlib import Path
import signal
import threading
import time

import numpy as np
import pyarrow.parquet as pq
import pytest
from rolling_dynamics.compiled import compiler
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario.document import read_document
from rolling_dynamics.scenario.scenario import load_plain
from rolling_robotics.cli import main
from rolling_robotics.result import simulate_scenario
from rolling_robotics.sweep import outcome
from rolling_robotics.sweep.outcome import run_points
from rolling_robotics.sweep.points import document_at, read_sweep
from rolling_robotics.sweep.run import run_sweep, Store
import yaml

SCENARIOS = Path(__file__).resolve().parents[2] / 'config' / 'scenarios'
DISK = {
    'system': 'point_mass_disk',
    'disk': {'mass': 1, 'radius': 0.3, 'polar_inertia': 0.09},
    'masses': [{'mass': 1, 'rail': {'kind': 'circle', 'radius': 0.2}, 'theta': -1.5}],
    'friction': {'mu': 0.5},
    'initial': {},
    'duration': 0.5,
    'output': {'rate': 50},
    'tolerances': {'relative': 1e-10, 'absolute': 1e-12},
    'sweep': {
        'vary': {'$push': {'from': 0, 'to': 4, 'count': 5}, 'masses[0].rail.radius': [0.2, 0.4]},
        'set': {'masses[0].drive': '$push*sin(3*t)'},
    },
}


forks = pytest.mark.filterwarnings('ignore:.*fork:DeprecationWarning')  # threads of the tests


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def scenario_file(tmp_path, document=DISK):
    path = tmp_path / 'disk.yaml'
    path.write_text(json.dumps(document))
    return str(path)


@forks
def test_rows_of_two_processes(tmp_path, capsys):
    """Each row is the simulation of its point; points that fail are rows, with the reason."""
    out = tmp_path / 'disk.parquet'
    command = ['sweep', scenario_file(tmp_path), '--out', str(out), '--workers', '2']
    assert main(command) == 0
    table = pq.read_table(out)
    rows = table.to_pylist()
    assert [r['point'] for r in rows] == list(range(10))
    bad = [r for r in rows if r['masses[0].rail.radius'] == 0.4]
    assert {r['status'] for r in bad} == {'failed'}
    assert all('leaves the shell' in r['error'] for r in bad)
    for row in rows[::4]:
        document = {**DISK, 'masses': [{**DISK['masses'][0], 'drive': f'{row["$push"]}*sin(3*t)'}]}
        del document['sweep']
        trajectory = simulate_scenario(load_scenario(document))
        assert row['final_phi'] == pytest.approx(trajectory.states[-1][2], abs=1e-12)
        force = trajectory.evaluate(lambda s: s.mode.wrench)[:, 3:]
        assert row['mu_needed'] == pytest.approx((np.abs(force[:, 0]) / force[:, 2]).max())
        assert row['steps'] == trajectory.steps
    sweep = read_sweep({**read_document(command[1]), 'name': 'disk'})
    assert table.schema.metadata[b'scenario_hash'].decode() == sweep.hash()
    assert set(table['scenario_hash'].to_pylist()) == {sweep.hash()}
    assert json.loads(table.schema.metadata[b'scenario'])['disk'] == DISK['disk']
    assert not list(tmp_path.glob('*.parts'))
    assert '5 failed' in capsys.readouterr().out
    assert main(command) == 0
    assert 'holds this sweep already' in capsys.readouterr().out
    assert main([*command, '--vary', 'friction.mu=0.1,0.2']) == 2
    assert 'holds another sweep' in capsys.readouterr().err


def test_friction_and_normal_force_are_the_greatest_of_all_contacts():
    """By hand: what a ball in a groove leaves open, its contacts' push apart, is least."""
    row = outcome.outcome(load_scenario('ball_in_groove'))
    slope, wall, reach = 0.2, 0.9, 0.4 / math.cos(0.9) ** 2  # of the radius of gyration
    normal = 0.3 * 9.81 * math.cos(slope) / (2 * math.cos(wall))
    friction = 0.3 * 9.81 * math.sin(slope) * reach / (1 + reach) / 2
    assert row['greatest_normal_force'] == pytest.approx(normal, rel=3e-4)
    assert row['mu_needed'] == pytest.approx(friction / normal, rel=3e-4)


@forks
def test_restart_works_on_what_is_missing(tmp_path):
    """Parts that are there are kept as they are: a mark in one of them comes out."""
    out, path = tmp_path / 'disk.parquet', scenario_file(tmp_path)
    sweep = read_sweep({**read_document(path), 'name': 'disk'})
    store = Store(out, sweep)
    rows = run_points(sweep.document, sweep.follows, {4: sweep.values(4)})
    rows[0]['final_phi'] = 42.0
    store.write(rows)
    assert main(['sweep', path, '--out', str(out), '--workers', '2']) == 0
    table = pq.read_table(out)
    assert table.num_rows == 10
    assert table['final_phi'].to_pylist()[4] == 42.0
    assert table['status'].to_pylist()[2] == 'done'


@forks
@pytest.mark.slow
def test_processes_of_its_own_and_samples(tmp_path):
    """Entries are named on the command line, points drawn."""
    out = tmp_path / 'start.parquet'
    source = str(SCENARIOS / 'pendulum_start.yaml')
    varied = ['--vary', 'drive.gaits[0].period=4.5:6', '--vary', 'floor.mu=0.01,0.8']
    command = ['sweep', source, '--out', str(out), *varied, '--samples', '6', '--workers', '1']
    assert main(command) == 0
    rows = pq.read_table(out).to_pylist()
    assert sum(r['floor.mu'] == 0.01 for r in rows) == 3
    for row in rows:
        assert 4.5 <= row['drive.gaits[0].period'] <= 6
        # on ice there is no such gait: that is said of the point
        assert row['status'] == ('failed' if row['floor.mu'] == 0.01 else 'done')


def deadly(document, follows, points):
    if 3 in points:
        die()
    return [{'point': k, 'status': 'done', 'error': None} for k in points]


@forks
def test_worker_that_dies_costs_one_point(tmp_path, monkeypatch):
    """A part whose process is killed is taken apart; the point that kills is a row."""
    from rolling_robotics.sweep import run as run_module

    sweep = read_sweep({**DISK, 'name': 'disk'})
    store = Store(tmp_path / 'disk.parquet', sweep)
    monkeypatch.setattr(run_module, 'PARTS', 1)
    monkeypatch.setattr(run_module, 'run_points', deadly)
    run_sweep(sweep, store, 2, lambda *_: None)
    rows = store.join().to_pylist()
    assert [r['status'] for r in rows] == ['failed' if k == 3 else 'done' for k in range(10)]
    assert 'BrokenProcessPool' in rows[3]['error']


def endless(*_):
    time.sleep(1000)


@forks
def test_processes_end_with_the_sweep(tmp_path, monkeypatch):
    """Ctrl-C while they work leaves none of them behind."""
    from rolling_robotics.sweep import run as run_module

    sweep = read_sweep({**DISK, 'name': 'disk'})
    monkeypatch.setattr(run_module, 'run_points', endless)
    stop = threading.Timer(0.5, signal.pthread_kill, [threading.get_ident(), signal.SIGINT])
    others = set(multiprocessing.active_children())
    stop.start()
    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep, Store(tmp_path / 'disk.parquet', sweep), 2, lambda *_: None)
    left = set(multiprocessing.active_children()) - others
    for child in left:
        child.join(10)
    # a child that a thread of its pool has just waited for may count as alive
    assert not any(Path('/proc', str(child.pid)).exists() for child in left)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['--vary', 'friction.mu'], 'ENTRY=FROM:TO:COUNT or ENTRY=A,B,C is needed'),
        (['--vary', 'friction.mu=1:2:3:4'], 'a range is FROM:TO:COUNT'),
        (['--vary', 'frictoin.mu=1,2'], 'frictoin: unknown entry'),
    ],
)
def test_bad_commands(tmp_path, capsys, options, message):
    out = str(tmp_path / 'x.parquet')
    assert main(['sweep', scenario_file(tmp_path), '--out', out, *options]) == 2
    assert message in capsys.readouterr().err


DRIVEN = DISK | {
    'masses': [
        {
            'mass': 1,
            'rail': {'kind': 'circle', 'radius': 0.2},
            'theta': -1.5,
            'drive': {'times': [0, 0.1, 0.2, 0.5], 'values': [0, 8, 8, 0]},
        }
    ],
    'sweep': {
        'vary': {'friction.mu': {'from': 0.01, 'to': 1, 'count': 20}, 'disk.mass': [0.1, 1]}
    },
}


@pytest.mark.skipif(compiler() is None, reason='no C compiler')
def test_points_that_are_lanes_of_a_batch_give_the_same_rows(monkeypatch):
    """Whether they run through, are stopped, or slip on the way: those are not lanes."""
    monkeypatch.setenv('ROLLING_COMPILE', 'now')
    sweep = read_sweep(DRIVEN | {'name': 'disk', 'events': {'friction': 'stop'}})
    recorded = read_sweep(DRIVEN | {'name': 'disk'})
    for these, slipping in ((sweep, 0), (recorded, 6)):
        points = {k: these.values(k) for k in range(len(these))}
        given = these.document, these.follows, points
        lanes = run_points(*given)
        with monkeypatch.context() as alone:
            alone.setattr(outcome, 'together', lambda _: {})
            rows = run_points(*given)
        assert len(rows) == 40
        on_the_way = sum(row['event'] is not None for row in rows if row['status'] == 'done')
        assert on_the_way == slipping
        scenarios = {k: load_plain(document_at(*given[:2], v)) for k, v in points.items()}
        assert len(outcome.together(scenarios)) == 40 - slipping
        for lane, row in zip(lanes, rows, strict=True):
            assert lane.keys() == row.keys()
            for key, value in row.items():
                exact = not isinstance(value, float)
                assert lane[key] == (value if exact else pytest.approx(value, rel=1e-9, abs=1e-9))


def test_what_lanes_have_in_common_decides_who_goes_together(monkeypatch):
    monkeypatch.setenv('ROLLING_COMPILE', 'never')
    assert outcome.together({}) == {}
    sweep = read_sweep(DRIVEN | {'name': 'disk'})
    scenarios = [
        load_plain(document_at(sweep.document, sweep.follows, sweep.values(k))) for k in range(3)
    ]
    kinds = {outcome._kind(s) for s in scenarios}
    assert len(kinds) == 1
    assert None not in kinds
    formula = read_sweep(DISK | {'name': 'disk'})
    other = load_plain(document_at(formula.document, formula.follows, formula.values(8)))
    assert outcome._kind(other) is None


def test_modes_with_different_margins_have_one_row():
    """The ball of the wall rolls on the floor, meets the wall and parts from it."""
    given = yaml.safe_load((SCENARIOS / 'ball_and_wall.yaml').read_text())
    (row,) = run_points(given, {}, {0: {}})
    assert row['status'] == 'done', row
    assert row['event'] == 'landing'
    assert row['least_friction_ball'] > 0
    assert row['least_friction_ball_2'] is None  # between two outputs it touched the wall
