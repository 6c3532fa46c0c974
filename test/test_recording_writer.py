"""A recording is compressed, is read back as it was, and keeps no more than a rate."""

from pathlib import Path
import threading
import time

import numpy as np
import pytest

pytest.importorskip('rosbags')

from rolling_dynamics.errors import ParameterError
from rolling_robotics.recordings import writer
from rolling_robotics.recordings.recording_file import RecordingFile
from rolling_robotics.recordings.writer import (
    rate_limits,
    Recording,
    RecordingError,
    Thinning,
    Topic,
)
from rosbags.highlevel import AnyReader
from rosbags.typesys import get_typestore, Stores

COUNT = 3000
STORE = get_typestore(Stores.ROS2_JAZZY)
JOINTS = STORE.types['sensor_msgs/msg/JointState']
HEADER = STORE.types['std_msgs/msg/Header']
TIME = STORE.types['builtin_interfaces/msg/Time']


def standing(k):
    """Return the state of two joints that stand."""
    none = np.zeros(0)
    message = JOINTS(
        header=HEADER(stamp=TIME(sec=k, nanosec=0), frame_id=''),
        name=['one', 'two'],
        position=np.array([0.25, 0.5]),
        velocity=none,
        effort=none,
    )
    return bytes(STORE.serialize_cdr(message, message.__msgtype__))


def test_what_stands_still_takes_little_room_and_is_read_back(tmp_path):
    recording = Recording(tmp_path / 'bag', (), longest_queue=2 * COUNT)
    recording.add(Topic('/joint_states', 'sensor_msgs/msg/JointState', latched=False))
    sent = [standing(k) for k in range(COUNT)]
    for k, data in enumerate(sent):
        recording.put('/joint_states', 1000 * k, data)
    recording.close()
    assert (recording.written, recording.dropped, recording.fault) == (COUNT, 0, '')
    (file,) = Path(tmp_path, 'bag').glob('*.mcap')
    assert file.stat().st_size < sum(map(len, sent)) / 3
    with AnyReader([tmp_path / 'bag']) as bag:
        read = [(stamp, data) for _, stamp, data in bag.messages()]
    assert read == [(1000 * k, data) for k, data in enumerate(sent)]


def in_file(folder):
    """Return the stamps of the messages that stand in the file of a recording."""
    try:
        with RecordingFile(folder, STORE) as recording:
            return [stamp for _, stamp, _ in recording.raw(['/joint_states'])]
    except ParameterError:  # nothing in it is whole yet
        return []


def test_what_finds_no_room_in_the_queue_is_counted(tmp_path, monkeypatch):
    """One is being written, two wait, three are dropped."""
    began, go_on, write = threading.Event(), threading.Event(), writer.Writer.write

    def held(self, *given):
        began.set()
        assert go_on.wait(60)
        return write(self, *given)

    monkeypatch.setattr(writer.Writer, 'write', held)
    recording = Recording(tmp_path / 'bag', (), longest_queue=2)
    recording.add(Topic('/joint_states', 'sensor_msgs/msg/JointState', latched=False))
    recording.put('/joint_states', 0, standing(0))
    assert began.wait(60)
    for k in range(1, 6):
        recording.put('/joint_states', k, standing(k))
    assert recording.dropped == 3
    go_on.set()
    recording.close()
    assert (recording.written, recording.dropped, recording.fault) == (3, 3, '')


def test_a_message_that_cannot_be_written_is_counted_and_the_next_one_is_written(tmp_path):
    recording = Recording(tmp_path / 'bag', (), longest_queue=9)
    recording.add(Topic('/joint_states', 'sensor_msgs/msg/JointState', latched=False))
    recording.put('/other', 0, standing(0))
    recording.put('/joint_states', 1, standing(1))
    recording.close()
    assert (recording.written, recording.dropped) == (1, 1)
    assert recording.fault == "KeyError: '/other'"


def test_a_recording_that_goes_on_can_be_read_up_to_its_last_flush(tmp_path, monkeypatch):
    """A message is in the file once the time is over, whether others follow or not."""
    monkeypatch.setattr(writer, 'FLUSH_PERIOD', 0.01)
    recording = Recording(tmp_path / 'bag', (), longest_queue=9)
    recording.add(Topic('/joint_states', 'sensor_msgs/msg/JointState', latched=False))
    try:
        for k in range(3):  # one after the other was flushed
            recording.put('/joint_states', k, standing(k))
            end = time.monotonic() + 60
            while in_file(tmp_path / 'bag') != list(range(k + 1)):
                assert time.monotonic() < end, in_file(tmp_path / 'bag')
                time.sleep(0.01)
    finally:
        recording.close()


@pytest.mark.parametrize(
    ('rate', 'kept'), [(1000.0, 1000), (250.0, 250), (300.0, 300), (1e6, 1000)]
)
def test_rate_is_kept_on_average(rate, kept):
    thinning = Thinning(rate)
    count = sum(thinning.keeps(10**6 * k) for k in range(1000))  # one second at 1 kHz
    assert abs(count - kept) <= 1


def test_a_pause_is_not_made_up_for():
    thinning = Thinning(100.0)
    assert thinning.keeps(0)
    assert [thinning.keeps(10**9 + 10**6 * k) for k in range(12)].count(True) == 2


def test_limits_are_read_and_what_is_none_is_told():
    assert rate_limits(['', 'hand/odometry=100', '/tf=2.5']) == {'hand/odometry': 100, '/tf': 2.5}
    for wrong in ('hand/odometry', '=3', '/tf=0', '/tf=fast', '/tf=inf'):
        with pytest.raises(RecordingError, match='TOPIC=RATE'):
            rate_limits([wrong])
