"""
Estimator: states of hand, object and contact from encoders and delayed images.

States are published a thousand times per second, hand and object with equal stamps, as the
controller needs them. In simulated time the newest joint state gives the time.
"""

from __future__ import annotations

import sys
from typing import Any

from geometry_msgs.msg import AccelStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
import numpy as np
from rcl_interfaces.msg import ParameterEvent
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.contact_view import ContactView, NAMES
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.chosen import CompilingNode
from rolling_dynamics.nodes.topics import body_matrix
from rolling_hw_interface.nodes.estimation import Estimated, Estimation, Inputs, LOST
from rolling_hw_interface.nodes.model_parameters import (
    ARM_TABLE,
    FILTER_TABLE,
    FRAME_PREFIX,
    JOINT_NAMES,
    joint_names_of,
    MOTOR_TABLE,
    STATE_TOPIC,
    WORLD_FRAME,
)
from rolling_hw_interface.object_estimator import (
    BEGIN,
    ENABLED,
    Estimate,
    FORGET,
    VISION_TIMEOUT,
)
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.cdr import (
    ACCEL,
    decode_stamped,
    JointReader,
    JointReading,
    OdometryEncoder,
    POSE,
    Stamped,
)
from rolling_node_kit.conversions import matrix_to_transform, nanoseconds_to_time
from rolling_node_kit.loop_node import LOOP_TABLE, LoopNode
from rolling_node_kit.parameters import CONTACT_RATE, fixed, Parameter, SCENARIO, TF_RATE
from rolling_node_kit.polled_subscription import PolledSubscription
from rolling_node_kit.process import run_node
from rolling_node_kit.qos import (
    COMMAND,
    EVENT,
    LATCHED,
    LOG,
    SENSOR_DATA,
    STREAM_POLLED,
    STREAM_WRITER,
)
from rolling_node_kit.suite_node import ERROR, Health, OK, WARN
from sensor_msgs.msg import JointState
from std_msgs.msg import Int64MultiArray
from tf2_msgs.msg import TFMessage

LOGGED = 50  # steps in a message of the log
MODES = {
    'rolling': RollingContact.MODE_ROLLING,
    'slipping': RollingContact.MODE_SLIPPING,
    'separated': RollingContact.MODE_SEPARATED,
}
TABLE = (
    SCENARIO,
    *LOOP_TABLE,
    JOINT_NAMES,
    STATE_TOPIC,
    fixed(
        'least_latency',
        6e-3,
        'minimum latency from exposure to arrival of the pose; see `rolling calibrate`',
        limits=(0.0, 1.0),
        unit='s',
    ),
    fixed('clock', 'camera', 'clock that stamps the images', choices=('camera', 'host')),
    fixed(
        'encoder_wander',
        150.0,
        'process noise: unmodelled joint jerk',
        limits=(1.0, 1e5),
        unit='rad/s^2.5',
    ),
    Parameter(
        'vision_timeout',
        VISION_TIMEOUT,
        'age of the last image beyond which the object state is not published',
        limits=(0.005, 5.0),
        unit='s',
    ),
    Parameter(
        'command_timeout',
        0.02,
        'age beyond which a command is no longer used',
        limits=(0.002, 1.0),
        unit='s',
    ),
    CONTACT_RATE,
    fixed(
        'state_rate',
        20.0,
        'publication rate of the contact state; mode changes are published immediately',
        limits=(1.0, 100.0),
        unit='Hz',
    ),
    TF_RATE,
    WORLD_FRAME,
    FRAME_PREFIX,
    *FILTER_TABLE,
    *ARM_TABLE,
    *MOTOR_TABLE,
)


class EstimatorNode(CompilingNode, LoopNode):
    """Lifecycle node that fuses encoders and images."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('estimator', TABLE)
        self._core: Estimation | None = None
        self._flags = 0

    def set_up(self) -> None:
        """Load the scenario, make filters and topics."""
        self._core = Estimation(self.values)
        system = self._core.model.system
        self._view = ContactView(system.object_surface, system.hand_surface)
        self._make_topics()
        clock = self.values['clock']
        self.get_logger().info(f'{self._core.model.title}: images by the clock of the {clock}')

    def _make_topics(self) -> None:
        world, prefix = self.values['world_frame'], self.values['frame_prefix']
        self._hand_frame, self._object_frame = f'{prefix}hand', f'{prefix}object'
        self._contact_frame = f'{prefix}contact_hand'
        self._encode_hand = OdometryEncoder(world, self._hand_frame).encode
        self._encode_object = OdometryEncoder(world, self._object_frame).encode
        self._hand = self.writer(Odometry, 'hand/odometry', STREAM_WRITER)
        self._object = self.writer(Odometry, 'object/odometry', STREAM_WRITER)
        self._coordinates = self.writer(JointState, 'contact/coordinates', STREAM_WRITER)
        self._state = self.writer(RollingContact, 'contact/state', EVENT)
        self._tf = self.writer(TFMessage, '/tf', STREAM_WRITER)
        self._steps = self.writer(Int64MultiArray, '~/steps', LOG)
        self._settings = self.writer(ParameterEvent, '~/settings', LATCHED)
        self._read = JointReader(joint_names_of(self.values, self._core.arm)).read
        v, pose = self.values, PoseWithCovarianceStamped
        self._joints = self.polled(JointState, v['state_topic'], STREAM_POLLED, raw=True)
        self._images = self.polled(pose, 'vision/object_pose', SENSOR_DATA, raw=True)
        self._accelerations = self.polled(AccelStamped, 'hand/accel_command', COMMAND, raw=True)

    def begin(self, now: int) -> None:  # noqa: ARG002 - the first tick has its own time
        """Start again."""
        self._ticks, self._flags = 0, BEGIN
        self._log: list[int] = []
        self._published: list[Estimated] = []
        self._mode_published = ''
        self._noted = 0
        self._settings.publish(self.values.in_force())

    # -- inputs -----------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        """In simulated time wait for the next state, at most this long [s]."""
        self._joints.wait(seconds)

    def tick(self) -> None:
        """Take what came, and publish what follows from it."""
        inputs = Inputs(
            commands=self._numbers(self._accelerations, ACCEL),
            joints=self._joint_states(),
            images=self._numbers(self._images, POSE),
        )
        if self.sim_time and not self.stamped:
            return
        # taken before: an arrival may be noted too late, but a clock is found by the earliest
        flags, now, core = self._flags, self.now(), self._core
        self._flags = 0
        if flags & BEGIN:
            core.begin(now)
        if flags & FORGET:
            core.forget()
        step = inputs.step(now, flags | (ENABLED if self.enabled else 0))
        if not (step.empty and core.idle):
            self._note(step.numbers())
        estimates = core.step(now, inputs, enabled=bool(step.flags & ENABLED))
        for estimated in estimates:
            self._publish(estimated)
        self._published = estimates or self._published

    def _numbers(self, topic: PolledSubscription, count: int) -> list[Stamped]:
        """Return the numbers of the messages that came."""
        out = []
        for data in topic.take():
            try:
                out.append(decode_stamped(data, count))
            except ParameterError as error:
                self._core.refused = str(error)
        return out

    def _joint_states(self) -> list[JointReading]:
        """Return the joint states that came; one that came again is answered again."""
        out = []
        for data in self._joints.take():
            try:
                joints = self._read(data)
            except ParameterError as error:
                self._core.refused = str(error)
                continue
            if not self.sim_time:
                out.append(joints)
            elif joints.stamp > self.stamped:
                self.stamped = joints.stamp
                out.append(joints)
            else:
                for estimated in self._published:
                    self._publish_states(estimated)
        return out

    def _note(self, numbers: list[int]) -> None:
        self._log += numbers
        self._noted += 1
        if self._noted == LOGGED:
            self._publish_steps()

    def _publish_steps(self) -> None:
        self._steps.publish(Int64MultiArray(data=self._log))
        self._log, self._noted = [], 0

    def wind_down(self) -> None:
        """Leave the end of the log."""
        self._publish_steps()

    # -- outputs ----------------------------------------------------------------------------

    def _publish(self, estimated: Estimated) -> None:
        stamp, hand, found = estimated
        self._publish_states(estimated)
        self._ticks += 1
        if found is None:
            return
        if self.due(self._ticks, 'contact_rate'):
            self._publish_coordinates(stamp, hand, found)
        changed = found.mode != self._mode_published
        if changed or self.due(self._ticks, 'state_rate', 1):
            self._mode_published = found.mode
            self._publish_state(stamp, found)
        if self.due(self._ticks, 'tf_rate', 2):
            X = body_matrix(found.object_)
            time = nanoseconds_to_time(stamp)
            world = self.values['world_frame']
            frame = matrix_to_transform(X, time, world, self._object_frame)
            self._tf.publish(TFMessage(transforms=[frame]))

    def _publish_states(self, estimated: Estimated) -> None:
        """Publish hand and object."""
        stamp, hand, found = estimated
        self._hand.publish(self._encode_hand(stamp, hand.tolist(), self._core.hand_covariances))
        if found is not None:
            known = found.pose_covariance, found.twist_covariance
            self._object.publish(self._encode_object(stamp, found.object_.tolist(), known))

    def _publish_coordinates(self, stamp: int, hand: Array, found: Estimate) -> None:
        X_WH = body_matrix(hand)
        surface = self._core.model.system.hand_surface
        chart = self._core.model.system.hand_chart
        p_HC = np.array(
            surface.numeric(chart)(found.contact[:2], surface.parameter_values)[0]
        ).ravel()
        p_WC = X_WH[:3, :3] @ p_HC + X_WH[:3, 3]
        q, _ = self._view.coordinates(body_matrix(found.object_), X_WH, p_WC)
        message = JointState(name=list(NAMES), position=q.tolist())
        message.header.stamp, message.header.frame_id = nanoseconds_to_time(stamp), ''
        self._coordinates.publish(message)

    def _publish_state(self, stamp: int, found: Estimate) -> None:
        message = RollingContact(mode=MODES[found.mode], gap=float(found.contact[2]))
        message.header.stamp = nanoseconds_to_time(stamp)
        message.header.frame_id = self._contact_frame
        message.object_chart, message.hand_chart = self._view.charts
        self._state.publish(message)

    # -- services and health ----------------------------------------------------------------

    def switch(self, *, on: bool) -> str:
        """Take images again, or publish no more states of the object."""
        self._flags |= FORGET
        return 'images are taken' if on else 'no object is estimated; ~/enable starts again'

    def clean_up(self) -> None:
        """Forget the scenario."""
        self._core = None

    def health(self) -> Health:
        """Return the estimate, its uncertainty, and rejected messages."""
        core = self._core
        if core is None or self._loop is None:
            return OK, 'not running', {}
        estimator, found = core.estimator, core.last
        values: dict[str, Any] = {
            'images used': estimator.taken,
            'images refused': estimator.refused,
            'camera ahead [s]': estimator.clock_offset,
            'clock restarts': estimator.clock.restarts,
            'estimate started again': estimator.restarts,
        }
        if found is not None:
            spread = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
            values |= {
                'contact': found.mode,
                'age of the image [s]': found.age,
                'sigma of the contact [m]': float(spread[0]),
            }
        refused, core.refused = core.refused, ''
        trouble = self._trouble(core, found)
        if trouble:
            return ERROR, f'{trouble}; {refused}' if refused else trouble, values
        if not self.enabled:
            return WARN, 'stopped: no object is estimated', values
        return (WARN, refused, values) if refused else (OK, f'{found.mode}', values)

    def _trouble(self, core: Estimation, found: Estimate | None) -> str:
        if self._fault:
            return self._fault
        if core.age_of_joints(self.now()) > 0.1:
            return f'no joint states on {self.values["state_topic"]}'
        if core.encoders.missing > LOST:
            return 'a joint gives no angle'
        if self.enabled and found is None:
            return 'no object was seen yet'
        if found is not None and found.age > self.values['vision_timeout']:
            return f'the last image is {found.age:.2f} s old'
        return ''


def main() -> int:
    """Run the node."""
    return run_node(EstimatorNode)


if __name__ == '__main__':
    sys.exit(main())
