"""Scenarios of balls and disks: the paper's, drives, and bad input refused with the reason."""

import copy
import json
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.internal_masses.masses import RailMass
from rolling_dynamics.internal_masses.rails import Circle
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate
from rolling_robotics.cli import main
from rolling_robotics.plugins.point_mass_ball.report import required_friction
import yaml

SCENARIOS = Path(__file__).resolve().parents[2] / 'config' / 'scenarios'


def run(scenario):
    return simulate(
        scenario.system,
        scenario.p,
        scenario.x0,
        scenario.control.simplest,
        scenario.duration,
        events=scenario.events,
        rtol=1e-11,
        atol=1e-12,
    )


@pytest.mark.parametrize(('kind', 'mu'), [('disk', 0.2951), ('ball', 0.19)])
def test_scenarios_of_the_paper(kind, mu):
    """The files need the friction that is printed."""
    trajectory = run(load_scenario(SCENARIOS / f'point_mass_{kind}.yaml'))
    assert required_friction(trajectory).mu == pytest.approx(mu, abs=0.001)


def test_every_kind_of_rail_and_drive(tmp_path):
    """A file with wind, a tube, an ellipse and a trajectory runs and writes its outputs."""
    out = tmp_path / 'wind.json'
    assert main(['simulate', str(SCENARIOS / 'point_mass_wind.yaml'), '--out', str(out)]) == 0
    arrays = json.loads(out.read_text())['arrays']
    for name in (
        'normal_force',
        'static_friction',
        'mu_needed',
        'energy',
        'linear_momentum_x',
        'centre_of_mass_W',
        'shell_position',
        'theta',
    ):
        assert name in arrays


def test_simulate_tells_the_friction_needed_and_the_materials_that_hold(tmp_path, capsys):
    """The disk of the paper: 0.2951, which four pairs of the table reach."""
    out = tmp_path / 'disk.json'
    assert main(['simulate', str(SCENARIOS / 'point_mass_disk.yaml'), '--out', str(out)]) == 0
    need = json.loads(out.read_text())['required_friction']
    assert need['mu'] == pytest.approx(0.2951, abs=5e-5)
    assert need['least_normal_force'] > 0
    holds = {tuple(m['pair']): m['holds'] for m in need['materials']}
    assert sum(holds.values()) == 4
    assert holds['aluminium', 'nickel']
    assert not holds['aluminium', 'copper']
    assert 'ASM Handbook' in need['source']
    said = capsys.readouterr().out
    assert 'materials that hold 4 of 8 pairs: aluminium on aluminium, aluminium on steel' in said


def test_needed_friction_does_not_depend_on_the_output_times(tmp_path):
    """Of a run that only rolls, the greatest ratio is found between two output times as well."""
    found = []
    for rate in (1, 200):
        document = yaml.safe_load((SCENARIOS / 'point_mass_disk.yaml').read_text())
        path, out = tmp_path / f'at_{rate}.yaml', tmp_path / f'at_{rate}.json'
        path.write_text(yaml.safe_dump(document | {'output': {'rate': rate}}))
        assert main(['simulate', str(path), '--out', str(out)]) == 0
        found.append(json.loads(out.read_text())['required_friction'])
    for name in ('mu', 'time', 'least_normal_force'):
        assert found[0][name] == pytest.approx(found[1][name], rel=1e-6)


def test_hybrid_run_needs_friction_only_while_it_rolls(tmp_path):
    out = tmp_path / 'hop.json'
    main(['simulate', str(SCENARIOS / 'point_mass_hop.yaml'), '--out', str(out)])
    result = json.loads(out.read_text())
    need = result['required_friction']
    spans = [m for m in result['modes'] if m['mode'] == 'rolling']
    assert any(m['start'] <= need['time'] <= m['end'] for m in spans)
    assert 0 <= need['mu'] < result['parameters']['mu']['values'][0] + 1e-9


def test_slip_is_reported(tmp_path, capsys):
    """A friction below what is needed: exit status 1 and the time."""
    source = (SCENARIOS / 'point_mass_disk.yaml').read_text().replace('mu: 0.3', 'mu: 0.25')
    path = tmp_path / 'slips.yaml'
    path.write_text(source)
    assert main(['simulate', str(path), '--out', str(tmp_path / 'x.json')]) == 1
    assert 'friction: the contact begins to slip at t = 17.72' in capsys.readouterr().err


BALL = {
    'system': 'point_mass_ball',
    'duration': 2,
    'initial': {},
    'ball': {'mass': 1, 'radius': 1, 'inertia': 0.4},
    'masses': [
        {'mass': 1, 'rail': {'kind': 'circle', 'radius': 0.5}, 'theta': -1.5},
        {'mass': 1, 'rail': {'kind': 'circle', 'radius': 0.7}, 'theta': -1.5},
    ],
}


def test_jumps_of_drives_stay_jumps():
    """Samples of several masses on common times, each jump where it stands."""
    document = copy.deepcopy(BALL)
    document['masses'][0]['drive'] = {'times': [0, 1, 1, 2], 'values': [1, 1, -1, -1]}
    document['masses'][1]['drive'] = {'times': [0, 0.5, 2], 'values': [0, 2, 0]}
    scenario = load_scenario(document)
    times, values = scenario.control.samples
    assert times.tolist() == [0, 0.5, 1, 1, 2]
    assert values[:, 0].tolist() == [1, 1, 1, -1, -1]
    for t in (0.2, 0.7, 0.999, 1.0, 1.5):
        assert scenario.control(t, scenario.x0) == pytest.approx(
            [1 if t < 1 else -1, np.interp(t, [0, 0.5, 2], [0, 2, 0])]
        )


CASES = [
    (lambda d: d['masses'][0]['rail'].update(radius=1.2), r'rail 1 \(circle\) leaves the shell'),
    (lambda d: d['masses'][1]['rail'].update(radius=0.5), r'masses 1 and 2 meet'),
    (
        lambda d: [d['ball'].update(mass=0), *(m.update(mass=0) for m in d['masses'])],
        'total of shell and masses is zero',
    ),
    (
        lambda d: d['masses'][0].update(drive={'times': [0.5, 2], 'values': [1, 1]}),
        'without a gap',
    ),
    (lambda d: d['masses'][0].update(drive={'times': [0, 1], 'values': [1, 1]}), 'without a gap'),
    (
        lambda d: d['masses'][0].update(drive={'times': [0, 2], 'values': [1, 1, 1]}),
        'takes 2 numbers',
    ),
    (lambda d: d['masses'][0].update(drive='sin(x)'), "uses 'x'"),
    (lambda d: d['initial'].update(attitude={'quaternion': [0, 0, 0, 0]}), 'norm 0'),
    (lambda d: d.update(friction={'mu': 0}), 'rolling without slipping is demanded'),
    (lambda d: d.update(friction={'mu': 0.2, 'mu_kinetic': 0.3}), 'mu_kinetic'),
    (
        lambda d: d['masses'][0].update(rail={'kind': 'circle', 'radius': 0.5, 'stops': [0, 1]}),
        'beyond the stops',
    ),
    (
        lambda d: d['masses'][0].update(rail={'kind': 'straight', 'direction': [1, 0, 0]}),
        'stops: is missing',
    ),
    (lambda d: d['masses'][0]['rail'].update(width=1), 'unknown entry; there are: kind, centre'),
    (lambda d: d['masses'][0].update(trajectory=[0, 0, 0]), 'exactly one of rail and trajectory'),
    (lambda d: d['ball'].update(inertia=[1, 1, 5]), 'no body has the principal'),
    (
        lambda d: d['masses'].append({'mass': 1, 'trajectory': ['t', 0, 0]}),
        'leaves the shell: at t = ',
    ),
    (lambda d: d['ball'].update(centre_of_mass=[0, 0, 2]), 'outside the shell'),
    (lambda d: d.update(force=['wind', 0, 0]), "uses 'wind'"),
    (lambda d: d.update(events={'lift': 'stop'}), "unknown event 'lift'"),
    (lambda d: d.update(path=['s', '0'], initial={'position': [1, 1]}), 'give path instead'),
    (lambda d: d.update(path=['s', 'x']), "uses 'x'"),
]


@pytest.mark.parametrize(('change', 'text'), CASES, ids=[c[1][:24] for c in CASES])
def test_refused(change, text):
    document = copy.deepcopy(BALL)
    load_scenario(document)
    change(document)
    with pytest.raises(ScenarioError, match=text):
        load_scenario(document)


def test_normal_force_that_vanishes_is_an_event():
    """N = 0 stops a run with its name; it is never passed over."""
    document = copy.deepcopy(BALL)
    for m in document['masses']:
        m.update(drive='60*t', theta=1.2)
    assert run(load_scenario(document)).terminal_event.name == 'normal_force'


def test_ball_on_a_path():
    """The state of the S-shaped scenario holds the path; the ball is in balance at the start."""
    scenario = load_scenario(SCENARIOS / 'point_mass_s_path.yaml')
    assert scenario.system.state.names[-2:] == ['path_along', 'path_aside']
    rate = np.array(scenario.system.mode.dynamics(scenario.x0, [0, 0, 0], 0, scenario.p))
    assert np.abs(rate).max() < 1e-6


def test_quaternion_of_norm_zero_in_code():
    ball = PointMassBall([RailMass(1.0, Circle(0.5))])
    p = ball.pack_parameters(mass=1, inertia=0.4, radius=1)
    with pytest.raises(ParameterError, match='unit quaternion'):
        simulate(ball, p, np.zeros(ball.state.size), None, 1.0)


def test_controller_of_a_ball_does_not_carry_scipy():
    """Its memory matters on a robot; the adaptive integrators are not what it needs."""
    file = SCENARIOS / 'point_mass_s_path.yaml'
    code = f"""
import sys
from rolling_controller.tracker import Tracker
from rolling_controller.robot_laws.regulator import robot_kind
from rolling_dynamics.scenario import load_scenario
s = load_scenario({str(file)!r})
kind = robot_kind(s.system.name)
laws = kind.make(s, {{o.name: o.default for o in kind.options}})
Tracker(s.system, s.p, uncounted=laws.uncounted)
sys.exit('scipy' in sys.modules)
"""
    done = subprocess.run([sys.executable, '-c', code], cwd=SCENARIOS.parents[1], check=False)
    assert done.returncode == 0
