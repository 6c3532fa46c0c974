"""A node that drives motors says if anybody may; a node without its keys does not start."""

import os
import subprocess
import sys

BRIDGE = 'rolling_hw_interface.nodes.motor_bridge_node'


def test_motor_bridge_says_once_that_security_is_off(run_process):
    process = run_process(BRIDGE)
    process.wait_for('driving joint_1')
    assert process.stop() == 0
    lines = [line for line in process.lines if 'security is off' in line]
    assert len(lines) == 1
    assert 'docs/security.md' in lines[0]


def test_node_without_its_keys_ends_in_one_line(ros_environment, tmp_path, fault_row):
    environment = {
        **ros_environment,
        'ROS_SECURITY_ENABLE': 'true',
        'ROS_SECURITY_STRATEGY': 'Enforce',
        'ROS_SECURITY_KEYSTORE': str(tmp_path),
        'PYTHONPATH': os.environ.get('PYTHONPATH', ''),
    }
    command = [sys.executable, '-m', BRIDGE, '--ros-args', '--enclave', '/flip_up/motor_bridge']
    told = fault_row('the motor bridge is started with security enforced and no keys')
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith('ROS cannot be started: ')
    assert '/flip_up/motor_bridge' in line
    told(f'status 2: {line}')
