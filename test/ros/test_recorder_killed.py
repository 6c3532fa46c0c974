"""A recorder that is killed leaves all but its last second to be read."""

import signal

from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
import pytest
from rolling_node_kit.qos import EVENT, STREAM_WRITER
from rolling_robotics.cli import main
from rolling_robotics.nodes.recorded import Recorded

pytestmark = pytest.mark.ros
COUNT = 50


def test_what_was_flushed_is_read(peer, run_process, tmp_path, capsys, fault_row):
    odometry = peer.node.create_publisher(Odometry, 'hand/odometry', STREAM_WRITER)
    recorder = run_process(
        'rolling_robotics.nodes.recorder_node',
        params={
            'folder': tmp_path / 'bag',
            'topics': '["hand/odometry"]',
            'scan_period': 0.05,
            'diagnostics_period': 0.05,
        },
    ).wait_for('recording into')
    file = tmp_path / 'bag' / 'bag.mcap'
    sent = iter(range(10_000))

    def send():
        message = Odometry()
        message.pose.pose.position.x = float(next(sent))
        odometry.publish(message)

    def is_kept(array):
        values = {v.key: v.value for v in array.status[0].values}
        return int(values.get('written', 0)) >= COUNT and file.stat().st_size > 10_000

    with peer.every(0.01, send):
        peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=is_kept)
    recorder.stop(signal.SIGKILL)
    assert not (tmp_path / 'bag' / 'metadata.yaml').exists()
    told = fault_row('the recorder is killed; its recording is read')
    with Recorded(tmp_path / 'bag') as recorded:
        rows = [m.pose.pose.position.x for _, _, m in recorded.messages(['hand/odometry'])]
        assert 'was not closed' in recorded.loss
        assert f'{len(rows)} messages of 1 topics are whole' in recorded.loss
        told(recorded.loss)
    assert rows == [rows[0] + k for k in range(len(rows))]
    assert len(rows) > 10
    assert main(['replay', str(tmp_path / 'bag')]) == 2
    said = capsys.readouterr().err
    assert 'was not closed' in said
    assert 'nothing was executed' in said
    peer.node.destroy_publisher(odometry)
