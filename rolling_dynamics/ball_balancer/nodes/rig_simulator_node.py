"""
Simulator of a ball on what servos tilt, in place of the hardware: servos, ball and camera.

It takes angles or speeds for the servos and publishes what a camera tells of the ball.
"""

from __future__ import annotations

import sys
from typing import Any

from geometry_msgs.msg import PoseWithCovarianceStamped
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.ball_balancer.emulated_rig import EmulatedRig, Frame
from rolling_dynamics.ball_balancer.rig_file import rig_file
from rolling_dynamics.ball_balancer.rig_plant import RigPlant
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.plant_node import Loaded, PlantNode
from rolling_dynamics.nodes.plant_parameters import perturbation_parameters, plant_parameters
from rolling_dynamics.nodes.robot_simulator_node import numbers_by_name
from rolling_dynamics.nodes.robot_topics import RobotTopics
from rolling_dynamics.scenario_model import load_robot
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.process import run_node
from rolling_node_kit.qos import SENSOR_DATA
from trajectory_msgs.msg import JointTrajectory

TABLE = (
    *plant_parameters('plate', 445.5),
    *perturbation_parameters(
        'offset of the ball on the plate at ~/reset', 'not of a ball balancer: zeros'
    ),
    Parameter(
        name='world_frame', default='odom', read_only=True, text='name of the frame of the ground'
    ),
)


class RigSimulatorNode(PlantNode):
    """The simulator of a ball balancer or a labyrinth."""

    command_type, command_topic, body = JointTrajectory, 'servo_command', 'plate'
    _plant: RigPlant

    def __init__(self) -> None:
        """Declare the parameters."""
        super().__init__(TABLE)

    def load(self) -> Loaded:
        """Load the scenario; make the rig, at its start, and its topics."""
        model = load_robot(self.values['scenario_file'])
        file = rig_file(model.scenario)
        plant = RigPlant(model.view, model.start, EmulatedRig(file))
        plant.reset()
        self._names, self._kind = model.system.state.entry('servo').components, file.commands
        prefix = self.values['frame_prefix']
        self._seen = PoseWithCovarianceStamped()
        self._seen.header.frame_id = f'{prefix}plate_link'
        self._seen.pose.pose.position.z = file.ball.radius
        self._seen.pose.covariance[0] = self._seen.pose.covariance[7] = file.camera.noise**2
        self._poses = self.writer(PoseWithCovarianceStamped, 'vision/object_pose', SENSOR_DATA)
        topics = RobotTopics(self, plant, world=self.values['world_frame'], prefix=prefix)
        return Loaded(model.title, plant, topics)

    def take_turns(self, seen: Any, now: int) -> None:  # noqa: ARG002
        """Publish the frames that are known; in simulated time wait for the answer to the last."""
        with self._lock:
            frames, time = self._plant.read_frames(), self._plant.time
        if not frames:
            return
        stamps = [now - round((time - frame.shot) * 1e9) for frame in frames]
        for frame, stamp in zip(frames, stamps, strict=True):
            self._publish(frame, stamp)
        self.wait_for_answer(stamps[-1], lambda: self._publish(frames[-1], stamps[-1]))

    def _publish(self, frame: Frame, stamp: int) -> None:
        position = self._seen.pose.pose.position
        position.x, position.y = frame.place.tolist()
        self._seen.header.stamp = nanoseconds_to_time(stamp)
        self._poses.publish(self._seen)

    def read_command(self, message: JointTrajectory) -> NDArray[np.float64]:
        """Return the last point's numbers; refuse other names and what is not finite."""
        if not message.points:
            raise ParameterError('it has no points')
        numbers = getattr(message.points[-1], self._kind)
        return numbers_by_name(self._names, list(message.joint_names), numbers, self._kind)


def main() -> int:
    """Run the node."""
    return run_node(RigSimulatorNode)


if __name__ == '__main__':
    sys.exit(main())
