"""Where a controller takes a robot to head: where its front points, else as odom reports."""

from types import SimpleNamespace

from nav_msgs.msg import Odometry
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from rolling_controller.nodes.machines import ControlledRobot, RobotMachine
from rolling_controller.robot_laws.regulator import robot_kind
from rolling_dynamics.configuration import find_config
from rolling_dynamics.contract.instruments import Actuator
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.nodes.topics import COMMANDS, CommandTopic
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario_model import load_robot
import yaml


def machine_of(model, reported):
    """Return the topics of a robot, to which odom reports a yaw."""
    message = Odometry()
    pose = message.pose.pose.orientation
    pose.w, pose.z = np.cos(reported / 2), np.sin(reported / 2)

    def polled(_kind, topic, _qos, *, raw):
        assert raw
        return SimpleNamespace(
            topic=topic, take=lambda: [serialize_message(message)] if topic == 'odom' else []
        )

    node = SimpleNamespace(polled=polled, writer=lambda *_: None)
    return RobotMachine(node, model, {'estimate_state': False})


def test_a_robot_that_starts_across_is_driven_along_its_own_front():
    raw = load_scenario('two_wheeler').raw
    raw |= {'initial': raw['initial'] | {'q_body': [0, 0, np.pi / 2]}}
    model = load_robot(raw)
    yaw = machine_of(model, reported=0.3).yaw(model.start)
    assert yaw == pytest.approx(np.pi / 2)
    kind = robot_kind(model.system.name)
    laws = kind.make(model.scenario, {o.name: o.default for o in kind.options})
    assert laws.drive(model.start, yaw).possible.tolist() == [1.0, 0.0, 1.0]


def test_a_robot_without_a_front_heads_as_reported():
    model = load_robot('driven_shell')
    assert machine_of(model, reported=0.3).yaw(model.start) == pytest.approx(0.3)


def test_a_robot_whose_controller_publishes_its_state_heads_as_that_says():
    model = load_robot('driven_shell')
    machine = machine_of(model, reported=0.3)
    machine.shown = SimpleNamespace(yaw=0.7)
    assert machine.yaw(model.start) == pytest.approx(0.7)


def test_a_state_that_comes_by_its_topic_is_not_published_there():
    topic = SimpleNamespace(topic='robot/state')
    node = SimpleNamespace(polled=lambda *_, **__: topic, writer=lambda *_: None)
    values = {'scenario_file': 'driven_shell', 'estimate_state': False, 'publish_state': True}
    with pytest.raises(ParameterError, match='publish_state goes with estimate_state'):
        ControlledRobot.machine(
            SimpleNamespace(node=node, values=values, model=load_robot('driven_shell'))
        )


FIELDS = {
    ('trajectory', 'effort'): lambda m: m.points[-1].effort,
    ('trajectory', 'velocities'): lambda m: m.points[-1].velocities,
    ('joint_state', 'effort'): lambda m: m.effort,
    ('joint_state', 'positions'): lambda m: m.position,
    ('array', 'effort'): lambda m: m.data,
}


@pytest.mark.parametrize(('carrier', 'field'), FIELDS)
def test_a_command_is_carried_by_the_message_that_a_controller_takes(carrier, field):
    system = load_robot('driven_shell').system
    drives = [
        Actuator(
            name=entry.name,
            control=entry.name,
            joints=entry.components,
            limits=np.full(entry.size, 9.0),
            message=field,
            carrier=carrier,
            topic='group/commands',
        )
        for entry in system.control.entries
    ]
    topic, u = CommandTopic(system, drives), np.arange(1.0, 1.0 + system.control.size)
    message = topic.message(u, 5)
    assert (topic.name, topic.kind) == ('group/commands', COMMANDS[carrier][0])
    assert list(FIELDS[carrier, field](message)) == u.tolist()
    stamp, back = topic.read(deserialize_message(serialize_message(message), topic.kind))
    assert back.tolist() == u.tolist()
    assert stamp == (5 if topic.stamped else 0)
    longer = topic.message(np.append(u, 0.0), 5)
    with pytest.raises(ParameterError, match=f'{u.size + 1} values of {field[:6]}'):
        topic.read(longer)


def test_what_a_carrier_has_not_and_several_carriers_are_refused():
    given = {'name': 'motor', 'control': 'u', 'joints': ('u',), 'limits': np.ones(1)}
    with pytest.raises(ParameterError, match="no message 'accelerations'"):
        Actuator(**given, message='accelerations', carrier='joint_state')
    text = find_config('two_wheeler.yaml').read_text()
    for carrier in ('array', 'trajectory'):
        text = text.replace('0.002}', f'0.002, topic: group/commands, carrier: {carrier}}}', 1)
    with pytest.raises(ScenarioError, match='in one field of one message'):
        load_scenario(yaml.safe_load(text))
