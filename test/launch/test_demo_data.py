"""What the demonstrations ask for, how they begin and what they draw: without nodes."""

from dataclasses import replace
import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.machine import PARAMETERS
from rolling_dynamics.scenario import load_scenario
from rolling_planner.plan import Plan
from rolling_robotics.demo import run, verdict
from rolling_robotics.demo.demo import Demo
from rolling_robotics.demo.laboratory.demos import LABORATORY
from rolling_robotics.demo.record import Execution, Record, Stream
from rolling_robotics.demo.report import conclude, progress_text
from rolling_robotics.demo.verdict import judged, MISSED, REACHED, too_late, VOID, VOID_SHARE
from rolling_robotics.experiments import EXPERIMENTS, find_experiment

STEPS = 60
ALL = {name: experiment.load_demo() for name, experiment in EXPERIMENTS.items()}
DEMOS = {name: demo for name, demo in ALL.items() if isinstance(demo, Demo)}


def scenario_of(name):
    return load_scenario(find_experiment(name).scenario_file)


def execution(name, scenario, *, shift):
    """An execution that stays where it starts, but for a shift of its first coordinate."""
    x = scenario.x0.copy()
    x[moved(scenario)] += shift
    run = Execution(
        code=0,
        final_error=abs(shift),
        tolerance=0.05,
        final_state=dict(zip(scenario.system.state.names, x, strict=True)),
        start=5.0,
        times=list(np.linspace(0.0, 1.0, STEPS)),
        errors=[0.1 + abs(shift)] * STEPS,
    )
    rows = {'joints': x, 'force': [0.1, 0.0, 9.0]}
    if name in ('ball_on_plate', 'butterfly'):
        rows['joints'] = [0.0, 0.0, shift, 0.0, 0.0]
    for topic, kind in DEMOS[name].watched.items():
        run.seen[topic] = Stream(
            stamps=list(5.0 + np.linspace(-0.2, 1.2, STEPS)), rows=[rows[kind]] * STEPS
        )
    return run


def moved(scenario):
    """Return which number of the state says where the robot is, along x."""
    names = list(scenario.system.state.names)
    return next(
        names.index(n) for n in ('u_h', 'path_along', 'contact_x', 'u_s', 'p_x') if n in names
    )


def record_of(name):
    scenario = scenario_of(name)
    state, control = scenario.system.state.names, scenario.system.control.names
    states = np.tile(scenario.x0, (STEPS, 1))
    states[:, moved(scenario)] += np.linspace(-0.01, 0.0, STEPS)
    plan = Plan(
        system=scenario.system.name,
        model_hash=scenario.system.model_hash,
        times=np.linspace(0.0, 1.0, STEPS),
        states=states,
        controls=np.ones((STEPS, len(control))),
        state_names=list(state),
        control_names=list(control),
        contact_wrenches=np.tile([0, 0, 0, 0.1, 0.0, 9.0], (STEPS, 1)),
    )
    runs = {
        'open loop': execution(name, scenario, shift=0.004),
        'closed loop': execution(name, scenario, shift=0.001),
    }
    return Record(scenario=scenario, places=DEMOS[name].places(scenario), plan=plan, runs=runs)


def test_every_experiment_has_a_demonstration():
    own = {name for name, demo in ALL.items() if hasattr(demo, 'perform')}
    assert {*DEMOS, *LABORATORY, *own} == set(ALL)
    assert own == {'ball_balancer', 'labyrinth'}
    with pytest.raises(ParameterError, match="did you mean 'ball_on_plate'"):
        find_experiment('ball_on_moon')


DRAWN = [n if n == 'ball_on_plate' else pytest.param(n, marks=pytest.mark.slow) for n in DEMOS]


class TestEveryDemonstration:
    @pytest.mark.slow
    @pytest.mark.parametrize('name', DEMOS)
    def test_draws_its_figure_and_tells_both_errors(self, name, tmp_path, capsys):
        assert conclude(DEMOS[name], record_of(name), tmp_path) == REACHED
        assert (tmp_path / f'{name}.png').read_bytes()[:4] == b'\x89PNG'
        lines = capsys.readouterr().out.splitlines()
        told = {line[2:13].strip(): line.split()[2:] for line in lines if ' loop ' in line}
        for label, shift in (('open loop', 0.004), ('closed loop', 0.001)):
            error, distance = map(float, told[label])
            assert error == pytest.approx(shift)
            assert distance == pytest.approx(1e3 * shift, rel=2e-3)
        assert 'under feedback the error is 4 times smaller' in lines
        assert 'margin: 50 times (0.001 where 0.05 is allowed)' in lines

    @pytest.mark.parametrize('name', DRAWN)
    def test_a_missed_goal_is_no_success_and_what_was_seen_is_drawn(self, name, tmp_path, capsys):
        record = record_of(name)
        seen = {topic: Stream() for topic in DEMOS[name].watched}
        record.runs['closed loop'] = Execution(code=1, text='refused', seen=seen)
        assert conclude(DEMOS[name], record, tmp_path) == MISSED
        assert (tmp_path / f'{name}.png').exists()
        told = capsys.readouterr().out
        assert 'the goal was missed: refused' in told
        assert 'times smaller' not in told

    @pytest.mark.parametrize('name', DEMOS)
    def test_a_run_on_a_late_machine_is_void_whatever_came_out(self, name, tmp_path, capsys):
        undrawn = replace(DEMOS[name], draw=lambda *_: None)
        for code, void, outcome in ((5, '', MISSED), (5, 'late', VOID), (0, 'late', VOID)):
            record = record_of(name)
            closed_loop = record.runs['closed loop']
            closed_loop.code, closed_loop.void = code, void
            assert conclude(undrawn, record, tmp_path) == outcome
        assert 'the run is void: late' in capsys.readouterr().out

    @pytest.mark.parametrize('name', DEMOS)
    def test_starts_off_by_what_the_robot_can_be_moved(self, name):
        demo = DEMOS[name]
        assert any(demo.position_off)
        assert 'mm off in position' in demo.perturbation_text()

    @pytest.mark.parametrize('name', DEMOS)
    def test_watches_topics_that_are_recorded(self, name):
        assert set(DEMOS[name].watched) <= set(EXPERIMENTS[name].recorded)


def test_samples_are_those_of_the_execution_by_the_time_of_the_plan():
    run = Execution(start=10.0, times=[0.0, 0.5])
    run.seen['a'] = Stream(stamps=[9.9, 10.0, 10.4, 11.0], rows=[[0], [1], [2], [3]])
    times, rows = run.samples('a')
    np.testing.assert_allclose(times, [0.0, 0.4])
    assert rows.tolist() == [[1.0], [2.0]]


def test_goals_are_those_of_the_scenarios():
    ball = DEMOS['ball_on_plate'].request(scenario_of('ball_on_plate'))
    assert ball.goal['v_h'] == -0.033
    assert ball.goal['q_HO_x'] == pytest.approx(math.sqrt(0.5))
    assert ball.horizon == 2.0
    spin = DEMOS['spin_rolling'].request(scenario_of('spin_rolling'))
    assert spin.goal == {'u_s': -0.005, 'v_s': 0.01, 'u_o': -0.5, 'v_o': -0.3, 'psi': math.pi / 2}
    masses = DEMOS['point_mass_ball'].request(scenario_of('point_mass_ball'))
    assert masses.goal['path_along'] == 3.0
    assert masses.horizon == 10.0
    course = DEMOS['pendulum_sphere'].request(scenario_of('pendulum_sphere'))
    assert not course.goal
    assert course.text.startswith('rest at (2.6, 1.8) m, by way of 7 waypoints (1 with a rest)')


def test_the_plant_of_the_pendulum_has_other_masses_and_is_else_that_of_the_plan():
    planned = PARAMETERS.unpack(scenario_of('pendulum_sphere').p)
    plant = PARAMETERS.unpack(load_scenario(DEMOS['pendulum_sphere'].plant_file).p)
    of_shell, of_pendulum = (
        ('shell_mass', 'shell_inertia'),
        (
            'pendulum_mass',
            'pendulum_inertia',
            'pendulum_excess',
        ),
    )
    factors = dict.fromkeys(of_shell, 1.1) | dict.fromkeys(of_pendulum, 0.9)
    for name, value in planned.items():
        np.testing.assert_allclose(plant[name], factors.get(name, 1.0) * value, err_msg=name)


def test_what_a_planner_does_not_tell_is_not_printed():
    class Feedback:
        segments, iteration, cost, violation, goal_error = 8, 2, 3.5, math.nan, math.nan

    assert progress_text(Feedback()) == '   8 segments, iteration   2, cost 3.5'


@pytest.mark.ros
@pytest.mark.parametrize(('asked', 'times'), [(None, [False, True]), (False, [False])])
def test_a_void_run_is_repeated_in_simulated_time(monkeypatch, tmp_path, asked, times):
    done = []

    def outcome(_demo, _out, *, use_sim_time):
        done.append(use_sim_time)
        return REACHED if use_sim_time else VOID

    monkeypatch.setattr(run, '_outcome', outcome)
    monkeypatch.setattr(verdict, 'unpunctual', lambda: '')
    assert run.run_demo('ball_on_plate', tmp_path, use_sim_time=asked) == (
        REACHED if asked is None else VOID
    )
    assert done == times


@pytest.mark.parametrize(
    ('wanted', 'sim', 'repeats', 'runs'),
    [
        (None, False, False, [False, True]),
        (None, False, True, [False, True]),
        (None, True, False, [True, True]),
        (None, True, True, [True]),  # what was void in it was run again already
        (True, True, False, [True, True]),
        (False, False, False, [False]),
    ],
)
def test_what_is_void_is_run_again_once_and_in_simulated_time(wanted, sim, repeats, runs):
    for outcomes in ([VOID, VOID], [VOID, REACHED], [VOID, MISSED], [REACHED], [MISSED]):
        done = []

        def run(in_sim, outcomes=outcomes, done=done):
            done.append(in_sim)
            return outcomes[len(done) - 1]

        expected = runs if outcomes[0] == VOID else runs[:1]
        assert judged(run, wanted, sim=sim, repeats=repeats) == outcomes[len(expected) - 1]
        assert done == expected


def test_a_share_of_missed_deadlines_that_is_allowed_is_not_late():
    assert too_late(VOID_SHARE, 'controller') == ''
    assert too_late(0.3, 'controller').startswith('controller missed 30% of its deadlines in a se')
