"""The name of a type is text that anybody may send: only what the index lists is imported."""

import sys

from nav_msgs.msg import Odometry
import pytest
import rclpy
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.qos import STREAM_WRITER
from rolling_robotics.nodes.recorder_node import RecorderNode
from rolling_robotics.recordings.writer import message_class
from rosbags.highlevel import AnyReader

pytestmark = pytest.mark.ros
HOSTILE = [
    'this/msg/X',  # of the standard library: prints a poem and draws on the random generator
    'antigravity/msg/X',
    'os.path/msg/X',
    'nav_msgs/msg/Odometry/../X',
    'nav_msgs/Odometry',
    'nav_msgs//Odometry',
    'nav_msgs/srv/GetMap',
    'nav_msgs/msg/__file__',
    'nav_msgs/msg/NoSuchThing',
    'nav_msgs/msg/Odometry\n',
    '../nav_msgs/msg/Odometry',
    'rolling_dynamics/msg/Scenario',
    '',
    'a' * 100_000,
]


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """Put a package in the path that looks like messages and is not in the index."""
    package = tmp_path / 'planted' / 'msg'
    package.mkdir(parents=True)
    (package.parent / '__init__.py').write_text('')
    (package / '__init__.py').write_text('class X: pass\n')
    monkeypatch.syspath_prepend(tmp_path)
    yield 'planted/msg/X'
    sys.modules.pop('planted', None)
    sys.modules.pop('planted.msg', None)


def test_a_type_of_the_index_is_found():
    assert message_class('nav_msgs/msg/Odometry') is Odometry


@pytest.mark.parametrize('kind', HOSTILE)
def test_other_names_import_nothing(kind, fault_row):
    before = set(sys.modules)
    told = fault_row(f'a topic with the type {kind[:40]!r}')
    with pytest.raises(ParameterError, match='type ') as failure:
        message_class(kind)
    told(f'nothing is imported: {failure.value}')
    assert set(sys.modules) == before
    assert len(str(failure.value)) < 300
    assert '\n' not in str(failure.value)


def test_a_package_that_is_not_in_the_index_does_not_run(planted):
    with pytest.raises(ParameterError, match='index'):
        message_class(planted)
    assert 'planted' not in sys.modules


class Foreign:
    """What the graph says of a publisher that somebody else runs."""

    def __init__(self, kind):
        self.topic_type = kind
        self.qos_profile = STREAM_WRITER


class Logger:
    """Keeps what is logged."""

    def __init__(self, said):
        self._said = said

    def __getattr__(self, level):
        return lambda text, **_: self._said.append(text)


class Graph(RecorderNode):
    """A recorder that also sees publishers of other types on the network."""

    def __init__(self):
        self.foreign, self.said = {}, []
        super().__init__()

    def get_logger(self):
        return Logger(self.said)

    def get_topic_names_and_types(self):
        seen = dict(super().get_topic_names_and_types())
        for name, kinds in self.foreign.items():
            seen[name] = sorted({*seen.get(name, []), *kinds})
        return sorted(seen.items())

    def get_publishers_info_by_topic(self, name):
        others = [Foreign(kind) for kind in self.foreign.get(name, [])]
        return [*others, *super().get_publishers_info_by_topic(name)]


@pytest.fixture
def recorder(domain, tmp_path):
    values = {'folder': tmp_path / 'bag', 'autostart': 'false'}
    arguments = [word for k, v in values.items() for word in ('-p', f'{k}:={v}')]
    rclpy.init(args=['--ros-args', *arguments], domain_id=domain)
    node = Graph()
    yield node
    node.make_safe()
    node.release()
    node.destroy_node()
    rclpy.shutdown()


def test_one_bad_topic_does_not_stop_the_others(peer, recorder, tmp_path, fault_row):
    odometry = peer.node.create_publisher(Odometry, '/hand/odometry', STREAM_WRITER)
    foreign = {f'/a{k}': [kind] for k, kind in enumerate(HOSTILE)}
    foreign['/hand/odometry'] = ['a_first/msg/X']  # somebody adds a type to a topic of ours
    recorder.foreign = foreign
    before = set(sys.modules)
    told = fault_row(f'{len(HOSTILE)} topics with such types, and one with a type of the index')
    recorder.trigger_configure()
    recorder.trigger_activate()
    assert not {'this', 'antigravity', 'planted'} & (set(sys.modules) - before)
    deadline = peer.node.get_clock().now().nanoseconds + 60_000_000_000
    while not odometry.get_subscription_count():
        assert peer.node.get_clock().now().nanoseconds < deadline, recorder.said
        recorder._scan()
    message = Odometry()
    message.pose.pose.position.x = 7.0
    odometry.publish(message)
    odometry.wait_for_all_acked()
    recorder._scan()
    said = (text for text in recorder.said if 'is not recorded' in text)
    warned = [text for text in said if "'/a" in text]  # ours may be seen with its type later
    assert len([text for text in warned if "'/a0'" in text]) == 1, 'reported once'
    assert len(warned) == len(HOSTILE)
    assert max(len(text) for text in warned) < 400
    _, _, values = recorder.health()
    assert values['topics not recorded'] == len(HOSTILE)
    told(f'the one is recorded, {len(warned)} are reported, once each')
    recorder.trigger_deactivate()
    recorder.trigger_cleanup()
    with AnyReader([tmp_path / 'bag']) as bag:
        found = [bag.deserialize(d, c.msgtype) for c, _, d in bag.messages() if 'hand' in c.topic]
    assert [m.pose.pose.position.x for m in found] == [7.0]
    peer.node.destroy_publisher(odometry)
