"""What a recorder imports, which types it knows, and how it offers its topics to a player."""

import os
import sys

import pytest

pytest.importorskip('rosbags')

from rolling_dynamics.errors import ParameterError
from rolling_robotics.recordings import writer
from rolling_robotics.recordings.writer import (
    message_class,
    offered_qos,
    rate_limits,
    Recording,
    RecordingError,
    share_folders,
    Thinning,
    Topic,
    typestore_with,
)
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability

PACKAGE = 'made_msgs'
JOINTS = 'sensor_msgs/msg/JointState'
INDEX = 'share/ament_index/resource_index/rosidl_interfaces'


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """Return a workspace that defines one message and lists another that has no class."""
    root = tmp_path / 'workspace'
    (root / INDEX).mkdir(parents=True)
    (root / INDEX / PACKAGE).write_text(
        '  msg/Made.msg \nmsg/Lost.msg\nsrv/Asked.srv\n', encoding='utf-8'
    )
    folder = root / 'share' / PACKAGE / 'msg'
    folder.mkdir(parents=True)
    (folder / 'Made.msg').write_text('float64 x\nstd_msgs/Header header\n')
    (folder / 'Notes.txt').write_text('not a message\n')
    module = tmp_path / 'path' / PACKAGE
    module.mkdir(parents=True)
    (module / '__init__.py').write_text('')
    (module / 'msg.py').write_text('class Made:\n    pass\n')
    monkeypatch.syspath_prepend(module.parent)
    monkeypatch.setenv('AMENT_PREFIX_PATH', os.pathsep.join([str(root), '', str(tmp_path)]))
    yield root
    for name in (PACKAGE, f'{PACKAGE}.msg'):
        sys.modules.pop(name, None)


def test_folders_are_those_that_are_sourced_then_that_of_python(prefix, monkeypatch, tmp_path):
    own = tmp_path / 'python'
    monkeypatch.setattr(writer.sys, 'prefix', str(own))
    assert list(share_folders()) == [prefix / 'share']
    (own / 'share').mkdir(parents=True)
    assert list(share_folders()) == [prefix / 'share', own / 'share']
    (tmp_path / 'share').mkdir()
    assert list(share_folders()) == [prefix / 'share', tmp_path / 'share', own / 'share']
    monkeypatch.chdir(tmp_path)  # which has a share folder: an empty entry is not the present one
    monkeypatch.delenv('AMENT_PREFIX_PATH')
    assert list(share_folders()) == [own / 'share']


@pytest.mark.usefixtures('prefix')
def test_a_message_that_the_index_lists_is_imported():
    assert message_class(f'{PACKAGE}/msg/Made') is sys.modules[f'{PACKAGE}.msg'].Made


@pytest.mark.usefixtures('prefix')
@pytest.mark.parametrize(
    ('kind', 'why'),
    [
        (
            f'{PACKAGE}/srv/Asked',
            "'made_msgs/srv/Asked' is not a name such as std_msgs/msg/String",
        ),
        (f'{PACKAGE}/msg/Asked', "'made_msgs/msg/Asked' is not known here; the ament index lacks"),
        (
            'other_msgs/msg/Made',
            "'other_msgs/msg/Made' is not known here; the ament index lacks it",
        ),
        (f'{PACKAGE}/msg/Lost', "'made_msgs/msg/Lost' cannot be loaded: module 'made_msgs.msg'"),
    ],
)
def test_other_types_are_refused_with_the_reason(kind, why):
    with pytest.raises(ParameterError) as refused:
        message_class(kind)
    assert f'type {why}' in str(refused.value)


@pytest.mark.usefixtures('prefix')
def test_types_of_a_package_stand_beside_the_common_ones():
    known = typestore_with([PACKAGE, 'std_msgs']).fielddefs
    assert [name for name, _ in known[f'{PACKAGE}/msg/Made'][1]] == ['x', 'header']
    assert {n for n in known if n.startswith(PACKAGE)} == {f'{PACKAGE}/msg/Made'}
    assert JOINTS in known
    assert f'{PACKAGE}/msg/Made' not in typestore_with([]).fielddefs


def test_a_definition_does_not_replace_a_common_type(prefix):
    folder = prefix / 'share' / 'std_msgs' / 'msg'
    folder.mkdir(parents=True)
    (folder / 'Bool.msg').write_text('float64 other\n')
    known = typestore_with(['std_msgs']).fielddefs
    assert [name for name, _ in known['std_msgs/msg/Bool'][1]] == ['data']


@pytest.mark.parametrize('latched', [False, True])
def test_a_player_offers_a_topic_as_it_was(latched):
    forever = writer.FOREVER
    assert offered_qos(Topic('/a', JOINTS, latched)) == Qos(
        QosHistory.KEEP_LAST,
        1 if latched else 10,
        QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
        forever,
        forever,
        QosLiveliness.AUTOMATIC,
        forever,
        avoid_ros_namespace_conventions=False,
    )


def test_a_recording_keeps_the_offers_of_its_topics(tmp_path):
    recording = Recording(tmp_path / 'new' / 'deep' / 'bag', (), longest_queue=9)
    assert recording.folder == tmp_path / 'new' / 'deep' / 'bag'
    for latched in (False, True):
        recording.add(Topic(f'/latched_{latched}', JOINTS, latched))
    with pytest.raises(RecordingError, match="type 'made_msgs/msg/Made' is not known here"):
        recording.add(Topic('/other', f'{PACKAGE}/msg/Made', latched=False))
    recording.close()
    metadata = (tmp_path / 'new' / 'deep' / 'bag' / 'metadata.yaml').read_text()
    for latched, word in ((False, 'volatile'), (True, 'transient_local')):
        (part,) = [t for t in metadata.split('topic_metadata') if f'/latched_{latched}' in t]
        assert f'durability: {word}' in part


def test_where_a_recording_stands_already_is_named(tmp_path):
    (tmp_path / 'bag').mkdir()
    with pytest.raises(RecordingError, match=f'cannot record into {tmp_path}/bag: .*exists'):
        Recording(tmp_path / 'bag', (), longest_queue=9)


def test_two_messages_that_find_no_topic_are_two(tmp_path):
    recording = Recording(tmp_path / 'bag', (), longest_queue=9)
    for k in range(2):
        recording.put('/none', k, b'')
    recording.close()
    assert (recording.written, recording.dropped) == (0, 2)


def test_a_rate_below_one_and_an_equals_sign_are_read_as_they_stand():
    assert rate_limits(['/slow=0.5']) == {'/slow': 0.5}
    with pytest.raises(RecordingError, match="got '/a=1=2'"):
        rate_limits(['/a=1=2'])


def test_a_period_late_by_itself_begins_a_new_count():
    thinning = Thinning(1000.0)
    assert thinning.keeps(0)
    assert thinning.keeps(2_000_000)  # due at 1 ms and late by a whole period
    assert not thinning.keeps(2_999_999)
    assert thinning.keeps(3_000_000)
