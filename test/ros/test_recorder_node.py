"""A recording holds what was sent, with its schemas, whether the recorder is stopped or waits."""

from pathlib import Path
import signal

from deadline import Deadline
from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
import pytest
from rclpy.duration import Duration
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.qos import EVENT, LATCHED, STREAM_WRITER
from rolling_robotics.recordings.writer import typestore_with
from rosbags.highlevel import AnyReader

COUNT = 50
PAUSE = 1500  # messages, of a loop at 1 kHz in one and a half seconds


def listened_to(recorder, *publishers):
    """Wait until the recorder hears them."""
    end = Deadline(60.0)
    while not all(p.get_subscription_count() for p in publishers):
        assert end.left > 0.0, 'the recorder does not listen'
        recorder._reader.join(0.01)


def send(odometry, count):
    for k in range(count):
        message = Odometry()
        message.pose.pose.position.x = float(k)
        odometry.publish(message)


@pytest.mark.parametrize(
    'number', [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_what_is_sent_is_recorded(peer, run_process, tmp_path, number):
    odometry = peer.node.create_publisher(Odometry, 'hand/odometry', STREAM_WRITER)
    contact = peer.node.create_publisher(RollingContact, 'contact/state', LATCHED)
    contact.publish(RollingContact(mode='rolling', required_friction=0.25))
    recorder = run_process(
        'rolling_robotics.nodes.recorder_node',
        params={
            'folder': tmp_path / 'bag',
            'topics': '["hand/odometry", "contact/state"]',
            'scan_period': 0.05,
        },
    ).wait_for('recording into')
    listened_to(recorder, odometry, contact)
    send(odometry, COUNT)
    assert odometry.wait_for_all_acked(Duration(seconds=60))
    assert contact.wait_for_all_acked(Duration(seconds=60))
    status = recorder.stop(number)
    assert (status, 'Traceback' in recorder.text) == (0, False), recorder.text
    assert ', 0 dropped' in recorder.text
    with AnyReader([Path(tmp_path, 'bag')]) as bag:
        read = [(c.topic, bag.deserialize(data, c.msgtype)) for c, _, data in bag.messages()]
    places = [m.pose.pose.position.x for topic, m in read if topic == '/hand/odometry']
    assert places == [float(k) for k in range(COUNT)]
    assert [m.required_friction for topic, m in read if topic == '/contact/state'] == [0.25]
    peer.node.destroy_publisher(odometry)
    peer.node.destroy_publisher(contact)


def test_a_second_publisher_is_no_loss(peer, run_process, tmp_path):
    """Each publisher has numbers of its own; those of the frames of several nodes alternate."""
    first = peer.node.create_publisher(Odometry, 'hand/odometry', STREAM_WRITER)
    recorder = run_process(
        'rolling_robotics.nodes.recorder_node',
        params={'folder': tmp_path / 'bag', 'topics': '["hand/odometry"]', 'scan_period': 0.05},
    ).wait_for('recording into')
    listened_to(recorder, first)
    send(first, COUNT)
    second = peer.node.create_publisher(Odometry, 'hand/odometry', STREAM_WRITER)
    listened_to(recorder, second)
    for publisher in (first, second) * 5:  # unacknowledged: that comes with a heartbeat, in 3 s
        send(publisher, 1)

    def told(message):
        status = message.status[0]
        values = {v.key: v.value for v in status.values}
        whole = values.get('written'), values.get('lost before they came')
        return status.name == 'recorder' and whole == (str(COUNT + 10), '0')

    peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=told)
    assert recorder.stop() == 0
    assert ', 0 dropped' in recorder.text
    for publisher in (first, second):
        peer.node.destroy_publisher(publisher)


def test_what_is_sent_while_the_recorder_waits_for_the_processor_is_recorded(
    peer, run_process, tmp_path
):
    odometry = peer.node.create_publisher(Odometry, 'hand/odometry', STREAM_WRITER)
    recorder = run_process(
        'rolling_robotics.nodes.recorder_node',
        params={'folder': tmp_path / 'bag', 'topics': '["hand/odometry"]', 'scan_period': 0.05},
    ).wait_for('recording into')
    listened_to(recorder, odometry)
    recorder.popen.send_signal(signal.SIGSTOP)
    send(odometry, PAUSE)
    recorder.popen.send_signal(signal.SIGCONT)
    assert odometry.wait_for_all_acked(Duration(seconds=60))
    assert recorder.stop() == 0
    assert f'{PAUSE} messages' in recorder.text
    assert ', 0 dropped' in recorder.text
    with AnyReader([Path(tmp_path, 'bag')]) as bag:
        read = [bag.deserialize(data, c.msgtype) for c, _, data in bag.messages()]
    assert [m.pose.pose.position.x for m in read] == [float(k) for k in range(PAUSE)]
    peer.node.destroy_publisher(odometry)


def test_store_knows_the_types_of_the_suite():
    store = typestore_with(['rolling_interfaces'])
    assert 'rolling_interfaces/msg/RollingPlan' in store.fielddefs


def test_recorder_without_a_folder_says_so(run_process):
    node = run_process('rolling_robotics.nodes.recorder_node').wait_for('folder is empty')
    assert node.stop() == 0
