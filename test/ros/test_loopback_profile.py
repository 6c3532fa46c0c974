"""With the suite's profile of Fast DDS, nodes are reached from this machine alone."""

from ipaddress import ip_address
import subprocess
import sys

import pytest
from rolling_dynamics.configuration import find_config

psutil = pytest.importorskip('psutil')

BRIDGE = 'rolling_hw_interface.nodes.motor_bridge_node'
LOOK = """
import sys, time, rclpy
rclpy.init()
node, end = rclpy.create_node('look'), time.monotonic() + 60
while 'motor_bridge' not in node.get_node_names():
    if time.monotonic() > end:
        sys.exit('it was not discovered')
    time.sleep(0.05)
"""


def test_every_socket_is_on_the_loopback_interface(run_process, ros_environment):
    profile = {
        'FASTRTPS_DEFAULT_PROFILES_FILE': str(find_config('security/loopback.fastdds.xml')),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SYSTEM_DEFAULT',
        'RMW_IMPLEMENTATION': 'rmw_fastrtps_cpp',
    }
    ros_environment.update(profile)
    process = run_process(BRIDGE).wait_for('driving joint_1')
    command = [sys.executable, '-c', LOOK]
    done = subprocess.run(
        command, env=ros_environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    sockets = psutil.Process(process.popen.pid).net_connections('inet')
    addresses = {ip_address(s.laddr.ip) for s in sockets}
    assert ip_address('127.0.0.1') in addresses
    # a multicast address is not one of an interface: what it gets comes from those joined
    assert all(a.is_loopback or a.is_multicast for a in addresses), addresses
