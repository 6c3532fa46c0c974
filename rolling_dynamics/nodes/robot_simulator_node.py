"""
Simulator of a rolling robot in place of the hardware.

It takes controls of a ball, a disk or a sphere that drives itself, and publishes what sensors
would: its full state, odometry, joints, contact, frames.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
import sys

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.plant_node import Loaded, PlantNode
from rolling_dynamics.nodes.plant_parameters import perturbation_parameters, plant_parameters
from rolling_dynamics.nodes.robot_topics import RobotTopics
from rolling_dynamics.robots.hybrid_plant import HybridRobotPlant
from rolling_dynamics.robots.plant import RobotPlant
from rolling_dynamics.scenario_model import load_robot
from rolling_dynamics.simulation import Stepper
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.process import run_node
from sensor_msgs.msg import JointState

TABLE = (
    *plant_parameters('robot', 500.0),
    *perturbation_parameters(
        'offset of the robot on the floor at ~/reset',
        'rotation of the robot, with all that is in it, about its own axes at ~/reset',
    ),
    Parameter(
        name='motion',
        default='scenario',
        choices=('scenario', 'rolling', 'all_modes'),
        read_only=True,
        text='rolling ends where the contact breaks; all_modes goes on, sliding and in flight; '
        'scenario: as its section hybrid asks for',
    ),
    Parameter(
        name='world_frame', default='odom', read_only=True, text='name of the frame of the floor'
    ),
)


class RobotSimulatorNode(PlantNode):
    """The simulator of a rolling robot."""

    command_type, command_topic, body = JointState, 'robot/control', 'robot'

    def __init__(self) -> None:
        """Declare the parameters."""
        super().__init__(TABLE)

    def load(self) -> Loaded:
        """Load the scenario; make the robot, at its start, and its topics."""
        model = load_robot(self.values['scenario_file'])
        given = (model.view, model.params, model.start)
        options = {'brake_time': self.values['brake_time'], 'limits': model.control_limits}
        motion = self.values['motion']
        if motion == 'all_modes' or (motion == 'scenario' and model.hybrid):
            self._robot: RobotPlant = HybridRobotPlant(*given, **options, sliding=model.sliding)
        else:
            self._robot = RobotPlant(*given, Stepper(model.system, model.params).step, **options)
        plant = self._robot
        plant.reset()
        self._names = list(model.system.control.names)
        topics = RobotTopics(
            self, plant, world=self.values['world_frame'], prefix=self.values['frame_prefix']
        )
        return Loaded(model.title, plant, topics)

    def news(self) -> list[str]:
        """Return the changes of the mode since the last call."""
        return self._robot.read_news()

    def read_command(self, message: JointState) -> NDArray[np.float64]:
        """Return the control; refuse other names, missing efforts, and what is not finite."""
        return numbers_by_name(self._names, list(message.name), message.effort, 'efforts')


def numbers_by_name(
    wanted: Sequence[str], names: Sequence[str], numbers: Sequence[float], what: str
) -> NDArray[np.float64]:
    """
    Return the numbers of a command in the order that is wanted.

    Raises
    ------
    ParameterError
        Its names are others, it has as many numbers not, or one is not finite.

    """
    if len(numbers) != len(names):
        raise ParameterError(f'it has {len(numbers)} {what} for {len(names)} names')
    if list(names) != list(wanted):
        if sorted(names) != sorted(wanted):
            raise ParameterError(f'its names are {names}, {list(wanted)} are needed')
        by_name = dict(zip(names, numbers, strict=True))
        numbers = [by_name[name] for name in wanted]
    if not math.isfinite(sum(numbers)):
        raise ParameterError('it is not finite')
    return np.array(numbers, dtype=float)


def main() -> int:
    """Run the node."""
    return run_node(RobotSimulatorNode)


if __name__ == '__main__':
    sys.exit(main())
