"""Scenarios, `rolling controllability` and `rolling reproduce tafrishi`."""

import json
from pathlib import Path

import numpy as np
import pytest
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario import load_scenario
from rolling_planner.spin_rolling.motion import read_spin_rolling_problem
from rolling_robotics.cli import main
from rolling_robotics.result import simulate_scenario

SCENARIOS = Path(__file__).parents[2] / 'config' / 'scenarios'


def scenario(**changes):
    return {
        'system': 'spin_rolling_sphere',
        'radius': 0.3,
        'duration': 1,
        'inputs': {'angular_velocity': [1, 0, 0]},
        **changes,
    }


def test_straight_path_stays_straight():
    run = simulate_scenario(load_scenario(SCENARIOS / 'spin_rolling_straight.yaml'))
    across = run.states[:, :2] @ [-np.sin(np.pi / 6), np.cos(np.pi / 6)]
    assert np.max(np.abs(across)) < 1e-12


def test_published_drift_goes_along_45_degrees():
    run = simulate_scenario(load_scenario(SCENARIOS / 'spin_rolling_published.yaml'))
    assert run.states[-1, 0] > 0.1
    assert run.states[:, 0] == pytest.approx(run.states[:, 1], abs=1e-14)


def test_rolling_rate_makes_time_the_independent_variable():
    given = {'direction': {'G_f': 0, 'delta': 0.1}}
    made = load_scenario(scenario(inputs=given))
    assert made.system.independent_variable == 'time'
    assert simulate_scenario(made).states[-1, 0] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ('changes', 'text'),
    [
        ({'radius': 0}, 'radius: must be positive'),
        ({'radius': -1}, 'radius: must be positive'),
        ({'inputs': {'torque': 1}}, 'inputs.torque: unknown entry'),
        ({'inputs': {'direction': {'G': 1}}}, 'inputs.direction.G: unknown entry'),
        (
            {'inputs': {'direction': {'G_f': 1, 'alpha_s': '3*t'}}, 'limits': {'alpha_s': 2}},
            r'inputs: alpha_s = 2\.0.* exceeds its limit 2',
        ),
        ({'limits': {'gama_s': 1}}, 'limits.gama_s: no such input'),
        ({'representation': 'coordinates', 'initial': {'v_o': 'pi/2'}}, 'initial: .*pole'),
        ({'variant': 'printed'}, 'variant: got'),
        (
            {'inputs': {'direction': {'G_f': '0.5*floor(3*t)'}}},
            r'inputs.direction.G_f: .* kink of 28\.6 degrees at t = 0\.333333',
        ),
        (
            {'inputs': {'virtual_surface': {'theta': 'sign(t-0.7)', 'phi': 'pi/2'}}},
            r'inputs.virtual_surface.theta: .* kink of 57\.3 degrees at t = 0\.7',
        ),
        (
            {'inputs': {'direction': {'G_f': 't', 'gamma_s': '1/0.3'}}},
            'inputs.direction.gamma_s: .* no direction',
        ),
    ],
)
def test_bad_scenario_is_refused_by_entry(changes, text):
    with pytest.raises(ScenarioError, match=text):
        load_scenario(scenario(**changes))


@pytest.mark.parametrize(
    'given',
    [
        {'G_f': '2*pi*floor(2*t)'},  # whole turns
        {'G_f': 'abs(t-0.5)'},  # a corner of the curvature, none of the path
        {'G_f': 'sin(300*t)'},  # fast, but smooth
        {'G_f': 'sign(t-0.5)', 'delta': '(t-0.5)^2'},  # at rest where it turns
    ],
)
def test_path_without_a_kink_is_taken(given):
    assert load_scenario(scenario(inputs={'direction': given})).name


@pytest.mark.slow
def test_controllability_command(tmp_path, capsys):
    file = tmp_path / 'report.json'
    published = str(SCENARIOS / 'spin_rolling_published.yaml')
    assert main(['controllability', published, '--depth', '3', '--json', str(file)]) == 0
    text = capsys.readouterr().out
    assert 'theta + phi = -0.25 pi (zero)' in text
    report = json.loads(file.read_text())
    assert report['growth_at_general_state'] == [3, 5, 5]
    assert report['rank_without'] == {'alpha_s': 5, 'beta_s': 4, 'gamma_s': 5}
    whole = set(report['singular_sets'])
    determinant = set(report['singular_sets_of_determinant']['alpha_s'])  # (33)
    assert whole < determinant
    assert {'v_o = 0 pi (zero)', 'phi = 0.5 pi (zero)'} <= determinant - whole
    assert 'determinant of the inputs and ad_f^k alpha_s, singular where' in text
    assert main(['controllability', str(SCENARIOS / 'spin_rolling_ball.yaml')]) == 0
    assert 'the algebra is complete' in capsys.readouterr().out


def test_controllability_of_a_dynamic_system_is_refused(capsys):
    assert main(['controllability', str(SCENARIOS / 'spinning_plate.yaml')]) == 2
    assert 'is a dynamic system' in capsys.readouterr().err


@pytest.mark.slow
def test_reproduction_rows_and_figures(tmp_path, capsys):
    file = tmp_path / 'rows.json'
    arguments = ['reproduce', 'tafrishi', '--json', str(file), '--figures', str(tmp_path)]
    assert main(arguments) == 0
    rows = {r['name']: r for r in json.loads(file.read_text())['rows']}
    agree = rows['the same, published model']
    assert agree['computed'] == pytest.approx(agree['printed'], rel=1e-9)
    assert rows['speed of the drift per arc length']['computed'] == pytest.approx(1)
    assert rows['rank at theta + phi = 0, where (33) vanishes']['computed'] == 5
    drawn = [tmp_path / f'tafrishi_figure_{k}.png' for k in (4, 5)]
    assert all(p.read_bytes()[:4] == b'\x89PNG' and p.stat().st_size > 20_000 for p in drawn)
    assert 'no numbers are printed for figure 4' in capsys.readouterr().out


@pytest.mark.parametrize(('name', 'method'), [('plan', 'polylines'), ('pure', 'rolls and loops')])
def test_plan_command(name, method, tmp_path, capsys):
    file = tmp_path / 'plan.json'
    arguments = ['plan', str(SCENARIOS / f'spin_rolling_{name}.yaml'), '--out', str(file)]
    assert main(arguments) == 0
    assert 'goal reached' in capsys.readouterr().out
    result = json.loads(file.read_text())
    assert result['report']['method'] == method
    assert result['goal_error'] < 1e-9
    assert len(result['arrays']['contact_s']['values']) == len(result['arrays']['time']['values'])


def test_bounds_that_forbid_spin_are_refused_by_entry(tmp_path, capsys):
    text = (SCENARIOS / 'spin_rolling_plan.yaml').read_text()
    path = tmp_path / 'no_spin.yaml'
    path.write_text(text.replace('bounds: {delta: 0.02}', 'bounds: {delta: 0.02, gamma_s: 1}'))
    assert main(['plan', str(path), '--out', str(tmp_path / 'x.json')]) == 2
    said = capsys.readouterr().err
    assert 'plan.bounds: spin in place needs gamma_s = 1/R = 50 1/m' in said
    assert "use the mode 'pure_rolling'" in said


def test_pure_rolling_on_a_fingertip_by_command(tmp_path, capsys):
    text = (SCENARIOS / 'spin_rolling_plan.yaml').read_text()
    path, out = tmp_path / 'fingertip.yaml', tmp_path / 'x.json'
    path.write_text(text.replace('plan:\n', 'plan:\n  mode: pure_rolling\n'))
    assert main(['plan', str(path), '--out', str(out)]) == 0
    place = np.array(json.loads(out.read_text())['arrays']['contact_s']['values'])
    assert np.max(np.abs(place)) <= 0.02 + 1e-9
    assert 'method              rolls and loops' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('changes', 'text'),
    [
        ({'goal': {'u_s': 1}, 'region': {'u_bounds': [-0.5, 0.5]}}, 'plan.goal: u_s = 1 m lies'),
        ({'goal': {'w': 1}}, 'plan.goal.w: unknown entry'),
        ({'goal': {'u_s': 1}, 'bounds': {'delta': 0}}, 'plan.bounds.delta: must be positive'),
        ({'goal': {'u_s': 1}, 'region': {'half_angle': 9}}, 'plan.region.half_angle: must'),
        ({'goal': {'u_s': 1}, 'mode': 'slip'}, 'plan.mode: got'),
        ({'goal': {'u_s': 0}, 'region': {'u_bounds': [0.1, 0.5]}}, 'initial: u_s = 0 m lies'),
        ({}, 'plan.goal: is missing'),
    ],
)
def test_bad_plan_section_is_refused_by_entry(changes, text):
    with pytest.raises(ScenarioError, match=text):
        read_spin_rolling_problem(load_scenario(scenario(plan=changes)))
