"""The laboratory's hand whose states are not true, in lockstep."""

import numpy as np
import pytest
from rolling_controller.laboratory.answers import Answers
from rolling_controller.motion_watch import HandBound, MotionWatch
from rolling_controller.predictor import Predictor
from rolling_robotics.trials.chain import LaboratoryChain, PERIOD
from rolling_robotics.trials.imperfections import Imperfections
from rolling_robotics.trials.prepare import build

SECOND = 1_000_000_000
BEGIN = 0.3  # s, of a fault


@pytest.fixture(scope='module')
def damping():
    return build('damping')


def trial(experiment, seed, duration, fault=lambda x, _t: x):
    """Return when states were no longer believed [s], and why; None if they always were."""
    system, p = experiment.laboratory.model()
    imperfections = Imperfections()
    place = experiment.laboratory, experiment.start
    chain = LaboratoryChain(*place, imperfections, seed, experiment.arm)
    predictor = Predictor(system, p, delay=0.0, horizon=0.0)
    watch = MotionWatch(system, predictor, noisy=True)
    answers = Answers(experiment.laws['closed_loop'](), predictor, watch)
    for k in range(-round(imperfections.warm_up / PERIOD), round(duration / PERIOD)):
        chain.plant.held, seen, sent = k < 0, chain.sense(), np.zeros(3)
        if k >= 0 and seen is not None:
            stamp = SECOND + k * 1_000_000
            x = fault(seen.x, k * PERIOD)
            _, sent = answers.command(stamp, x, stamp, touching=seen.touching)
            if answers.fault:
                return k * PERIOD, answers.fault
        chain.act(sent)
    return None, ''


class Frozen:
    def __init__(self, noise):
        self.last, self.noise, self.rng = None, noise, np.random.default_rng(1)

    def __call__(self, x, t):
        if t < BEGIN or self.last is None:
            self.last = x.copy()
        return x if t < BEGIN else self.last + self.noise * self.rng.normal(size=x.size)


def alternating(x, t):
    """Two cameras 30 mm apart, each for 10 ms."""
    out = x.copy()
    out[1] += 0.03 * (t >= BEGIN and round(t / 0.01) % 2)
    return out


@pytest.mark.parametrize(
    ('done', 'fault', 'within'),
    [
        ('the state is frozen, with fresh stamps', Frozen(0.0), 0.1),
        ('the hand is seen 30 mm away every other time', alternating, 0.1),
    ],
    ids=['frozen', 'two cameras'],
)
def test_states_that_are_not_true_are_a_fault(damping, done, fault, within, fault_row):
    told = fault_row(f'the laboratory in lockstep: {done}')
    ended, reason = trial(damping, 1, 1.0, fault)
    assert reason
    assert BEGIN <= ended <= BEGIN + within
    told(reason, ended - BEGIN)


def test_true_states_are_no_fault(damping):
    for seed in range(2):
        assert trial(damping, seed, 2.0) == (None, ''), seed


def test_a_hand_is_stopped_by_what_is_commanded_whatever_is_measured(damping):
    """The measured state stays that of the plan, and the commands drive the hand away."""
    system, _ = damping.laboratory.model()
    states = np.array([damping.start, damping.start])
    bound = HandBound(system.state, 0.1, states)
    x, t = damping.start, 0.0
    while not (problem := bound.problem(t, x, x, np.array([0.0, 10.0, 0.0]))):
        t += 1e-3
        assert t < 0.2  # 10 m/s^2 for 0.14 s: 0.1 m
    assert problem.startswith('the hand is 0.1 m or rad from the plan as commanded')
