"""Trials of the laboratory: what counts as success, what is told and drawn; without nodes."""

from dataclasses import replace
import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.laboratory import FLAT
from rolling_robotics.bringup import Bringup
from rolling_robotics.commands import demo as command
from rolling_robotics.demo.laboratory import recorded_trials, report, run
from rolling_robotics.demo.laboratory.demos import LABORATORY
from rolling_robotics.demo.laboratory.run import run_laboratory
from rolling_robotics.demo.laboratory.trial_offsets import offset
from rolling_robotics.demo.laboratory.trial_record import pitch, tilt, TrialSeen
from rolling_robotics.demo.laboratory.verdict import end_error, failure, rest_time, unjudged
from rolling_robotics.demo.verdict import MISSED, REACHED, VOID
from rolling_robotics.experiments import EXPERIMENTS
from rolling_robotics.hardware import EMULATED, REAL, SIMULATED
from rolling_robotics.recordings.recorded_topics import RecordedPoses

FLIP_UP, THROW, DAMPING = (LABORATORY[n] for n in ('flip_up', 'throw_catch', 'damping'))
ROLLING = [(0.0, 'rolling')]
FLIGHT = [*ROLLING, (0.3, 'separated'), (0.86, 'slipping'), (0.9, 'rolling')]


def turned(angles):
    """Return the attitudes of turns about y."""
    half = np.asarray(angles) / 2
    return np.column_stack([np.cos(half), 0 * half, np.sin(half), 0 * half])


def trial(demo, angle, law='closed_loop', **options):
    """Return a trial whose angle is a function of time."""
    times = np.arange(0.0, demo.lengths()[law] + 1e-9, 0.01)
    angles = np.vectorize(angle)(times)
    values = {'seed': 1, 'offset': offset(1), 'modes': ROLLING, **options}
    return TrialSeen(law=law, times=times, attitudes=turned(angles), **values)


def flipped(t):
    return FLAT * max(1 - t / 2, 0.0)


def test_a_flip_up_that_ends_upright_has_succeeded():
    assert failure(FLIP_UP, trial(FLIP_UP, flipped)) == ''
    assert end_error(FLIP_UP, trial(FLIP_UP, flipped)) == 0.0


def test_what_goes_wrong_is_told_with_its_time():
    late = trial(FLIP_UP, lambda t: 0.06 if t > 6.0 else flipped(t))
    assert failure(FLIP_UP, late) == '+0.060 rad off the goal at 6.010 s'
    early = trial(FLIP_UP, lambda t: 0.06 if 3.0 < t < 4.0 else flipped(t))
    assert failure(FLIP_UP, early) == ''  # only the last seconds count
    lost = trial(FLIP_UP, flipped, modes=[*ROLLING, (1.5, 'separated'), (1.6, 'rolling')])
    assert failure(FLIP_UP, lost) == 'contact lost at 1.500 s'
    slid = trial(FLIP_UP, flipped, modes=[*ROLLING, (2.5, 'slipping')])
    assert failure(FLIP_UP, slid) == 'friction cone left at 2.500 s'
    ended = trial(FLIP_UP, flipped, complete=False, reason='asked to stop')
    assert failure(FLIP_UP, ended) == 'ended early: asked to stop'


@pytest.mark.parametrize(
    ('kept', 'text', 'ended'),
    [
        (np.r_[:701], '', ''),
        (np.r_[:300], 'not seen from 2.990 to 7.000 s', ''),  # of what ended early, nothing
        (np.r_[300:701], 'not seen from 0.000 to 3.000 s', 'not seen from 0.000 to 3.000 s'),
        (np.r_[:0], 'not seen from 0.000 to 7.000 s', ''),
        (np.r_[:100, 150:701], *2 * ['not seen from 0.990 to 1.500 s']),
        (np.r_[:100, 118:701], '', ''),
    ],
)
def test_a_trial_with_missing_samples_is_not_judged(kept, text, ended):
    seen = trial(FLIP_UP, flipped)
    seen.times, seen.attitudes = seen.times[kept], seen.attitudes[kept]
    assert unjudged(FLIP_UP, seen) == text
    seen.complete = False
    assert unjudged(FLIP_UP, seen) == ended


@pytest.mark.parametrize('angle', [flipped, lambda _: FLAT])
def test_a_trial_on_a_late_machine_is_not_judged_whatever_came_out(angle):
    assert unjudged(FLIP_UP, trial(FLIP_UP, angle, void='the controller was late')) == (
        'the controller was late'
    )
    assert unjudged(FLIP_UP, trial(FLIP_UP, angle)) == ''


def test_a_throw_needs_one_flight_and_may_land_on_either_end():
    turning = [lambda t, k=k: FLAT + (k * math.pi - FLAT) * min(t, 1.0) for k in (0, 1)]
    for angle in turning:
        assert failure(THROW, trial(THROW, angle, modes=FLIGHT)) == ''
    assert failure(THROW, trial(THROW, turning[1])) == '0 flights, 1 are wanted'
    twice = [*FLIGHT, (2.0, 'separated')]
    assert failure(THROW, trial(THROW, turning[1], modes=twice)) == 'contact lost at 2.000 s'


def test_angles_go_on_through_half_turns_and_signs_of_quaternions():
    angles = np.linspace(-math.pi / 2, 2.5 * math.pi, 200)
    signs = np.where(np.arange(200) % 2, 1.0, -1.0)
    np.testing.assert_allclose(pitch(signs[:, None] * turned(angles)), angles, atol=1e-12)
    q = [math.cos(0.2), 0.6 * math.sin(0.2), 0.8 * math.sin(0.2), 0.0]
    np.testing.assert_allclose(tilt(np.array([q])), [0.4])


def test_offsets_are_of_full_size_and_of_both_signs():
    drawn = [offset(seed) for seed in range(1, 13)]
    assert {abs(o.shift) for o in drawn} == {0.005}
    assert {o.turn for o in drawn} == {-0.05, 0.05}
    assert {round(o.inertia, 12) for o in drawn} == {0.9, 1.1}


def rocking(rate):
    return lambda t: FLAT + 0.3 * math.exp(-rate * t) * math.cos(10.0 * t)


@pytest.mark.parametrize(('slow', 'reached'), [(0.1, True), (2.0, False)])
def test_damping_has_to_be_faster_than_rest_alone(tmp_path, capsys, monkeypatch, slow, reached):
    monkeypatch.setattr(report, 'in_lockstep', lambda *_: {})
    seen = [trial(DAMPING, rocking(4.0)), trial(DAMPING, rocking(slow), 'open_loop')]
    assert rest_time(DAMPING, seen[0]) == pytest.approx(math.log(10) / 4.0, abs=0.3)
    outcome = REACHED if reached else MISSED
    assert report.conclude(DAMPING, seen, SIMULATED, tmp_path) == outcome
    told = capsys.readouterr().out
    assert 'times faster, 5 is asked' in told
    assert ('every trial under feedback has succeeded' in told) == reached
    assert (tmp_path / 'damping.png').read_bytes()[:4] == b'\x89PNG'


def test_both_sides_are_counted(tmp_path, capsys, monkeypatch):
    good, bad = trial(FLIP_UP, flipped), trial(FLIP_UP, lambda _: FLAT, 'open_loop')
    monkeypatch.setattr(report, 'in_lockstep', lambda *_: {'closed_loop': [True]})
    monkeypatch.setattr(report, 'draw', lambda *_: None)
    assert report.conclude(FLIP_UP, [good, good, bad], SIMULATED, tmp_path) == REACHED
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ['closed_loop', '2', 'of', '2', '1', 'of', '1'] in rows
    assert ['margin:', 'no', 'error', '(0', 'where', '0.05', 'is', 'allowed)', 'rad'] in rows
    assert ['open_loop', '0', 'of', '1', '-'] in rows
    fallen = trial(FLIP_UP, lambda _: FLAT)
    assert report.conclude(FLIP_UP, [good, fallen], SIMULATED, tmp_path) == MISSED
    void = trial(FLIP_UP, flipped, void='the controller was late')
    assert report.conclude(FLIP_UP, [good, void], SIMULATED, tmp_path) == VOID
    assert '1 of 2 trials could not be judged' in capsys.readouterr().out
    assert report.conclude(FLIP_UP, [good, void, fallen], SIMULATED, tmp_path) == MISSED


def test_another_law_is_judged_beside_the_usual_one(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(report, 'in_lockstep', lambda *_: {})
    monkeypatch.setattr(report, 'draw', lambda *_: None)
    demo = replace(FLIP_UP, law='predictive')
    assert list(demo.lengths()) == ['predictive', 'closed_loop', 'replay_balance', 'open_loop']
    good, bad = trial(demo, flipped, 'predictive'), trial(demo, lambda _: FLAT, 'predictive')
    others = [trial(demo, lambda _: FLAT, 'closed_loop'), trial(demo, flipped, 'closed_loop')]
    assert report.conclude(demo, [good, others[0]], SIMULATED, tmp_path) == REACHED
    assert report.conclude(demo, [bad, others[1]], SIMULATED, tmp_path) == MISSED
    assert capsys.readouterr().out.count('predictive ') == 2


@pytest.mark.parametrize(
    ('name', 'law', 'text'),
    [
        ('flip_up', 'lqr', "law: flip_up has closed_loop, predictive, got 'lqr'"),
        ('damping', 'predictive', "law: damping has no choice of laws, got 'predictive'"),
    ],
)
def test_a_law_that_a_demonstration_has_not_is_refused_with_those_it_has(
    tmp_path, capsys, name, law, text
):
    pytest.importorskip('rclpy')
    from rolling_robotics.cli import main

    assert main(['demo', name, '--law', law, '--out', str(tmp_path)]) != 0
    assert text in capsys.readouterr().err


class Client:
    """Runs trials that were made before, in their order."""

    def __init__(self, *made):
        self.made, self.placed, self.paces = iter(made), [], []

    def place(self, off):
        self.placed.append(off)

    def set_parameters(self, _, values):
        self.paces.append(values['rate_factor'])

    def run_trial(self, *_, on_start, **__):
        on_start()
        return next(self.made)


def test_what_proves_nothing_is_run_once_more():
    good, void = trial(FLIP_UP, flipped), trial(FLIP_UP, flipped)
    void.times, void.attitudes = void.times[:300], void.attitudes[:300]
    others = [trial(FLIP_UP, lambda _: FLAT, law) for law in FLIP_UP.compared]
    client = Client(void, good, void, void, *others)
    seen = run._trials(client, FLIP_UP, 2, SIMULATED, sim=True)
    assert seen == [good, void, *others]
    assert client.placed[:4] == [offset(1), offset(1), offset(2), offset(2)]
    assert client.paces[:8:2] == [run.PACE, run.SLOWER] * 2


def test_what_a_client_missed_is_judged_by_the_recording(monkeypatch, tmp_path):
    whole, begin = trial(FLIP_UP, flipped), 1.7e9
    missed = replace(
        whole,
        times=whole.times[:300],
        attitudes=whole.attitudes[:300],
        span=(begin, begin + FLIP_UP.duration),
    )
    assert unjudged(FLIP_UP, missed)
    stamps = np.r_[begin - 1.0, begin + whole.times, begin + FLIP_UP.duration + 1.0]
    others = np.zeros((1, 4))
    poses = RecordedPoses(
        stamps=stamps, arrivals=stamps, p=np.zeros((len(stamps), 3)),
        q=np.r_[others, whole.attitudes, others],
    )  # fmt: skip
    modes = [(begin - 2.0, 'separated'), (begin - 0.5, 'rolling'), (begin + 1.0, 'slipping')]
    modes.append((begin + 9.0, 'separated'))
    monkeypatch.setattr(recorded_trials, 'read_poses', lambda *_: poses)
    monkeypatch.setattr(recorded_trials, 'read_modes', lambda *_: modes)
    (seen,) = recorded_trials.as_recorded([missed], tmp_path, SIMULATED)
    assert not unjudged(FLIP_UP, seen)
    np.testing.assert_allclose(seen.times, whole.times, atol=1e-6)
    np.testing.assert_array_equal(seen.attitudes, whole.attitudes)
    assert seen.modes == [(0.0, 'rolling'), (1.0, 'slipping')]
    assert seen.happened() == [(1.0, 'slip')]


def test_a_void_demonstration_by_the_clock_is_repeated_in_simulated_time(tmp_path, monkeypatch):
    clocks, outcomes = [], iter([VOID, REACHED, VOID, VOID])
    monkeypatch.setattr(run, 'need_nodes', lambda: None)
    monkeypatch.setattr(run, 'in_simulated_time', bool)
    monkeypatch.setattr(run, '_perform', lambda *_, sim: clocks.append(sim))
    monkeypatch.setattr(run, 'as_recorded', lambda *_: [])
    monkeypatch.setattr(run, 'conclude', lambda *_: next(outcomes))
    assert run_laboratory('flip_up', tmp_path) == REACHED
    assert clocks == [False, True]
    for wanted in (False, True):  # what was asked for is done once
        assert run_laboratory('flip_up', tmp_path, use_sim_time=wanted) == VOID
    assert clocks[2:] == [False, True]


def test_the_chosen_law_is_designed_before_the_nodes_are_ready(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(run, 'need_nodes', lambda: None)
    monkeypatch.setattr(run, '_perform', lambda *all_, **_: given.append(all_))
    monkeypatch.setattr(run, 'as_recorded', lambda *_: [])
    monkeypatch.setattr(run, 'conclude', lambda *_: REACHED)
    for sim in (True, False):
        run_laboratory('flip_up', tmp_path, law='predictive', use_sim_time=sim)
        demo, overrides = given[-1][0], given[-1][-1]
        assert demo.law == overrides['controller']['law'] == 'predictive'


@pytest.mark.parametrize('name', LABORATORY)
def test_what_trials_are_judged_by_is_recorded_on_all_hardware(name):
    judged_by = {recorded_trials.TRUTH, *recorded_trials.MODES.values()}
    assert judged_by <= set(EXPERIMENTS[name].recorded)


@pytest.mark.parametrize('name', LABORATORY)
def test_hardware_differs_in_nothing_but_the_emulation(name):
    kinds = EXPERIMENTS[name].hardware
    assert next(iter(kinds)) == SIMULATED
    assert EXPERIMENTS[name].nodes == kinds[SIMULATED]
    controllers = {nodes[-1].executable for nodes in kinds.values()}
    assert controllers == {'laboratory_controller_node'}
    if EMULATED in kinds:
        emulated, real = kinds[EMULATED], kinds[REAL]
        assert real[-1].parameters == {'finite_limits': True}
        same = (*real[:-1], replace(real[-1], parameters={}))
        assert tuple(n for n in emulated if not n.name.startswith('emulated_')) == same


def test_processes_are_those_of_the_hardware():
    bringup = Bringup(experiment=EXPERIMENTS['flip_up'], environment={}, hardware=REAL)
    names = ['motor_bridge', 'vision_bridge', 'estimator', 'controller']
    assert list(bringup.commands()) == names
    with pytest.raises(ParameterError, match='hardware is simulated, emulated, real; got'):
        EXPERIMENTS['balance_3d'].nodes_on('other')
    with pytest.raises(ParameterError, match='hardware is no choice'):
        EXPERIMENTS['spin_rolling'].nodes_on(REAL)


def test_real_hardware_is_not_driven_by_a_demonstration(tmp_path):
    with pytest.raises(ParameterError, match='hardware:=real'):
        run_laboratory('flip_up', tmp_path, hardware=REAL)


def test_options_of_the_laboratory_go_with_its_experiments(tmp_path):
    pytest.importorskip('rclpy')
    from rolling_robotics.cli import main

    assert main(['demo', 'spin_rolling', '--trials', '2', '--out', str(tmp_path)]) != 0
    assert command.HELP
