"""What others send may stand in the diagnostics of a node: cut, and without control characters."""

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import AccelStamped
import pytest
from rolling_node_kit.qos import EVENT, STREAM_WRITER

pytestmark = pytest.mark.ros
HOSTILE = '\x1b[2J\u202e\n' + 'frame' * 20_000


def test_name_of_a_frame_is_cut_in_the_diagnostics(peer, run_process, fault_row):
    node = run_process(
        'rolling_dynamics.nodes.simulator_node',
        params={'scenario_file': 'spinning_plate.yaml', 'diagnostics_period': 0.05},
    )
    commands = peer.node.create_publisher(AccelStamped, 'hand/accel_command', STREAM_WRITER)
    message = AccelStamped()
    message.header.frame_id = HOSTILE

    def is_refusal(array):
        return 'refused' in array.status[0].message

    told = fault_row('commands with a frame name of 100 kB and control characters')
    with peer.every(0.02, lambda: commands.publish(message)):
        (found,) = peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=is_refusal)
    text = found.status[0].message
    told(f'refused, and reported in {len(text)} printable characters')
    assert text.isprintable()
    assert len(text) < 500
    assert "'hand' is needed" in text, 'what would do is not cut away'
    assert all(len(v.value) <= 500 for v in found.status[0].values)
    assert node.stop() == 0
    assert all(line.isprintable() and len(line) < 700 for line in node.lines), node.text
    peer.node.destroy_publisher(commands)
