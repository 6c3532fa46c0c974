"""The hand and the object on it: two streams of odometry in, accelerations out."""

from __future__ import annotations

from collections.abc import Callable

from geometry_msgs.msg import AccelStamped
import numpy as np
from numpy.typing import NDArray
from rolling_controller.motion_watch import HandBound
from rolling_controller.nodes.controller_parameters import TABLE
from rolling_controller.nodes.equipment import Equipped, Machine, stamp_check
from rolling_controller.nodes.plan_following import PlanFollowing
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.contact_view import Source, StateSource
from rolling_dynamics.contract.rolling_system import Layout
from rolling_dynamics.nodes.measurements import Measurements
from rolling_dynamics.scenario_model import load_model
from rolling_node_kit.cdr import ACCEL, accel_values, StampedEncoder
from rolling_node_kit.parameters import ParameterTable
from rolling_node_kit.qos import COMMAND
from rolling_node_kit.suite_node import SuiteNode


class Hand(Machine):
    """Topics of a hand; a machine as executions use it."""

    missing = 'no pair of hand/odometry and object/odometry with equal stamps came yet'
    measured: Measurements

    def __init__(
        self,
        node: SuiteNode,
        values: ParameterTable,
        source: Source,
        state: Layout,
        limits: Array | None,
        widened: Callable[[Array], Array] = np.array,
    ) -> None:
        """
        Create the topics.

        Parameters
        ----------
        node, values
            The node and its parameters ``frame_prefix`` and ``brake_time``.
        source
            From poses and twists to states.
        state
            Layout of those states; velocities of the hand in the order of its accelerations.
        limits
            Greatest magnitude of each acceleration; None for no limit.
        widened
            From the controls of a law to all accelerations of the hand.

        """
        self._widened = widened
        self._values, self._limits, self._state = values, limits, state
        self.measured = Measurements(source, stamp_check(node, values))
        self._velocity = hand_velocity(state)
        self._encode = StampedEncoder(f'{values["frame_prefix"]}hand', ACCEL).encode
        self.commands = node.writer(AccelStamped, 'hand/accel_command', COMMAND)
        self.polled = self.measured.listen(node)

    def poll(self) -> None:
        """Take what came, where the executor does not."""
        self.measured.poll()

    def send(self, u: Array, stamp: int) -> None:
        """Send the acceleration of the hand that is to act at a time [ns]."""
        self.commands.publish(self._encode(stamp, accel_values(self._widened(u).tolist())))

    def bound(self, states: Array) -> HandBound:
        """Return the bound on the deviation from planned states."""
        return HandBound(self._state, self._values['tracking_bound'], states)

    def safe(self, x: Array) -> Array:
        """Return the control that brings the hand to rest."""
        return braking(x[self._velocity], self._values['brake_time'], self._limits)


def hand_velocity(state: Layout) -> NDArray[np.intp]:
    """Return where a state has the velocities of the hand, in the order of its accelerations."""
    return np.r_[state.slice('w_WH_H'), state.slice('v_WH_H')]


def braking(velocity: Array, brake_time: float, limits: Array | None) -> Array:
    """Return the accelerations that bring velocities to rest in a time constant [s]."""
    u = -velocity / brake_time
    return u if limits is None else np.clip(u, -limits, limits)


class ControlledHand(PlanFollowing):
    """An object on a hand, moved along plans."""

    table = TABLE
    replanned = True

    def equip(self) -> Equipped:
        """Load the scenario and create the topics of the hand."""
        model = load_model(self.values['scenario_file'])
        contact_h = model.start[model.system.state.slice('contact_h')]
        source = StateSource(model.system, model.params, contact_h)
        limits = model.control_limits
        return Equipped(model, Hand(self.node, self.values, source, model.system.state, limits))
