"""Of a damaged recording is read what is whole, or it is one clear error."""

from array import array
from collections import Counter
import json
import os
from pathlib import Path
import struct
import sys

from damage import damaged_bytes, often, told_or_read
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import TransformStamped, WrenchStamped
from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from rolling_dynamics.errors import ParameterError
from rolling_interfaces.msg import RollingContact
from rolling_planner.laboratory.laboratory import Laboratory
from rolling_robotics.cli import main
from rolling_robotics.commands.arguments import opened
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.recorded_scene import recorded_scene
from rolling_robotics.nodes.replay.estimates import replay_estimates
from rolling_robotics.nodes.replay.laws import replay_laws
from rolling_robotics.recordings.recording_file import CHUNK, HEAD, MAGIC, RecordingFile
from rolling_robotics.recordings.writer import Recording, Topic, typestore_with
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from std_msgs.msg import (
    Float64MultiArray,
    Int64MultiArray,
    MultiArrayDimension,
    MultiArrayLayout,
    String,
)
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

sys.path.append(str(Path(__file__).resolve().parents[1] / 'ros'))

from bags import cdr

pytestmark = pytest.mark.ros
COUNT = 60
TOPICS = {
    '/tf': TFMessage,
    '/simulator/surfaces': MarkerArray,
    '/contact/wrench': WrenchStamped,
    '/contact/state': RollingContact,
    '/controller/settings': ParameterEvent,
    '/controller/steps': Float64MultiArray,
    '/estimator/settings': String,
    '/estimator/steps': Int64MultiArray,
}
PLANAR = Laboratory.of_paper().model()[0]
SETTINGS = {'scenario_file': 'laboratory_damping.yaml', 'experiment': 'damping', 'law': 'x'}


def kind_of(message):
    return f'{message.__module__.split(".")[0]}/msg/{message.__name__}'


def moving(k):
    """Return the messages of a moment."""
    frame = TransformStamped(child_frame_id='object')
    frame.header.frame_id = 'world'
    frame.header.stamp.nanosec = 10_000_000 * k
    frame.transform.translation.x = 0.01 * k
    wrench = WrenchStamped()
    wrench.header.stamp = frame.header.stamp
    wrench.wrench.force.z = 1.0
    contact = RollingContact(mode='rolling', required_friction=0.1, friction_utilisation=0.2)
    contact.header.stamp = frame.header.stamp
    return {
        '/tf': TFMessage(transforms=[frame]),
        '/contact/wrench': wrench,
        '/contact/state': contact,
    }


def standing():
    marker = Marker(type=Marker.SPHERE, frame_locked=True)
    marker.header.frame_id = 'object'
    marker.scale.x = marker.scale.y = marker.scale.z = 0.1
    text = String(data=json.dumps(SETTINGS))
    known = {**SETTINGS, 'law': 'open_loop', 'plan_file': '', 'run': 1, 'task': 'run'}
    known |= {'brake_time': 0.1, 'recording_format': 2, 'fingerprint': ''}
    parameters = [Parameter(n, value=v).to_parameter_msg() for n, v in known.items()]
    width = 6 + len(PLANAR.state.names) + len(PLANAR.control.names)
    dims = [MultiArrayDimension(size=1), MultiArrayDimension(size=width)]
    row = array('d', [1.0, *[0.0] * (width - 1)])
    steps = Float64MultiArray(layout=MultiArrayLayout(dim=dims), data=row)
    return {
        '/simulator/surfaces': MarkerArray(markers=[marker]),
        '/controller/settings': ParameterEvent(new_parameters=parameters),
        '/controller/steps': steps,
        '/estimator/settings': text,
        '/estimator/steps': Int64MultiArray(data=array('q', [5, 1, 0, 0, 0])),
    }


def write(folder, *, compressed=False):
    """Write a recording with several chunks; return its file."""
    writer = Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP)
    if compressed:
        writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    store = typestore_with(['rolling_interfaces'])
    with writer:
        made = {
            topic: writer.add_connection(topic, kind_of(cls), typestore=store)
            for topic, cls in TOPICS.items()
        }
        for topic, message in standing().items():
            padded = isinstance(message, ParameterEvent)
            data = cdr(message) if padded else serialize_message(message)
            writer.write(made[topic], 1, data)
        for k in range(COUNT):
            for topic, message in moving(k).items():
                writer.write(made[topic], 10 + k, serialize_message(message))
            if k % 15 == 14:
                writer.storage.close_chunk()
    return next(folder.glob('*.mcap'))


@pytest.fixture(
    scope='module',
    params=[
        pytest.param(False, id='plain'),
        pytest.param(True, id='zstd', marks=pytest.mark.slow),
    ],
)
def whole(request, tmp_path_factory):
    """Return the bytes of a whole recording."""
    path = write(tmp_path_factory.mktemp('whole') / 'bag', compressed=request.param)
    return path.read_bytes()


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('damaged')


def read_everything(path):
    """Read a recording as `rolling view`, `animate`, `plot` and `replay` do; return its times."""
    with opened('view', path) as recorded:
        rows = [(name, stamp) for name, stamp, _ in recorded.messages(list(TOPICS))]
        for use in (recorded_scene, replay_estimates, replay_laws):
            told_or_read(lambda use=use: use_one(use, path))
    return rows


def use_one(use, path):
    with opened('view', path) as recorded:
        return use(recorded)


def check_damaged(data, whole, folder):
    path = folder / 'damaged.mcap'
    path.write_bytes(data.draw(damaged_bytes(whole)))
    rows, _ = told_or_read(lambda: read_everything(path))
    assert rows is None or len(rows) <= 2 * (3 * COUNT + 5)
    return 'refused' if rows is None else 'read'


@pytest.mark.slow
def test_damaged_recordings_are_told(whole, folder, fault_row):
    ended, told = Counter(), fault_row('50 recordings damaged at random')

    @given(data=st.data())
    @often(50)
    def check(data):
        ended[check_damaged(data, whole, folder)] += 1

    check()
    told(f'of {ended["read"]} is read what is whole, {ended["refused"]} are refused in one line')


@pytest.mark.slow
@given(data=st.data())
@often(10_000)
def test_many_damaged_recordings_are_told(data, whole, folder):
    check_damaged(data, whole, folder)


def spans(data):
    """Return kind, begin and end of each record."""
    at, out = len(MAGIC), []
    while at + HEAD.size <= len(data) - len(MAGIC):
        kind, length = HEAD.unpack_from(data, at)
        out.append((kind, at, at + HEAD.size + length))
        at = out[-1][2]
    return out


def times_of(path, topic='/tf'):
    with RecordingFile(path, typestore_with(['rolling_interfaces'])) as recording:
        return [stamp for _, stamp, _ in recording.raw([topic])], recording.loss


def test_whole_recordings_are_read_without_a_word(whole, folder):
    path = folder / 'whole.mcap'
    path.write_bytes(whole)
    times, loss = times_of(path)
    assert times == list(range(10, 10 + COUNT))
    assert loss == ''
    with opened('view', path) as recorded:
        scene = recorded_scene(recorded)
        (run,) = replay_laws(recorded)
    assert run.same
    assert scene.bodies[0].position[-1, 0] == pytest.approx(0.01 * (COUNT - 1))


@pytest.mark.parametrize('lost', [1, 2, 3])
def test_a_recording_without_its_end_is_read_up_to_its_last_whole_chunk(
    whole, folder, lost, fault_row
):
    """As a recorder leaves it that was killed as it wrote a chunk: no index, no metadata.yaml."""
    chunks = [end for kind, _, end in spans(whole) if kind == CHUNK]
    cut = chunks[-lost] - 7
    path = folder / 'killed.mcap'
    path.write_bytes(whole[:cut])
    told = fault_row(f'a recording is cut in the chunk {lost} before its end')
    times, loss = times_of(path)
    told(loss.partition(': ')[2] or loss)
    assert times == list(range(10, 10 + COUNT - 15 * lost))
    assert f'of {cut}' in loss
    assert 'was not closed' in loss


def test_a_damaged_chunk_is_left_out_and_the_rest_is_read(whole, folder):
    """The second chunk says another length of its messages than it has."""
    chunk = [span for span in spans(whole) if span[0] == CHUNK][1]
    data = bytearray(whole)
    struct.pack_into('<Q', data, chunk[1] + HEAD.size + 16, 3)
    path = folder / 'chunk.mcap'
    path.write_bytes(data)
    times, loss = times_of(path)
    assert times == [t for t in range(10, 10 + COUNT) if not 25 <= t < 40]
    assert '1 damaged stretches' in loss


def test_a_small_chunk_does_not_fill_the_memory(folder, fault_row):
    """A megabyte that says it is small and becomes 10 GB: no more than stated is made of it."""
    from backports import zstd

    block = zstd.compress(bytes(2**27))
    compressor = zstd.ZstdCompressor()
    bomb = b''.join(compressor.compress(bytes(2**27)) for _ in range(8)) + compressor.flush()
    assert len(block) + len(bomb) < 2**20
    content = struct.pack('<QQQI', 0, 1, 100, 0) + struct.pack('<I', 4) + b'zstd'
    content += struct.pack('<Q', len(bomb)) + bomb
    path = folder / 'bomb.mcap'
    path.write_bytes(MAGIC + HEAD.pack(1, 8) + bytes(8) + HEAD.pack(CHUNK, len(content)) + content)
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = fault_row('a chunk of a megabyte that says it is small and becomes 1 GB')
    with pytest.raises(ParameterError, match='1 damaged stretches'):
        times_of(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB
    told('left out; no more memory than stated')


def test_messages_come_in_the_order_of_arrival_though_chunks_overlap(tmp_path):
    store = typestore_with([])
    rng = np.random.default_rng(5)
    stamps = [int(t) for t in np.arange(2000) + rng.integers(0, 300, 2000)]
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        made = writer.add_connection('/text', 'std_msgs/msg/String', typestore=store)
        for k, stamp in enumerate(stamps):
            writer.write(made, stamp, serialize_message(String(data=str(stamp))))
            if k % 100 == 99:
                writer.storage.close_chunk()
    assert times_of(tmp_path / 'bag', '/text')[0] == sorted(stamps)


def test_a_type_with_another_definition_is_told(tmp_path):
    from rosbags.typesys import get_types_from_msg, get_typestore, Stores

    store = get_typestore(Stores.EMPTY)
    kind = kind_of(RollingContact)
    store.register(get_types_from_msg('float64 mode\nstring gap\n', kind))
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        made = writer.add_connection('/contact/state', kind, typestore=store)
        writer.write(made, 1, serialize_message(RollingContact()))
    bag, told = tmp_path / 'bag', 'another definition'
    with Recorded(bag) as recorded, pytest.raises(ParameterError, match=told):
        list(recorded.messages(['contact/state']))


@pytest.mark.parametrize('kind', ['fifo', 'device', 'text', 'empty', 'sqlite', 'nothing'])
def test_what_is_no_recording_is_told(tmp_path, kind, capsys, fault_row):
    folder = tmp_path / 'bag'
    folder.mkdir()
    path = folder / 'bag.mcap'
    if kind == 'fifo':
        os.mkfifo(path)
    elif kind == 'device':
        path.symlink_to('/dev/zero')
    elif kind == 'text':
        path.write_text('no recording')
    elif kind == 'empty':
        path.write_bytes(b'')
    elif kind == 'sqlite':
        (folder / 'bag.db3').write_bytes(b'SQLite format 3\0')
    told = fault_row(f'`rolling replay`, `plot`, `animate` of a recording that is a {kind}')
    for command in (['replay'], ['plot'], ['animate', '--out', str(tmp_path / 'out.gif')]):
        assert main([command[0], str(folder), *command[1:]]) == 2
        err = capsys.readouterr().err.splitlines()  # of long work one line says, too
        said = [line for line in err if line.startswith('rolling: ')]
        assert len(said) == 1
        assert str(folder) in said[0]
    told(f'status 2: {said[0].replace(str(tmp_path), "...")}')


@pytest.mark.parametrize('named', ['pipe', '../pipe', '/etc/passwd', 'pipe\0', ''])
def test_no_scenario_is_opened_that_a_recording_names(tmp_path, monkeypatch, named, fault_row):
    """Not even one in the folder at work; only what comes with the suite, or what is given."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / 'pipe')
    recording = Recording(tmp_path / 'bag', (), longest_queue=10)
    recording.add(Topic('/controller/settings', 'std_msgs/msg/String', latched=False))
    text = json.dumps(SETTINGS | {'scenario_file': named})
    recording.put('/controller/settings', 1, serialize_message(String(data=text)))
    recording.close()
    told = fault_row(f'a recording names the scenario {named!r}, a FIFO or a foreign file')
    with Recorded(tmp_path / 'bag') as recorded, pytest.raises(ParameterError, match='--scenario'):
        recorded.settings('controller/settings', ())
    told('not opened: --scenario is asked for')
    given_ = Path('given.yaml')
    with Recorded(tmp_path / 'bag', given_) as recorded:
        (values,) = recorded.settings('controller/settings', ())
    assert values['scenario_file'] == str(given_)
