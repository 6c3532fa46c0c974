"""
Simulator: a contact system in place of the hardware.

It takes accelerations of the hand and publishes what sensors would: states, contact, frames.
"""

from __future__ import annotations

import sys

from geometry_msgs.msg import AccelStamped, Vector3
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError, quoted
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject
from rolling_dynamics.nodes.plant_node import (
    Loaded,
    perturbation_parameters,
    plant_parameters,
    PlantNode,
)
from rolling_dynamics.nodes.plant_topics import PlantTopics
from rolling_dynamics.scenario_model import load_model, Model
from rolling_node_kit.conversions import accel_to_control, finite
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.process import run_node
from rolling_node_kit.qos import EVENT

TABLE = (
    *plant_parameters('hand', 1000.0),
    *perturbation_parameters(
        'offset of the contact point on the hand at ~/reset, in its chart',
        'rotation of the object about its own axes at ~/reset',
    ),
    Parameter(
        'publish_estimate',
        True,
        'publish object/odometry too; off beside an estimator',
        read_only=True,
    ),
    Parameter('world_frame', 'world', 'name of the world frame', read_only=True),
)


class SimulatorNode(PlantNode):
    """The simulator of an object on a moving hand."""

    command_type, command_topic, body = AccelStamped, 'hand/accel_command', 'hand'
    table = TABLE

    def __init__(self) -> None:
        """Declare the parameters."""
        super().__init__(self.table)

    def load(self) -> Loaded:
        """Load the scenario; make the plant, at its start, and its topics."""
        model = load_model(self.values['scenario_file'])
        plant = self.emulated(model)
        topics = PlantTopics(
            self,
            model,
            plant,
            world=self.values['world_frame'],
            prefix=self.values['frame_prefix'],
            estimate=self.values['publish_estimate'],
        )
        return Loaded(model.title, plant, topics)

    def emulated(self, model: Model) -> EmulatedObject:
        """Return the object at its start; make what strikes it."""
        plant = EmulatedObject(
            model.system,
            model.params,
            model.start,
            brake_time=self.values['brake_time'],
            limits=model.control_limits,
        )
        self.reader(Vector3, '~/push', lambda message: self._push(plant, message), EVENT)
        return plant

    def read_command(self, message: AccelStamped) -> NDArray[np.float64]:
        """Return the accelerations of the hand; refuse another frame and what is not finite."""
        frame = f'{self.values["frame_prefix"]}hand'
        if message.header.frame_id not in ('', frame):
            raise ParameterError(
                f'it is in frame {quoted(message.header.frame_id)}, {frame!r} is needed'
            )
        if not finite(message.accel.linear, message.accel.angular):
            raise ParameterError('it is not finite')
        return accel_to_control(message.accel)

    def _push(self, plant: EmulatedObject, message: Vector3) -> None:
        if not finite(message):
            self.get_logger().warning('~/push: not finite; give the impulse over the mass [m/s]')
            return
        with self._lock:
            plant.push((message.x, message.y, message.z))


def main() -> int:
    """Run the node."""
    return run_node(SimulatorNode)


if __name__ == '__main__':
    sys.exit(main())
