"""Scenario files of the sphere with a pendulum."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.pendulum_sphere.parameters import paper_parameters, scales_of
from rolling_dynamics.pendulum_sphere.system import PendulumSphere
from rolling_dynamics.scenario import load_scenario
from rolling_planner.gait_planner.problem import read_gait_problem
from rolling_robotics.cli import main
from rolling_robotics.result import simulate_scenario

FOLDER = Path(__file__).parents[2] / 'config' / 'scenarios'
FILES = sorted(FOLDER.glob('pendulum_*.yaml'))
LAYOUT = PendulumSphere().state


def velocity(x):
    Omega = x[LAYOUT.slice('w_WS_W')]
    return 0.15 * np.array([Omega[1], -Omega[0]])


def test_there_are_scenarios():
    assert len(FILES) >= 4


@pytest.mark.parametrize('path', FILES, ids=lambda p: p.stem)
def test_scenario_runs_to_its_end_inside_the_envelope(path):
    run = simulate_scenario(load_scenario(path))
    assert run.times[-1] == pytest.approx(load_scenario(path).duration)
    assert run.terminal_event is None


def test_start_and_stop_in_the_units_of_the_paper():
    scenario = load_scenario(FOLDER / 'pendulum_start.yaml')
    scales = scales_of(paper_parameters())
    assert scenario.duration == pytest.approx(13 * scales.time)
    run = simulate_scenario(scenario)
    between = int(np.searchsorted(run.times, 6 * scales.time))
    rolling = velocity(run.states[between])
    np.testing.assert_allclose(rolling, [0.5 * scales.unit('velocity'), 0], atol=1e-8)
    np.testing.assert_allclose(velocity(run.states[-1]), 0, atol=1e-8)


def test_turn_by_the_angle_of_example_2():
    run = simulate_scenario(load_scenario(FOLDER / 'pendulum_turn.yaml'))
    vx, vy = velocity(run.states[-1])
    assert math.degrees(math.atan2(vy, vx)) == pytest.approx(40, abs=1e-6)


def document(**changes):
    return {'system': 'pendulum_sphere', 'duration': 1, **changes}


def sphere(**changes):
    return {
        'shell_mass': 0.1,
        'shell_radius': 0.15,
        'pendulum_mass': 1,
        'pendulum_length': 0.0375,
        'disk_radius': 0.138,
        **changes,
    }


@pytest.mark.parametrize(
    ('bad', 'text'),
    [
        ({'sphere': sphere(pendulum_length=0.2)}, r'sphere: .*does not fit.*less than 0\.15 m'),
        ({'sphere': sphere(pendulum_inertia=1)}, r'sphere\.disk_radius: give either'),
        ({'sphere': sphere(shell_radios=1)}, r'shell_radios.*shell_radius'),
        ({'floor': {'slope': 0.4}}, r'no equilibrium.*at most 13\.'),
        (
            {'drive': {'gaits': [{'start': 0, 'period': 0.2, 'speed_change': 2, 'direction': 0}]}},
            r'drive\.gaits\[0\]: a change of speed by 2 m/s.*at most',
        ),
        (
            {'drive': {'gaits': [{'start': 0, 'period': 1, 'turn_angle': 1}]}},
            r'drive\.gaits\[0\]\.turn_angle: one swing turns a motion',
        ),
        (
            {
                'drive': {
                    'gaits': [
                        {'start': 0, 'period': 1, 'speed_change': 0.1},
                        {'start': 0.5, 'period': 1, 'speed_change': 0.1},
                    ]
                }
            },
            r'gaits\[1\]\.start: the gait before ends at 1',
        ),
        ({'drive': {'torque': ['t', 'y', 0]}}, r"drive\.torque.*'y'"),
        ({'units': 'imperial'}, r'units: got'),
    ],
)
def test_bad_entries_are_refused_with_their_path(bad, text):
    with pytest.raises(ScenarioError, match=text):
        load_scenario(document(**bad))


@pytest.mark.slow
def test_plan_of_gaits_from_a_file(tmp_path, capsys):
    out = tmp_path / 'plan.json'
    assert main(['plan', str(FOLDER / 'pendulum_course.yaml'), '--out', str(out)]) == 0
    result = json.loads(out.read_text())
    assert result['reached']
    assert result['goal_error'] < 1e-3  # the torque alone, open loop
    assert len(result['swings']) > 8
    assert 'goal reached' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('plan', 'text'),
    [
        (
            {
                'waypoints': [{'position': [1, 0]}],
                'obstacles': [{'center': [1, 0.1], 'radius': 0.2}],
            },
            r'plan: waypoints\[0\].*inside obstacles\[0\].*nearest free point',
        ),
        ({'waypoints': [{'position': [1, 0], 'tolerence': 1}]}, r'tolerence.*tolerance'),
        ({'waypoints': []}, r'plan\.waypoints'),
    ],
)
def test_bad_manoeuvres_are_refused(plan, text):
    with pytest.raises(ScenarioError, match=text):
        read_gait_problem(load_scenario(document(plan=plan)))


def test_check_reads_the_manoeuvre_too(tmp_path, capsys):
    """`rolling check` finds what is wrong with a plan, without planning."""
    source = (FOLDER / 'pendulum_course.yaml').read_text()
    path = tmp_path / 'course.yaml'
    path.write_text(source)
    assert main(['check', str(path)]) == 0
    path.write_text(source.replace('position: [1, 0.3]', 'position: [1.5, 0.3]'))
    assert main(['check', str(path)]) == 2
    assert 'waypoints[0] (1.5, 0.3) lies inside obstacles[0]' in capsys.readouterr().err


def test_pendulum_may_turn_at_the_start():
    """In either units; the state holds it in rad/s."""
    turning = [0.1, -0.2, 0.3]
    initial = {'pendulum': {'theta': 0.2, 'angular_velocity': turning}}
    where = LAYOUT.slice('w_WP_W')
    base = {'system': 'pendulum_sphere', 'duration': 1, 'initial': initial}
    assert load_scenario(base).x0[where] == pytest.approx(turning)
    t_0 = scales_of(paper_parameters()).time
    scaled = load_scenario({**base, 'units': 'dimensionless'})
    assert scaled.x0[where] == pytest.approx(np.array(turning) / t_0)


def test_forces_are_written(tmp_path):
    """Friction over normal force; the joint carries the pendulum's weight where all rests."""
    out = tmp_path / 'out.json'
    assert main(['simulate', str(FOLDER / 'pendulum_start.yaml'), '--out', str(out)]) == 0
    arrays = json.loads(out.read_text())['arrays']
    force = np.array(arrays['f_contact']['values'])
    ratio = np.hypot(force[:, 0], force[:, 1]) / force[:, 2]
    assert arrays['mu_needed']['values'] == pytest.approx(ratio)
    params = paper_parameters()
    at_rest = [0, 0, -params.pendulum_mass * params.gravity]
    assert arrays['joint_force']['values'][-1] == pytest.approx(at_rest, abs=1e-9)
