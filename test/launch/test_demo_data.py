"""What the demonstrations ask for, how they begin, and how they are judged: without nodes."""

from contextlib import nullcontext
from dataclasses import replace
import math
from types import SimpleNamespace

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.system import PARAMETERS
from rolling_dynamics.scenario import load_scenario
from rolling_robotics.arrays import layout_series
from rolling_robotics.demo import clock, run
from rolling_robotics.demo import demo as demo_module
from rolling_robotics.demo.clock import judged, too_late
from rolling_robotics.demo.demo import Demo, PlanTask
from rolling_robotics.demo.laboratory import LABORATORY
from rolling_robotics.demo.run import draw
from rolling_robotics.experiments import EXPERIMENTS, find_experiment
from rolling_robotics.plugins.ball_balancer.demo import EveryJump, JUMPS
from rolling_robotics.plugins.ball_balancer.demo import legs as jumps
from rolling_robotics.trials.trial import (
    CLOSED_LOOP,
    INCONCLUSIVE,
    MISSED,
    OPEN_LOOP,
    outcomes,
    progress_text,
    REACHED,
    Record,
    report,
    run_trials,
)

ALL = {name: experiment.load_demo() for name, experiment in EXPERIMENTS.items()}
PLANS = {name: demo for name, demo in ALL.items() if isinstance(demo.task, PlanTask)}
TIMES = np.linspace(0.0, 1.0, 60)


def scenario_of(name):
    return load_scenario(find_experiment(name).scenario_file)


def executed(name, error, **options):
    """Return the record of an execution that stays where it starts."""
    system, x = scenario_of(name).system, scenario_of(name).x0
    series = layout_series(system.state, np.tile(x, (len(TIMES), 1)))
    options = {'end': 1.0, 'values': {'error': error, 'tolerance': 0.05}, **options}
    return Record(times=TIMES, arrays=series, **options)


def concluded(name, *records):
    """Report the closed-loop and the open-loop execution of a demonstration."""
    trials = PLANS[name].all_trials()
    assert [trial.law for trial in trials] == [CLOSED_LOOP, OPEN_LOOP]
    return report(trials, outcomes(trials, records), PLANS[name].law)


def test_every_experiment_has_a_demonstration():
    assert all(isinstance(demo, Demo) for demo in ALL.values())
    assert {*PLANS, *LABORATORY, 'ball_balancer', 'labyrinth'} == set(ALL)
    with pytest.raises(ParameterError, match="did you mean 'ball_on_plate'"):
        find_experiment('ball_on_moon')


@pytest.mark.parametrize('name', ['ball_on_plate', 'pendulum_sphere'])
def test_both_errors_and_the_margin_are_printed_and_drawn(name, tmp_path, capsys):
    records = executed(name, 0.001), executed(name, 0.1, ended='the goal was missed by 0.1')
    assert concluded(name, *records) == REACHED
    lines = capsys.readouterr().out.splitlines()
    assert ['closed_loop', '1', 'of', '1'] in [line.split() for line in lines]
    assert ['open_loop', '0', 'of', '1'] in [line.split() for line in lines]
    assert any(line.startswith('margin: 50 times (0.001 where 0.05 is allowed)') for line in lines)
    assert any('failure: the goal was missed by 0.1' in line for line in lines)
    figure = tmp_path / f'{name}.png'
    draw(PLANS[name], [replace(r, law=law) for r, law in zip(records, 'ab', strict=True)], figure)
    assert figure.read_bytes()[:4] == b'\x89PNG'


def test_a_missed_goal_is_a_failure_and_a_trial_on_a_late_machine_is_inconclusive(capsys):
    good, missed = (
        executed('ball_on_plate', 0.001),
        executed('ball_on_plate', 0.1, ended='refused'),
    )
    assert concluded('ball_on_plate', missed, good) == MISSED
    assert 'failure: refused' in capsys.readouterr().out
    for record in (good, missed):
        late = replace(record, inconclusive='late')
        assert concluded('ball_on_plate', late, good) == INCONCLUSIVE
    assert concluded('ball_on_plate', good, replace(good, inconclusive='late')) == REACHED
    assert 'inconclusive: late' in capsys.readouterr().out


def test_a_trial_without_a_plan_is_a_failure(tmp_path):
    records = [Record(ended='no plan: too far')] * 2
    assert PLANS['ball_on_plate'].task.read(tmp_path, records) == records
    assert concluded('ball_on_plate', *records) == MISSED
    draw(PLANS['ball_on_plate'], records, tmp_path / 'none.png')


def test_a_trial_that_was_rejected_has_no_execution_in_the_recording(monkeypatch, tmp_path):
    first, second = (Record(times=TIMES + k, plan=f'plan {k}') for k in range(2))
    recording = 'rolling_robotics.nodes.recorded.Recorded', lambda *_: nullcontext()
    monkeypatch.setattr(*recording)
    found = 'rolling_robotics.nodes.replay.executions.recorded_executions'
    monkeypatch.setattr(found, lambda _: [first, second])
    rejected = Record(ended='the plan starts 1.57 away', values={'error': math.nan})
    records = [Record(number=0, values={'error': 0.0}), rejected, Record(number=1)]
    one, other, two = PLANS['ball_on_plate'].task.read(tmp_path, records)
    assert (one.plan, other, two.plan) == ('plan 0', rejected, 'plan 1')


@pytest.mark.parametrize('name', PLANS)
def test_starts_off_by_what_the_robot_can_be_moved(name):
    for trial in PLANS[name].all_trials():
        assert any(trial.position)
        assert 'mm off' in trial.text()


def test_a_law_that_is_chosen_drives_the_trials_that_have_to_succeed():
    demo = PLANS['ball_on_plate'].under('predictive')
    settings = {trial.law: trial.settings for trial in demo.all_trials()}
    assert settings[CLOSED_LOOP] == {'open_loop': False, 'law': 'predictive'}
    assert settings[OPEN_LOOP]['open_loop']
    flip_up = LABORATORY['flip_up'].under('predictive')
    laws = ['predictive', 'closed_loop', 'replay_balance', 'open_loop']
    assert (flip_up.law, list(flip_up.lengths())) == ('predictive', laws)
    (jump,) = ALL['ball_balancer'].under('lqr').all_trials()
    assert jump.settings == {'law': 'lqr'}


@pytest.mark.parametrize(
    ('kept', 'text'),
    [
        (np.r_[:60], ''),
        (np.r_[:30], 'samples are missing from 0.492 to 1.000 s'),
        (np.r_[30:60], 'samples are missing from 0.000 to 0.508 s'),
        (np.r_[:0], 'samples are missing from 0.000 to 1.000 s'),
        (np.r_[:20, 30:60], 'samples are missing from 0.322 to 0.508 s'),
        (np.r_[:20, 24:60], ''),
    ],
)
def test_missing_samples_are_named(kept, text):
    record = Record(times=TIMES[kept], end=1.0)
    assert record.missing() == text
    later = '' if kept.size and kept[0] == 0 and text.endswith('1.000 s') else text
    assert replace(record, ended='asked to stop').missing() == ('' if not kept.size else later)


@pytest.mark.parametrize('off', [0.0, 6e-3])
def test_every_jump_of_the_set_point_is_judged(off):
    """A ball that is where it is asked to be half a second later, or 6 mm beside it."""
    places = np.array([leg.place for leg in jumps(None)])
    times = np.arange(0.0, JUMPS * jumps(None)[0].seconds, 0.01)
    number = (times // jumps(None)[0].seconds).astype(int) + 1
    late = np.where(
        (times % jumps(None)[0].seconds < 0.5)[:, None], places[number - 1], places[number]
    )
    system, _ = ALL['ball_balancer'].task.file.system_and_parameters()
    states = np.zeros((len(times), system.state.size))
    states[:, :2] = late + np.array([off, 0.0])
    names = system.state.entry('ball').components
    record = Record(
        times=times,
        arrays=layout_series(system.state, states),
        planned=dict(zip(names, ((times, goal) for goal in places[number].T), strict=True)),
        end=times[-1],
    )
    found = EveryJump().jumps(record)
    assert len(found) == JUMPS
    assert [j.rise for j in found] == pytest.approx([0.5] * JUMPS, abs=0.02)
    outcome = EveryJump().outcome(record)
    assert outcome.error == pytest.approx(1e3 * off)
    assert bool(outcome.failure) == bool(off)
    assert f'{0 if off else 4} of 4 jumps ended within 5 mm' in outcome.text


def test_goals_are_those_of_the_scenarios():
    ball = PLANS['ball_on_plate'].task.request(scenario_of('ball_on_plate'))
    assert ball.goal['v_h'] == -0.033
    assert ball.goal['q_HO_x'] == pytest.approx(math.sqrt(0.5))
    assert ball.horizon == 2.0
    spin = PLANS['spin_rolling'].task.request(scenario_of('spin_rolling'))
    assert spin.goal == {'u_s': -0.005, 'v_s': 0.01, 'u_o': -0.5, 'v_o': -0.3, 'psi': math.pi / 2}
    masses = PLANS['point_mass_ball'].task.request(scenario_of('point_mass_ball'))
    assert masses.goal['path_along'] == 3.0
    assert masses.horizon == 10.0
    course = PLANS['pendulum_sphere'].task.request(scenario_of('pendulum_sphere'))
    assert not course.goal
    assert course.text.startswith('rest at (2.6, 1.8) m, by way of 7 waypoints (1 with a rest)')


def test_the_plant_of_the_pendulum_has_other_masses_and_is_else_that_of_the_plan():
    planned = PARAMETERS.unpack(scenario_of('pendulum_sphere').p)
    plant = PARAMETERS.unpack(load_scenario(PLANS['pendulum_sphere'].task.plant_file).p)
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


def test_what_a_planner_does_not_report_is_not_printed():
    class Feedback:
        segments, iteration, cost, violation, goal_error = 8, 2, 3.5, math.nan, math.nan

    assert progress_text(Feedback()) == '   8 segments, iteration   2, cost 3.5'


@pytest.mark.ros
@pytest.mark.parametrize(('asked', 'times'), [(None, [False, True]), (False, [False])])
def test_an_inconclusive_run_by_the_clock_is_repeated(monkeypatch, tmp_path, asked, times):
    done = []

    def performed(_demo, trials, _out, *, use_sim_time, **_):
        done.append(use_sim_time)
        record = executed('ball_on_plate', 0.001, inconclusive='' if use_sim_time else 'late')
        return [record] * len(trials), tmp_path

    monkeypatch.setattr(run, 'performed', performed)
    monkeypatch.setattr(clock, 'unpunctual', lambda: '')
    status = run.run_demo('ball_on_plate', tmp_path, use_sim_time=asked)
    assert status == (REACHED if asked is None else INCONCLUSIVE)
    assert done == times


@pytest.mark.parametrize(
    ('wanted', 'sim', 'runs'),
    [
        (None, False, [False, True]),
        (None, True, [True]),  # what was inconclusive in it was run again already
        (True, True, [True]),
        (False, False, [False]),
    ],
)
def test_what_is_inconclusive_is_run_again_once_and_in_simulated_time(wanted, sim, runs):
    last = INCONCLUSIVE
    for results in ([last, last], [last, REACHED], [last, MISSED], [REACHED], [MISSED]):
        done = []

        def run(in_sim, results=results, done=done):
            done.append(in_sim)
            return results[len(done) - 1]

        expected = runs if results[0] == INCONCLUSIVE else runs[:1]
        assert judged(run, wanted, sim=sim) == results[len(expected) - 1]
        assert done == expected


def test_a_share_of_missed_deadlines_that_is_allowed_is_not_late():
    assert too_late(clock.MISSED, 'controller') == ''
    assert too_late(0.3, 'controller').startswith('controller missed 30% of its deadlines in a se')


@pytest.mark.parametrize('name', ['ball_on_plate', 'spin_rolling'])
def test_without_nodes_feedback_reaches_the_goal_that_open_loop_misses(name, tmp_path, capsys):
    assert run.run_demo(name, tmp_path, ros=False) == REACHED
    printed = capsys.readouterr().out.splitlines()
    rows = {tuple(line.split()) for line in printed}
    assert ('closed_loop', '1', 'of', '1') in rows
    assert ('open_loop', '0', 'of', '1') in rows
    assert 'successes           in lockstep' in printed
    assert (tmp_path / f'{name}.png').read_bytes()[:4] == b'\x89PNG'


@pytest.mark.slow
def test_without_nodes_the_predictive_law_reaches_the_goal(tmp_path, capsys):
    assert run.run_demo('ball_on_plate', tmp_path, law='predictive', ros=False) == REACHED
    rows = {tuple(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert ('closed_loop', '1', 'of', '1') in rows


@pytest.mark.slow
def test_a_robot_reaches_its_goal_by_its_emulated_sensors(tmp_path, capsys):
    """In lockstep; judged by the true state, as that of the nodes is."""
    assert run.run_demo('two_wheeler', tmp_path, hardware='emulated', ros=False) == REACHED
    rows = {tuple(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert ('closed_loop', '1', 'of', '1') in rows


def test_nodes_that_estimate_the_state_are_judged_by_the_true_one(monkeypatch):
    demo = find_experiment('two_wheeler').load_demo().on('emulated')
    (trial,) = demo.all_trials()
    assert (trial.position, trial.law) == ((0.0, 0.0), CLOSED_LOOP)
    ignored = demo.task.overrides(use_sim_time=True, rate=0.0)['controller']
    system, x = scenario_of('two_wheeler').system, scenario_of('two_wheeler').x0
    plan = SimpleNamespace(states=np.array([x, x]), duration=1.0)
    for error, ended in ((0.0, ''), (0.3, 'the goal was missed by 0.3; goal_tolerance is 0.2')):
        there = x.copy()
        there[0] += error
        series = layout_series(system.state, np.tile(there, (len(TIMES), 1)))
        found = replace(executed('two_wheeler', 7.0, number=0), arrays=series, plan=plan)
        judged_by = demo.task._driver.judged(found, measured=True)
        assert judged_by.ended == ended
        assert judged_by.values['error'] == pytest.approx(error)
    assert ignored['goal_tolerance'] > 7.0


@pytest.mark.parametrize('name', ['omni_cart', 'spin_rolling'])
def test_a_robot_without_sensors_has_none_to_emulate(name, tmp_path):
    with pytest.raises(ParameterError, match='another needs sensors in its scenario'):
        run.run_demo(name, tmp_path, hardware='emulated', ros=False)


def test_the_plan_of_the_nodes_is_the_one_that_is_executed_in_lockstep(monkeypatch):
    """It is not made again; a trial without one is left out."""
    task, trials = PLANS['ball_on_plate'].task, PLANS['ball_on_plate'].all_trials()
    monkeypatch.setattr(demo_module, 'planned', lambda *_: pytest.fail('planned again'))
    assert task.runner([Record(ended='no plan')] * 2) is None
    assert list(run_trials(trials, [Record(ended='no plan')] * 2)) == []
