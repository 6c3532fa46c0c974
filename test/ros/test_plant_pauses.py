"""Plants that stand still for some tens of milliseconds while a plan is followed."""

from pathlib import Path
import sys
import time
from types import SimpleNamespace

from builtin_interfaces.msg import Time
from deadline import Deadline
import numpy as np
from numpy.testing import assert_equal
import pytest
from rclpy.impl.rcutils_logger import RcutilsLogger
from rolling_controller import design
from rolling_controller.design import LQR, PREDICTIVE
from rolling_controller.law import COMMANDED, FunctionLaw, state_inputs
from rolling_controller.motion_watch import MotionWatch, Predictor
from rolling_controller.nodes.control_loop import CODES
from rolling_controller.nodes.controller_parameters import HAND_TABLE
from rolling_controller.nodes.driving import Driving
from rolling_controller.nodes.equipment import Equipment
from rolling_controller.nodes.execution import Execution
from rolling_controller.robot_laws.contact_kind import CONTACT_OPTIONS
from rolling_controller.tracker import Tracker
from rolling_dynamics.scenario_model import load_model
from rolling_dynamics.simulation import Stepper
from rolling_planner.nodes.conversions import message_to_plan

sys.path.append(str(Path(__file__).parent))

from fake_states import still

RATE, TIMEOUT, HORIZON = 200.0, 0.1, 0.05
TICK = round(1e9 / RATE)
PAUSE_AT, DURATION, BEYOND = 100, 1.0, 0.11  # in ticks; [s]; [s]
PUSH = 1e-9  # each control of the plan, so that feedback uses all of them
SETTINGS = {'state_timeout': TIMEOUT, 'rate': RATE, 'command_timeout': 0.5}
SAFE, LONG = np.full(6, -1e-3), 60.0


class PausingPlant:
    """A hand and its object, stepped by looks at them; the node's clock counts the looks."""

    missing = 'nothing is missing'
    trouble = fault = ''
    covariances = None

    def __init__(self, model, pause):
        self._model, self._step = model, Stepper(model.system, model.params).step
        self.measured, self.count, self.sent, self.warnings = self, 0, [], []
        self.polled = [SimpleNamespace(received=0, lateness=lambda *_: 'the publisher was late')]
        self._x, self._u = model.start.copy(), np.zeros(6)
        self._x[model.system.state.slice('contact_h')] += 1e-3
        self.now = self._stamp = 10**9
        self._pause = range(PAUSE_AT, PAUSE_AT + round(pause * RATE))

    def poll(self):
        self.now += TICK
        if self.count not in self._pause:
            self._x, self._stamp = self._step(self._x, self._u, 1 / RATE, 0.0), self.now
        self.count += 1

    def send(self, u, stamp):
        self._u = u
        self.sent.append((stamp, u))

    def await_acknowledgement(self, timeout):
        pass

    @property
    def age(self):
        return (self.now - self._stamp) * 1e-9

    def state(self):
        return self._stamp, self._x

    def state_near(self, _stamp):
        return self._x

    def bound(self, _states):
        return None

    def safe(self, _x):
        return SAFE


@pytest.fixture(scope='module')
def model():
    return load_model('ball_on_plate_hard.yaml')


def equipped(model, plant):
    """Return a node whose clock is that of a plant, and what its loops use."""
    parameters = {entry.name: entry.default for entry in HAND_TABLE}
    equipment = Equipment(
        machine=plant,
        tracker=Tracker(
            model.system, model.params, uncounted=('p_WH',), limits=model.control_limits
        ),
        predictor=(
            predictor := Predictor(model.system, model.params, delay=0.001, horizon=HORIZON)
        ),
        watch=MotionWatch(model.system, predictor),
        start=model.start,
        values=parameters | SETTINGS,
        once=False,
        warn=plant.warnings.append,
    )
    logger = RcutilsLogger('pauses')
    clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=plant.now))
    node = SimpleNamespace(get_clock=lambda: clock, get_logger=lambda: logger, executor=None)
    return node, equipment


def follow(model, law, pause):
    """Return how an execution under a law ended, its plant, and the law."""
    plant = PausingPlant(model, pause)
    assert not np.isfinite(
        model.control_limits
    ).all()  # some accelerations of the hand have no limit
    weights = {entry.name: entry.default for entry in CONTACT_OPTIONS}
    plan = message_to_plan(still('contact', model.system, model.start, DURATION, PUSH))
    following = design.follow(design.Wanted(model, plan, {**weights, 'law': law}, safe=plant.safe))
    node, equipment = equipped(model, plant)
    goal = SimpleNamespace(
        request=SimpleNamespace(plan=SimpleNamespace(header=SimpleNamespace(stamp=Time()))),
        handle=SimpleNamespace(publish_feedback=lambda _: None),
        on_stop=lambda _: None,
    )
    execution = Execution(node, equipment, goal, plan, following, lambda _: None)
    steps, end = execution.run(), Deadline(LONG)
    while True:
        assert end.left > 0.0
        try:
            steps.send(None)
        except StopIteration as ended:
            return ended.value, plant, following.law
        time.sleep(1e-3)


@pytest.mark.parametrize(
    ('pause', 'law'),
    [
        (0.09, PREDICTIVE),
        (0.09, LQR),
        pytest.param(0.07, PREDICTIVE, marks=pytest.mark.slow),
        (0.07, LQR),
    ],
)
def test_a_pause_shorter_than_the_timeout_is_survived(model, law, pause):
    """Though the state is older than what is predicted, so that the time of the law repeats."""
    ending, plant, used = follow(model, law, pause)
    assert (ending.code, ending.text) == (CODES.NONE, '')
    (warning,) = plant.warnings
    assert warning == (
        'the newest state is 0.055 s old; state_timeout is 0.1 s (the publisher was late)'
    )
    stamps = [stamp for stamp, _ in plant.sent[:-1]]
    assert stamps.count(max(stamps, key=stamps.count)) > 1  # times repeat
    commands = np.array([u for _, u in plant.sent])
    assert np.isfinite(commands).all()
    assert np.abs(commands).max() > 0.01  # it is fed back
    if law == PREDICTIVE:
        assert (used.law.record.failed, used.law.record.safe) == (0, False)


@pytest.mark.parametrize('law', [PREDICTIVE, LQR])
def test_a_pause_beyond_the_timeout_ends_with_the_safe_command(model, law):
    ending, plant, _ = follow(model, law, BEYOND)
    assert ending.code == CODES.STALE_STATE
    assert 'state_timeout is 0.1 s' in ending.text
    assert_equal(plant.sent[-1][1], SAFE)


@pytest.mark.parametrize('command', [np.nan, np.inf])
def test_a_law_without_a_finite_command_ends_driving_by_the_safe_command(model, command):
    plant = PausingPlant(model, 0.0)
    node, equipment = equipped(model, plant)
    plant.poll()
    inputs = state_inputs(model.system, COMMANDED)
    control = np.r_[np.zeros(5), command]
    law = FunctionLaw(inputs, model.system.control, lambda z, *_: (z, control))
    driving = Driving(node, equipment, law)
    end = Deadline(LONG)
    while driving.control.loop.running:
        assert end.left > 0.0
        time.sleep(1e-3)
    assert driving.ended == 'the law gave no finite control'
    ((_, u),) = plant.sent
    assert_equal(u, SAFE)
