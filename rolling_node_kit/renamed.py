"""Executables whose task another one has now; each reports it and ends."""

from __future__ import annotations

from pathlib import Path
import sys

RENAMED = {
    'emulated_camera_node': 'simulator_node with motion:=on_arm',
    'emulated_motors_node': 'simulator_node with motion:=on_arm',
    'hybrid_simulator_node': 'simulator_node with motion:=all_modes',
    'robot_simulator_node': 'simulator_node',
    'rig_simulator_node': 'simulator_node',
    'robot_controller_node': 'controller_node',
    'laboratory_controller_node': 'controller_node',
    'rig_controller_node': 'controller_node',
}

# parameters that went with them
PARAMETERS = {
    'emulated_camera_node': '`fault` is `camera_fault` there and `truth_topic` is not needed; ',
}


def main() -> int:
    """Report the new name of the executable that was called; return the status of bad usage."""
    name = Path(sys.argv[0]).stem
    changed = PARAMETERS.get(name, '')
    text = f'{name}: {RENAMED[name]} does this now; {changed}the other parameters are the same'
    print(text, file=sys.stderr)  # noqa: T201
    return 2
