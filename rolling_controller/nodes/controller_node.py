"""Controller: executes plans of the contact system by accelerations of the hand."""

from __future__ import annotations

from collections.abc import Callable
import sys

from geometry_msgs.msg import AccelStamped
from nav_msgs.msg import Odometry
import numpy as np
from rclpy.duration import Duration
from rolling_controller.law import Following
from rolling_controller.nodes.controller_parameters import TABLE
from rolling_controller.nodes.design import design_law, WEIGHTS
from rolling_controller.nodes.execution import Equipment
from rolling_controller.nodes.execution_node import ExecutionNode
from rolling_controller.nodes.machine import Array
from rolling_controller.nodes.predictor import Predictor
from rolling_controller.nodes.tracker import Tracker
from rolling_controller.time_varying_lqr import prepare_regulator
from rolling_dynamics.nodes.conversions import accel_command, nanoseconds_to_time
from rolling_dynamics.nodes.measurements import Measurements
from rolling_dynamics.nodes.model import load_model, Model
from rolling_dynamics.nodes.parameters import ParameterTable
from rolling_dynamics.nodes.polled_subscription import PolledSubscription
from rolling_dynamics.nodes.process import run_node
from rolling_dynamics.nodes.qos import COMMAND, overridable, STREAM_POLLED
from rolling_dynamics.nodes.state_source import StateSource
from rolling_dynamics.nodes.suite_node import SuiteNode
from rolling_dynamics.rolling_system import RollingSystem
from rolling_planner.plan import Plan


class Hand:
    """The hand and the object on it: two streams of odometry in, accelerations out."""

    missing = 'no pair of hand/odometry and object/odometry with equal stamps came yet'

    def __init__(self, node: SuiteNode, model: Model, values: ParameterTable) -> None:
        """Create the topics."""
        self._node, self._values, self._limits = node, values, model.control_limits
        state = model.system.state
        contact_h = model.start[state.slice('contact_h')]
        self.measured = Measurements(StateSource(model.system, model.params, contact_h))
        self._velocity = np.r_[state.slice('w_WH_H'), state.slice('v_WH_H')]
        self._frame = f'{values["frame_prefix"]}hand'
        self._commands = node.create_publisher(
            AccelStamped, 'hand/accel_command', COMMAND, qos_overriding_options=overridable()
        )
        self._polled = [
            (PolledSubscription(node, Odometry, name, STREAM_POLLED, raw=True), is_hand)
            for name, is_hand in (('hand/odometry', True), ('object/odometry', False))
        ]

    def destroy(self) -> None:
        """Remove the topics from the node."""
        self._node.destroy_publisher(self._commands)
        for subscription, _ in self._polled:
            subscription.destroy()

    def poll(self) -> None:
        """Take what came, where the executor does not."""
        for subscription, is_hand in self._polled:
            for data in subscription.take():
                self.measured.take(data, is_hand=is_hand)

    def send(self, u: Array, stamp: int) -> None:
        """Send the acceleration of the hand that is to act at a time [ns]."""
        self._commands.publish(accel_command(u.tolist(), nanoseconds_to_time(stamp), self._frame))

    def await_acknowledgement(self, timeout: float) -> None:
        """Wait until the last command has arrived, at most this time [s]."""
        self._commands.wait_for_all_acked(Duration(seconds=timeout))

    def safe(self, x: Array) -> Array:
        """Return the control that brings the hand to rest."""
        u = -x[self._velocity] / self._values['brake_time']
        return u if self._limits is None else np.clip(u, -self._limits, self._limits)


class ControllerNode(ExecutionNode):
    """Lifecycle node with the action server ``execute_plan``."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('controller', TABLE)
        self._hand: Hand | None = None

    def equip(self) -> Equipment:
        """Load the scenario and create the topics of the hand."""
        model = load_model(self.values['scenario_file'])
        self._model = model
        self._hand = Hand(self, model, self.values)
        self.get_logger().info(f'{model.title}: {self.values["rate"]:g} steps a second')
        return Equipment(
            machine=self._hand,
            tracker=Tracker(
                model.system,
                model.params,
                uncounted=('p_WH',),
                limits=model.control_limits,
                patience=self.values['patience'],
            ),
            predictor=Predictor(
                model.system,
                model.params,
                delay=self.values['command_delay'],
                horizon=self.values['prediction_horizon'],
            ),
            start=model.start,
            values=self.values,
            sim_time=self.get_parameter('use_sim_time').value,
        )

    def dismantle(self) -> None:
        """Remove the topics of the hand."""
        if self._hand is not None:
            self._hand.destroy()
            self._hand = None

    @property
    def system(self) -> RollingSystem:
        """The contact system of the scenario."""
        return self._model.system

    def warm_up(self) -> None:
        """Compile the regulator."""
        prepare_regulator(self._model.system)

    def design(self, plan: Plan, interrupted: Callable[[], bool]) -> Following:
        """Return the regulator along a plan, or the plan played back."""
        weights = (
            None
            if self.values['open_loop']
            else {entry.name: self.values[entry.name] for entry in WEIGHTS}
        )
        return design_law(self._model, plan, weights, interrupted)


def main() -> int:
    """Run the node."""
    return run_node(ControllerNode)


if __name__ == '__main__':
    sys.exit(main())
