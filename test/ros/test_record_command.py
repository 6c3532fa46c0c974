"""`rolling record`: what is published until Ctrl-C is in the folder that it names."""

import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from deadline import Deadline
from nav_msgs.msg import Odometry
import pytest
from rolling_node_kit.qos import STREAM_WRITER
from rolling_robotics.nodes.recorded import Recorded

pytestmark = pytest.mark.ros
PATIENCE = 60.0


def test_named_topic_is_recorded_until_ctrl_c(peer, domain, tmp_path):
    odometry = peer.node.create_publisher(Odometry, 'hand/odometry', STREAM_WRITER)
    other = peer.node.create_publisher(Odometry, 'object/odometry', STREAM_WRITER)
    command = [sys.executable, '-m', 'rolling_robotics.cli', 'record']
    with subprocess.Popen(
        [*command, '--out', str(tmp_path / 'bag'), 'hand/odometry'],
        env={**os.environ, 'ROS_DOMAIN_ID': str(domain)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        end = Deadline(PATIENCE)
        while odometry.get_subscription_count() < 1:
            assert end.left > 0.0, 'the recorder does not listen'
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.02)
        for k in range(5):
            message = Odometry()
            message.pose.pose.position.x = float(k)
            odometry.publish(message)
            other.publish(message)
        odometry.wait_for_all_acked()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert '5 messages of 1 topics' in said
    assert 'Traceback' not in said
    with Recorded(Path(tmp_path, 'bag')) as recorded:
        assert recorded.topics == {'/hand/odometry': 'nav_msgs/msg/Odometry'}
        seen = [m.pose.pose.position.x for _, _, m in recorded.messages(['hand/odometry'])]
    assert seen == [0, 1, 2, 3, 4]
    peer.node.destroy_publisher(odometry)
    peer.node.destroy_publisher(other)


def test_a_folder_that_cannot_be_made_is_refused():
    command = [
        sys.executable,
        '-m',
        'rolling_robotics.cli',
        'record',
        '--out',
        '/proc/none/x',
        't',
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 2
    assert "the folder '/proc' is not writable" in ended.stderr
