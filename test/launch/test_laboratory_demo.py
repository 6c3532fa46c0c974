"""Trials of the laboratory: what counts as success, what is reported and drawn; without nodes."""

from dataclasses import replace
import math
from typing import ClassVar

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.calibration.camera import MeasuredPoses
from rolling_planner.laboratory.laboratory import FLAT
from rolling_robotics.bringup import Bringup
from rolling_robotics.demo import laboratory as module
from rolling_robotics.demo import run
from rolling_robotics.demo.laboratory import contact_events, LABORATORY, pitch, start, tilt
from rolling_robotics.demo.run import draw, run_demo
from rolling_robotics.experiments import EXPERIMENTS
from rolling_robotics.hardware import EMULATED, REAL, SIMULATED
from rolling_robotics.trials.trial import INCONCLUSIVE, MISSED, outcomes, REACHED, Record, report

FLIP_UP, THROW, DAMPING = (LABORATORY[n] for n in ('flip_up', 'throw_catch', 'damping'))
ROLLING = [(0.0, 'rolling')]
FLIGHT = [*ROLLING, (0.3, 'separated'), (0.86, 'slipping'), (0.9, 'rolling')]


def turned(angles):
    """Return the attitudes of turns about y."""
    half = np.asarray(angles) / 2
    return np.column_stack([np.cos(half), 0 * half, np.sin(half), 0 * half])


def record(demo, angle, law='closed_loop', modes=ROLLING, kept=slice(None), **options):
    """Return a record whose angle is a function of time."""
    end = demo.lengths()[law]
    times = np.arange(0.0, end + 1e-9, 0.01)
    angles = np.vectorize(angle)(times)
    made = Record(law=law, end=end, events=contact_events(modes), **options)
    return demo.task.with_angle(made, times[kept], turned(angles)[kept])


def failure(demo, *given, **options):
    return demo.criterion.outcome(record(demo, *given, **options)).failure


def inconclusive(demo, *given, **options):
    return demo.criterion.outcome(record(demo, *given, **options)).inconclusive


def concluded(demo, *records, beside=None):
    """Report records, each of the trial of its law."""
    trials = [demo.trial(r.law) for r in records]
    found = outcomes(trials, records)
    return report(trials, found, demo.law, faster=demo.faster, beside=beside)


def flipped(t):
    return FLAT * max(1 - t / 2, 0.0)


def test_a_flip_up_that_ends_upright_has_succeeded():
    outcome = FLIP_UP.criterion.outcome(record(FLIP_UP, flipped))
    assert (outcome.failure, outcome.error, outcome.inconclusive) == ('', 0.0, '')


def test_what_goes_wrong_is_told_with_its_time():
    late = failure(FLIP_UP, lambda t: 0.06 if t > 6.0 else flipped(t))
    assert late == '+0.060 rad off the goal at 6.010 s'
    # only the last seconds count
    assert failure(FLIP_UP, lambda t: 0.06 if 3.0 < t < 4.0 else flipped(t)) == ''
    lost = [*ROLLING, (1.5, 'separated'), (1.6, 'rolling')]
    assert failure(FLIP_UP, flipped, modes=lost) == 'contact lost at 1.500 s'
    slid = [*ROLLING, (2.5, 'slipping')]
    assert failure(FLIP_UP, flipped, modes=slid) == 'friction cone left at 2.500 s'
    early = 'ended early: asked to stop'
    assert failure(FLIP_UP, flipped, ended=early) == early


@pytest.mark.parametrize(
    ('kept', 'text', 'ended'),
    [
        (np.r_[:701], '', ''),
        (np.r_[:300], 'from 2.990 to 7.000 s', ''),  # of what ended early, nothing
        (np.r_[300:701], 'from 0.000 to 3.000 s', 'from 0.000 to 3.000 s'),
        (np.r_[:0], 'from 0.000 to 7.000 s', ''),
        (np.r_[:100, 150:701], *2 * ['from 0.990 to 1.500 s']),
        (np.r_[:100, 118:701], '', ''),
    ],
)
def test_a_trial_with_missing_samples_is_inconclusive(kept, text, ended):
    assert inconclusive(FLIP_UP, flipped, kept=kept).endswith(text)
    assert bool(inconclusive(FLIP_UP, flipped, kept=kept)) == bool(text)
    early = inconclusive(FLIP_UP, flipped, kept=kept, ended='ended early')
    assert early.endswith(ended)
    assert bool(early) == bool(ended)


@pytest.mark.parametrize('angle', [flipped, lambda _: FLAT])
def test_a_trial_on_a_late_machine_is_inconclusive_whatever_came_out(angle):
    late = inconclusive(FLIP_UP, angle, inconclusive='the controller was late')
    assert late == 'the controller was late'
    assert inconclusive(FLIP_UP, angle) == ''


def test_a_throw_needs_one_flight_and_may_land_on_either_end():
    turning = [lambda t, k=k: FLAT + (k * math.pi - FLAT) * min(t, 1.0) for k in (0, 1)]
    for angle in turning:
        assert failure(THROW, angle, modes=FLIGHT) == ''
    assert failure(THROW, turning[1]) == '0 flights, 1 are wanted'
    twice = [*FLIGHT, (2.0, 'separated')]
    assert failure(THROW, turning[1], modes=twice) == 'contact lost at 2.000 s'


def test_angles_go_on_through_half_turns_and_signs_of_quaternions():
    angles = np.linspace(-math.pi / 2, 2.5 * math.pi, 200)
    signs = np.where(np.arange(200) % 2, 1.0, -1.0)
    np.testing.assert_allclose(pitch(signs[:, None] * turned(angles)), angles, atol=1e-12)
    q = [math.cos(0.2), 0.6 * math.sin(0.2), 0.8 * math.sin(0.2), 0.0]
    np.testing.assert_allclose(tilt(np.array([q])), [0.4])


def test_starts_are_off_by_full_size_to_both_sides():
    drawn = [start(seed) for seed in range(1, 13)]
    assert {abs(d['position'][0]) for d in drawn} == {0.005}
    assert {d['rotation'][1] for d in drawn} == {-0.05, 0.05}
    assert {round(d['disturbances']['inertia_factor'], 12) for d in drawn} == {0.9, 1.1}


def rocking(rate):
    return lambda t: FLAT + 0.3 * math.exp(-rate * t) * math.cos(10.0 * t)


@pytest.mark.parametrize(('slow', 'reached'), [(0.1, True), (2.0, False)])
def test_damping_has_to_be_faster_than_rest_alone(tmp_path, capsys, slow, reached):
    seen = record(DAMPING, rocking(4.0)), record(DAMPING, rocking(slow), 'open_loop')
    assert concluded(DAMPING, *seen) == (REACHED if reached else MISSED)
    printed = capsys.readouterr().out
    assert 'times faster, 5 is asked' in printed
    assert ('every trial under feedback has succeeded' in printed) == reached
    draw(DAMPING, seen, tmp_path / 'damping.png')
    assert (tmp_path / 'damping.png').read_bytes()[:4] == b'\x89PNG'
    late = replace(seen[1], inconclusive='the simulator was late')
    assert concluded(DAMPING, seen[0], late) == INCONCLUSIVE


def test_both_drivers_are_counted(capsys):
    good, bad = record(FLIP_UP, flipped), record(FLIP_UP, lambda _: FLAT, 'open_loop')
    beside = [FLIP_UP.criterion.outcome(good)]
    assert concluded(FLIP_UP, good, good, bad, beside=beside) == REACHED
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ['closed_loop', '2', 'of', '2', '1', 'of', '1'] in rows
    assert ['margin:', 'no', 'error', '(0', 'where', '0.05', 'is', 'allowed)', 'rad'] in rows
    assert ['open_loop', '0', 'of', '1', '-'] in rows
    fallen = record(FLIP_UP, lambda _: FLAT)
    assert concluded(FLIP_UP, good, fallen) == MISSED
    late = record(FLIP_UP, flipped, inconclusive='the controller was late')
    assert concluded(FLIP_UP, good, late) == INCONCLUSIVE
    assert 'inconclusive: 1 of 2 trials' in capsys.readouterr().out
    assert concluded(FLIP_UP, good, late, fallen) == MISSED


def test_another_law_is_judged_beside_the_usual_one():
    demo = FLIP_UP.under('predictive')
    good, bad = (record(demo, angle, 'predictive') for angle in (flipped, lambda _: FLAT))
    others = [record(demo, lambda _: FLAT), record(demo, flipped)]
    assert concluded(demo, good, others[0]) == REACHED
    assert concluded(demo, bad, others[1]) == MISSED


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
    """Stands for a client of nodes whose first trial of each random seed is inconclusive."""

    made: ClassVar[list] = []

    def __init__(self, **_):
        self.pace, self.paces, self.asked = None, [], []
        self.made.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def wait_until_active(self, *_):
        pass

    wait_until_recorded = wait_until_active

    def reset(self, position, rotation, **values):
        self.asked.append((position, rotation, values))

    def run(self, _law, duration):
        self.paces.append(self.pace)
        again = self.asked.count(self.asked[-1]) > 1
        return Record(begin=1.7e9, end=duration, inconclusive='' if again else 'late')


class NoNodes:
    """Stands for the nodes of an experiment."""

    def __init__(self, **options):
        self.processes, self.options = {}, options

    def commands(self):
        return {'simulator': []}

    def stop(self):
        return {}

    def check(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def test_an_inconclusive_trial_is_run_once_more_and_slower(monkeypatch, tmp_path):
    pytest.importorskip('rclpy')
    from rolling_robotics.nodes import trial_client

    monkeypatch.setattr(run, 'Bringup', NoNodes)
    monkeypatch.setattr(trial_client, 'TrialClient', Client)
    monkeypatch.setattr(module.LaboratoryTask, 'read', lambda _task, _path, records: records)
    trials = [FLIP_UP.trial('closed_loop', seed) for seed in (1, 2)]
    records, _ = run.performed(FLIP_UP, trials, tmp_path, use_sim_time=True)
    (client,) = Client.made
    assert [pace[2] for pace in client.paces] == [FLIP_UP.pace, FLIP_UP.pace / run.SLOWER] * 2
    assert [r.inconclusive for r in records] == ['', '']
    assert [client.asked.count(asked) for asked in client.asked] == [2] * 4
    assert [(r.law, r.seed) for r in records] == [('closed_loop', 1), ('closed_loop', 2)]


def test_a_trial_is_judged_by_the_recording(monkeypatch, tmp_path):
    whole, begin = record(FLIP_UP, flipped), 1.7e9
    stamps = np.r_[begin - 1.0, begin + whole.times, begin + FLIP_UP.duration + 1.0]
    others, attitudes = np.zeros((1, 4)), turned(np.vectorize(flipped)(whole.times))
    poses = MeasuredPoses(
        stamps=stamps, arrivals=stamps, p=np.zeros((len(stamps), 3)),
        q=np.r_[others, attitudes, others],
    )  # fmt: skip
    modes = [(begin - 2.0, 'separated'), (begin - 0.5, 'rolling'), (begin + 1.0, 'slipping')]
    modes.append((begin + 9.0, 'separated'))
    monkeypatch.setattr(module, 'read_poses', lambda *_: poses)
    monkeypatch.setattr(module, 'read_modes', lambda *_: modes)
    (seen,) = FLIP_UP.task.read(tmp_path, [Record(begin=begin, end=FLIP_UP.duration)])
    np.testing.assert_allclose(seen.times, whole.times, atol=1e-6)
    np.testing.assert_allclose(seen['angle'], whole['angle'], atol=1e-12)
    assert seen.events == ((1.0, 'slip'),)
    assert FLIP_UP.criterion.outcome(seen).failure == 'friction cone left at 1.000 s'


def test_a_joint_beyond_its_limits_is_a_failure(monkeypatch, tmp_path):
    poses = MeasuredPoses(
        stamps=np.arange(3.0), arrivals=np.arange(3.0), p=np.zeros((3, 3)), q=turned(np.zeros(3))
    )
    monkeypatch.setattr(module, 'read_poses', lambda *_: poses)
    monkeypatch.setattr(module, 'read_modes', lambda *_: ROLLING)
    task = FLIP_UP.on(EMULATED).task
    for kept in (True, False):
        monkeypatch.setattr(module, 'limits_kept', lambda *_, kept=kept: kept)
        (seen,) = task.read(tmp_path, [Record(end=2.0)])
        assert bool(FLIP_UP.criterion.outcome(seen).failure) != kept


def test_the_chosen_law_is_designed_before_the_nodes_are_ready():
    demo = FLIP_UP.under('predictive')
    for sim in (True, False):
        overrides = run._overrides(demo, 'predictive', 0.0, use_sim_time=sim)
        assert overrides['controller']['law'] == demo.law == 'predictive'


def test_emulated_hardware_runs_its_loops_at_the_rate_that_is_asked(capsys):
    demo = FLIP_UP.on(EMULATED)
    overrides = run._overrides(demo, '', 250.0, use_sim_time=False)
    assert overrides['motor_bridge']['rate'] == overrides['controller']['rate'] == 250.0
    assert overrides['emulated_motors']['camera.rate'] == 125.0
    assert 'hardware loops at 250 Hz' in capsys.readouterr().out
    patient = run._overrides(demo, '', 250.0, use_sim_time=True)
    assert 'rate' not in patient['motor_bridge']
    assert patient['emulated_motors']['rate_factor'] == demo.idle_pace


@pytest.mark.parametrize('name', LABORATORY)
def test_what_trials_are_judged_by_is_recorded_on_all_hardware(name):
    judged_by = {module.TRUTH, *module.MODES.values()}
    assert judged_by <= set(EXPERIMENTS[name].recorded)


@pytest.mark.parametrize('name', LABORATORY)
def test_hardware_differs_in_nothing_but_the_emulation(name):
    kinds = EXPERIMENTS[name].hardware
    assert next(iter(kinds)) == SIMULATED
    assert EXPERIMENTS[name].nodes == kinds[SIMULATED]
    controllers = {nodes[-1].executable for nodes in kinds.values()}
    assert controllers == {'controller_node'}
    if EMULATED in kinds:
        emulated, real = kinds[EMULATED], kinds[REAL]
        # states that are measured have noise: those that repeat themselves are a fault
        assert real[-1].parameters == {'noisy_states': True, 'finite_limits': True}
        same = (*real[:-1], replace(real[-1], parameters={'noisy_states': True}))
        assert tuple(n for n in emulated if not n.name.startswith('emulated_')) == same


def test_processes_are_those_of_the_hardware():
    bringup = Bringup(experiment=EXPERIMENTS['flip_up'], environment={}, hardware=REAL)
    names = ['motor_bridge', 'vision_bridge', 'estimator', 'controller']
    assert list(bringup.commands()) == names
    with pytest.raises(ParameterError, match='hardware is simulated, emulated, real; got'):
        EXPERIMENTS['balance_3d'].nodes_on('other')
    with pytest.raises(ParameterError, match='hardware is not a choice'):
        EXPERIMENTS['spin_rolling'].nodes_on(REAL)


def test_real_hardware_is_not_driven_by_a_demonstration(tmp_path):
    with pytest.raises(ParameterError, match='hardware:=real'):
        run_demo('flip_up', tmp_path, hardware=REAL)


def test_options_of_the_laboratory_go_with_its_experiments(tmp_path):
    pytest.importorskip('rclpy')
    from rolling_robotics.cli import main

    assert main(['demo', 'spin_rolling', '--trials', '2', '--out', str(tmp_path)]) != 0
