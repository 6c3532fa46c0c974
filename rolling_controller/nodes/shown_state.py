"""The topics of a robot, by the state that its controller estimates."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import TYPE_CHECKING

from rolling_controller.nodes.control_loop import ControlLoop
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import MotionState
from rolling_dynamics.nodes.robot_topics import RobotTopics
from rolling_dynamics.robots.observed_robot import ObservedRobot
from rolling_dynamics.scenario_model import RobotModel
from rolling_dynamics.simulation.guards import in_mode
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_node_kit.suite_node import SuiteNode

if TYPE_CHECKING:
    from rolling_controller.nodes.machines import RobotMachine


class ShownState:
    """
    Publisher of an estimated state, as a simulator publishes the true one.

    While no loop answers states, it reads the sensors itself, so that the estimate continues.
    """

    def __init__(
        self,
        node: SuiteNode,
        model: RobotModel,
        machine: RobotMachine,
        control: Callable[[], ControlLoop | None],
    ) -> None:
        """
        Create the publishers.

        Parameters
        ----------
        node
            Node that publishes.
        model, machine
            The robot, and its topics of sensors and commands.
        control
            Returns the loop that is at work, if there is one.

        """
        self._node, self._machine, self._control = node, machine, control
        self._mode, self._params = next(iter(model.system.modes)), model.params
        self._stamp, v = 0, node.values  # of the newest state that was published [ns]
        system = in_mode(model.system, self._mode)
        self._robot = ObservedRobot(model.view, system, model.params)
        self._robot.look(self._state(0, model.start), machine.sent, 0.0)
        self._topics = RobotTopics(
            node, self._robot, world=v['world_frame'], prefix=v['frame_prefix']
        )
        node.timer(1.0 / v['contact_rate'], self._publish)

    @property
    def yaw(self) -> float:
        """Angle of base_link about the normal [rad]."""
        return self._robot.newest.yaw

    def _state(self, stamp: int, x: Array) -> MotionState:
        return MotionState(t=stamp * 1e-9, x=x, mode=self._mode, p=self._params)

    def _publish(self) -> None:
        """Publish the newest state, unless it is published already."""
        measured, control = self._machine.measured, self._control()
        if self._node.active and (control is None or not control.loop.running):
            self._machine.poll()
        now = measured.newest
        if now is None or now[0] == self._stamp:
            return
        stamp, state, u = now[0], self._state(*now), self._machine.sent
        before = self._stamp if self._stamp < stamp else 0  # the clock may be set back
        if not before:
            self._robot.restart(state, u)
            self._topics.forget()
        observed = self._robot.look(state, u, (stamp - before) * 1e-9 if before else 0.0)
        self._stamp = stamp
        self._topics.state(observed, stamp)
        for name, publish in self._topics.slow:
            rate = self._node.values[name] * 1e-9
            if math.floor(stamp * rate) > math.floor(before * rate):
                publish(observed, nanoseconds_to_time(stamp))
