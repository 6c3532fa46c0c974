"""A recorded estimator gives its estimates again bit by bit; what is missing is reported."""

import json
import math

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.fingerprint import fingerprint
from rolling_hw_interface.nodes.estimation import Estimation, Inputs
from rolling_hw_interface.nodes.estimator_node import TABLE
from rolling_hw_interface.object_estimator import BEGIN, ENABLED, FORGET, Step, steps_in
from rolling_node_kit.cdr import (
    ACCEL,
    accel_values,
    decode_stamped,
    JointReader,
    JointStateEncoder,
    OdometryEncoder,
    POSE,
    StampedEncoder,
)
from rolling_node_kit.parameters import FINGERPRINT
from rolling_robotics.cli import main
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay import estimates as replaying_estimates
from rolling_robotics.nodes.replay.estimates import replay_estimates
from rolling_robotics.recordings.writer import Recording, Topic
from std_msgs.msg import Int64MultiArray, String

START = np.array([-1.1513490, 1.7197844, -2.1392317])  # the hand level at the origin
NAMES = ['joint_1', 'joint_2', 'joint_3']
INPUTS = ('hand/accel_command', 'robot_joint_states', 'vision/object_pose')
TOPICS = {
    'hand/accel_command': 'geometry_msgs/msg/AccelStamped',
    'robot_joint_states': 'sensor_msgs/msg/JointState',
    'vision/object_pose': 'geometry_msgs/msg/PoseWithCovarianceStamped',
    'hand/odometry': 'nav_msgs/msg/Odometry',
    'object/odometry': 'nav_msgs/msg/Odometry',
    'estimator/steps': 'std_msgs/msg/Int64MultiArray',
    'estimator/settings': 'std_msgs/msg/String',
}
VALUES = {entry.name: entry.default for entry in TABLE} | {
    'scenario_file': 'laboratory_flat.yaml',
    'rate': 100.0,
    'filter.planar': True,
    'least_latency': 0.01,
    FINGERPRINT: fingerprint(),
}
WRITE_COMMAND, WRITE_POSE = (
    StampedEncoder(*kind).encode for kind in (('hand', ACCEL), ('world', POSE))
)
WRITE_JOINTS = JointStateEncoder(NAMES, ('position', 'velocity')).encode
READ = (
    lambda data: decode_stamped(data, ACCEL),
    JointReader(NAMES).read,
    lambda data: decode_stamped(data, POSE),
)
EPOCH, PERIOD, STEPS = 10**18, 10_000_000, 120  # ns, ns


def sensed(k, random):
    """Return what came by step k: some joints late, some images lost, some before their joints."""
    now = EPOCH + k * PERIOD
    commands, joints, images = [], [], []
    if k % 3 == 0:
        u = random.normal(0.0, 1e-3, 6).tolist()
        commands.append(WRITE_COMMAND(now, accel_values(u)))
    for late in {7: (), 8: (1, 0)}.get(k % 20, (0,)):  # none, then two at once
        stamp = now - late * PERIOD
        joints.append(WRITE_JOINTS(stamp, START.tolist(), [0.0, 0.0, 0.0]))
    if k % 10 != 4:
        half = -math.pi / 4 + random.normal(0.0, 2e-4)
        p = np.array([0.0, 0.0, 0.0252]) + random.normal(0.0, 2e-5, 3)
        covariance = np.diag([1e-8] * 3 + [1e-5] * 3)
        numbers = (*p, 0.0, math.sin(half), 0.0, math.cos(half), *covariance.ravel())
        images.append(WRITE_POSE(now - PERIOD, numbers))
    return now, (commands, joints, images)


def flags_of(k):
    """Return the flags of a step: taken out of use for a while in the midst."""
    switched = {0: BEGIN, 60: FORGET, 70: FORGET}.get(k, 0)
    return switched | (0 if 60 <= k < 70 else ENABLED)


def messages_of(came):
    return [(t, m) for t, kind in zip(INPUTS, came, strict=True) for m in kind]


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    """A recording of what an estimator took, logged and published."""
    folder = tmp_path_factory.mktemp('estimates') / 'recording'
    recording = Recording(folder, ('rolling_interfaces',), longest_queue=10_000)
    for name, kind in TOPICS.items():
        recording.add(Topic(f'/{name}', kind, latched=False))
    core, random, log = Estimation(VALUES), np.random.default_rng(1), []
    encode = {n: OdometryEncoder('world', n).encode for n in ('hand', 'object')}
    clock = iter(range(1, 100_000))

    def put(name, data):
        recording.put(f'/{name}', next(clock), data)

    put('estimator/settings', serialize_message(String(data=json.dumps(VALUES))))
    core.begin(EPOCH)
    for k in range(STEPS):
        now, came = sensed(k, random)
        inputs = Inputs(*([read(m) for m in kind] for read, kind in zip(READ, came, strict=True)))
        flags = flags_of(k)
        for topic, message in messages_of(came):
            put(topic, message)
        if flags & FORGET:
            core.forget()
        log += inputs.step(now, flags).numbers()
        for stamp, hand, found in core.step(now, inputs, enabled=bool(flags & ENABLED)):
            put('hand/odometry', encode['hand'](stamp, hand.tolist()))
            if found is not None:
                put('object/odometry', encode['object'](stamp, found.object_.tolist()))
        if k % 50 == 49 or k == STEPS - 1:
            put('estimator/steps', serialize_message(Int64MultiArray(data=log)))
            log = []
    recording.close()
    assert not recording.fault
    return folder


def test_every_estimate_comes_out_bit_by_bit(recording, capsys):
    with Recorded(recording) as recorded:
        hand, body = replay_estimates(recorded)
    assert (hand.equal, body.equal) == (hand.recorded, body.recorded)
    assert 60 < body.recorded < hand.recorded <= STEPS
    assert main(['replay', str(recording)]) == 0
    assert f'object/odometry: {body.equal} of {body.equal} estimates' in capsys.readouterr().out


def test_other_parameters_give_other_estimates(recording, monkeypatch):
    made = replaying_estimates.Estimation
    changed = lambda values: made({**values, 'filter.gap': 2 * values['filter.gap']})  # noqa: E731
    monkeypatch.setattr(replaying_estimates, 'Estimation', changed)
    with Recorded(recording) as recorded:
        hand, body = replay_estimates(recorded)
    assert hand.equal == hand.recorded
    assert body.equal < body.recorded


def test_a_missing_input_is_told(recording, monkeypatch):
    with Recorded(recording) as recorded:
        complete = recorded.raw

        def without_some(names):
            images = names == ['vision/object_pose']
            return (m for k, m in enumerate(complete(names)) if not (images and k == 40))

        monkeypatch.setattr(recorded, 'raw', without_some)
        with pytest.raises(ParameterError, match=r'a message of vision/object_pose .* recorder'):
            replay_estimates(recorded)


def test_a_log_without_its_beginning_is_told(recording, monkeypatch):
    whole = replaying_estimates.steps_in
    monkeypatch.setattr(
        replaying_estimates,
        'steps_in',
        lambda data: (s for s in whole(data) if not s.flags & BEGIN),
    )
    with Recorded(recording) as recorded, pytest.raises(ParameterError, match='its beginning'):
        replay_estimates(recorded)


def test_steps_pass_through_the_log():
    steps = [Step(5, BEGIN | ENABLED), Step(2**60, 0, (1,), (2, 3), (4, 5, 6))]
    numbers = [n for step in steps for n in step.numbers()]
    assert list(steps_in(numbers)) == steps
    with pytest.raises(ParameterError, match='damaged'):
        list(steps_in(numbers[:-1]))
    assert steps[1].empty is False
    assert Step(7, ENABLED).empty
