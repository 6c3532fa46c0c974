"""A rolling robot, or any system, as a simulator runs it."""

from __future__ import annotations

from functools import cached_property

from geometry_msgs.msg import Vector3
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError, RollingError
from rolling_dynamics.impulse import Impulse
from rolling_dynamics.nodes.robot_topics import RobotTopics, WORLD_FRAME
from rolling_dynamics.nodes.simulated import (
    perturbation_parameters,
    plant_parameters,
    Simulated,
    SimulatorNode,
)
from rolling_dynamics.nodes.topics import Command, CommandTopic
from rolling_dynamics.robots.emulated_robot import emulated_robot, MOTIONS
from rolling_dynamics.scenario_model import load_robot
from rolling_node_kit.conversions import finite
from rolling_node_kit.parameters import fixed
from rolling_node_kit.qos import EVENT


class SimulatedRobot(Simulated):
    """A robot; it takes controls or the commands of its actuators."""

    body = 'robot'
    table = (
        *plant_parameters(body, 500.0),
        *perturbation_parameters(
            'offset of the robot on the floor at ~/reset',
            'rotation of the robot, with all that is in it, about its own axes at ~/reset',
        ),
        fixed(
            'motion',
            MOTIONS[0],
            'rolling ends where the contact breaks; all_modes goes on, sliding and in '
            'flight; scenario: as its section hybrid asks for',
            choices=MOTIONS,
        ),
        WORLD_FRAME,
    )

    def __init__(self, node: SimulatorNode) -> None:
        """Load the scenario; make the robot, at its start, and its topics."""
        v = node.values
        model = load_robot(v['scenario_file'])
        self.title, self.sensors = model.title, model.scenario.sensors
        self.plant = emulated_robot(model, motion=v['motion'], brake_time=v['brake_time'])
        self._commands = CommandTopic(model.system, model.scenario.actuators)
        self.command = self._commands.kind, self._commands.name
        self.topics = RobotTopics(
            node, self.plant.shown, world=v['world_frame'], prefix=v['frame_prefix']
        )
        self._node, self._model = node, model
        node.reader(Vector3, '~/push', self._push, EVENT)

    @cached_property
    def _impulse(self) -> Impulse:
        return Impulse(self._model.system, self._model.params)

    def _push(self, message: Vector3) -> None:
        """Strike the heaviest body at its centre of mass."""
        try:
            if not finite(message):
                raise ParameterError('it is not finite; give the impulse over the mass [m/s]')
            velocity = np.array([message.x, message.y, message.z])
            with self._node.lock:
                plant, impulse = self.plant.emulation, self._impulse
                plant.put(impulse.after(plant.state.x, impulse.mass * velocity))
        except RollingError as error:
            self._node.get_logger().warning(f'~/push refused: {error}')

    def read(self, message: Command) -> tuple[int, Array]:
        """Return the control; reject other names, missing and infinite numbers."""
        stamp, u = self._commands.read(message)
        return stamp if self._commands.stamped else self._node.stamp, u
