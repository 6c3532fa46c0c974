"""
Simulator of a rolling robot in place of the hardware.

It takes the controls of a robot, or the commands of its actuators, and publishes its true state
and what its sensors measure.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.plant_node import (
    Loaded,
    perturbation_parameters,
    plant_parameters,
    PlantNode,
)
from rolling_dynamics.nodes.robot_topics import (
    RobotTopics,
    sensor_message,
    TYPES,
    write_measurement,
)
from rolling_dynamics.robots.emulated_robot import emulated_robot, MOTIONS
from rolling_dynamics.scenario_model import load_robot
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.process import run_node
from rolling_node_kit.qos import SENSOR_DATA
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

TABLE = (
    *plant_parameters('robot', 500.0),
    *perturbation_parameters(
        'offset of the robot on the floor at ~/reset',
        'rotation of the robot, with all that is in it, about its own axes at ~/reset',
    ),
    Parameter(
        'motion',
        MOTIONS[0],
        'rolling ends where the contact breaks; all_modes goes on, sliding and in flight; '
        'scenario: as its section hybrid asks for',
        choices=MOTIONS,
        read_only=True,
    ),
    Parameter('world_frame', 'odom', 'name of the frame of the floor', read_only=True),
)


class RobotSimulatorNode(PlantNode):
    """The simulator of a rolling robot."""

    command_type, command_topic, body = JointState, 'robot/control', 'robot'

    def __init__(self) -> None:
        """Declare the parameters."""
        super().__init__(TABLE)

    def load(self) -> Loaded:
        """Load the scenario; make the robot, at its start, and its topics."""
        model, prefix = load_robot(self.values['scenario_file']), self.values['frame_prefix']
        self._robot = plant = emulated_robot(
            model, motion=self.values['motion'], brake_time=self.values['brake_time']
        )
        self._names, self._field = list(model.system.control.names), 'effort'
        actuators = model.scenario.actuators
        if len(actuators) > 1 or any(len(a.joints) != len(self._names) for a in actuators):
            raise ParameterError(
                f'{model.title}: this node takes one actuator for all of {self._names}, got '
                f'{[a.name for a in actuators]}'
            )
        for actuator in actuators:
            self.command_type, self.command_topic = JointTrajectory, actuator.topic
            self._names, self._field = list(actuator.joints), actuator.message
        self._sensors = {
            sensor.name: (
                sensor_message(sensor, prefix),
                self.writer(TYPES[sensor.message], sensor.topic, SENSOR_DATA),
            )
            for sensor in model.scenario.sensors
        }
        topics = RobotTopics(self, plant, world=self.values['world_frame'], prefix=prefix)
        return Loaded(model.title, plant, topics)

    def take_turns(self, seen: Any, now: int) -> None:
        """Publish what is measured; in simulated time wait for the answer to the last."""
        if not self._sensors:
            super().take_turns(seen, now)
            return
        with self._lock:
            measured, time = self._robot.read_measurements(), self._robot.time
        stamps = [now - round((time - m.stamp) * 1e9) for m in measured]

        def publish() -> None:
            for measurement, stamp in zip(measured, stamps, strict=True):
                message, writer = self._sensors[measurement.sensor.name]
                write_measurement(measurement.sensor, message, measurement.value, stamp)
                writer.publish(message)

        if measured:
            publish()
            self.wait_for_answer(stamps[-1], publish)

    def read_command(self, message: JointState | JointTrajectory) -> NDArray[np.float64]:
        """Return the control; refuse other names, missing numbers, and what is not finite."""
        if isinstance(message, JointState):
            return numbers_by_name(self._names, list(message.name), message.effort, 'efforts')
        if not message.points:
            raise ParameterError('it has no points')
        numbers = getattr(message.points[-1], self._field)
        return numbers_by_name(self._names, list(message.joint_names), numbers, self._field)


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
