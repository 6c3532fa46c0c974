"""
Estimator: states of hand, object and contact from encoders and delayed images.

The states come out a thousand times a second, hand and object with equal stamps, as the controller
takes them.
"""

from __future__ import annotations

import sys
from typing import Any

from geometry_msgs.msg import AccelStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.contact_view import ContactView, NAMES
from rolling_dynamics.nodes.conversions import (
    accel_to_control,
    matrix_to_transform,
    nanoseconds_to_time,
    time_to_nanoseconds,
)
from rolling_dynamics.nodes.model import load_model
from rolling_dynamics.nodes.odometry_codec import OdometryEncoder
from rolling_dynamics.nodes.parameters import Parameter
from rolling_dynamics.nodes.plant_topics import body_matrix
from rolling_dynamics.nodes.process import run_node
from rolling_dynamics.nodes.qos import (
    COMMAND,
    EVENT,
    SENSOR_DATA,
    STREAM_POLLED,
    STREAM_WRITER,
)
from rolling_dynamics.nodes.suite_node import ERROR, Health, OK, WARN
from rolling_hw_interface.arm import PlanarArm
from rolling_hw_interface.arm_model import ArmModel
from rolling_hw_interface.encoder_filter import EncoderFilter, JointEstimate
from rolling_hw_interface.motor_model import MotorModel
from rolling_hw_interface.nodes.conversions import message_to_joints, pose_to_arrays
from rolling_hw_interface.nodes.loop_node import LoopNode, RATE
from rolling_hw_interface.nodes.model_parameters import (
    ARM_TABLE,
    FILTER_TABLE,
    FRAME_PREFIX,
    JOINT_NAMES,
    model_of,
    MOTOR_TABLE,
    SCENARIO,
    STATE_TOPIC,
    WORLD_FRAME,
)
from rolling_hw_interface.object_estimator import Estimate, ObjectEstimator
from rolling_hw_interface.pose_filter import FilterModel
from rolling_hw_interface.watchdog import Watchdog
from rolling_interfaces.msg import RollingContact
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

LOST = 20  # measurements in a row without a joint, after which the hand is not known
LONGEST_GAP = 0.2  # between two joint states, that is bridged [s]
PATIENCE = 0.1  # for the joints that belong to an image [s]
MODES = {
    'rolling': RollingContact.MODE_ROLLING,
    'slipping': RollingContact.MODE_SLIPPING,
    'separated': RollingContact.MODE_SEPARATED,
}
TABLE = (
    SCENARIO,
    RATE,
    JOINT_NAMES,
    STATE_TOPIC,
    Parameter(
        name='least_latency',
        default=6e-3,
        low=0.0,
        high=1.0,
        unit='s',
        read_only=True,
        text='shortest time from an exposure to the arrival of its pose; `rolling calibrate`',
    ),
    Parameter(
        name='clock',
        default='camera',
        choices=('camera', 'host'),
        read_only=True,
        text='whose clock stamps the images',
    ),
    Parameter(
        name='encoder_wander',
        default=150.0,
        low=1.0,
        high=1e5,
        unit='rad/s^2.5',
        read_only=True,
        text='white jerk of the joints that commands do not tell',
    ),
    Parameter(
        name='vision_timeout',
        default=0.15,
        low=0.005,
        high=5.0,
        unit='s',
        text='age of the last image beyond which no state of the object is published',
    ),
    Parameter(
        name='command_timeout',
        default=0.02,
        low=0.002,
        high=1.0,
        unit='s',
        text='age of a command beyond which it is not counted on',
    ),
    Parameter(
        name='contact_rate',
        default=100.0,
        low=1.0,
        high=1000.0,
        unit='Hz',
        read_only=True,
        text='messages a second of contact coordinates',
    ),
    Parameter(
        name='state_rate',
        default=20.0,
        low=1.0,
        high=100.0,
        unit='Hz',
        read_only=True,
        text='messages a second of the contact state',
    ),
    Parameter(
        name='tf_rate',
        default=50.0,
        low=1.0,
        high=100.0,
        unit='Hz',
        read_only=True,
        text='messages a second of the frames',
    ),
    WORLD_FRAME,
    FRAME_PREFIX,
    *FILTER_TABLE,
    *ARM_TABLE,
    *MOTOR_TABLE,
)


class EstimatorNode(LoopNode):
    """Lifecycle node that fuses encoders and images."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('estimator', TABLE)
        self._estimator: ObjectEstimator | None = None
        self._refused = ''
        self._last: Estimate | None = None
        self._guess: JointEstimate | None = None

    def set_up(self) -> None:
        """Load the scenario, make filters and topics."""
        v = self.values
        model = load_model(v['scenario_file'])
        self._model = model
        self._arm = PlanarArm(model_of(ArmModel, v, 'arm'))
        resolution = model_of(MotorModel, v, 'motors').resolution
        self._dt = 1.0 / v['rate']
        self._encoders = EncoderFilter(resolution, self._dt, wander=v['encoder_wander'])
        self._estimator = ObjectEstimator(
            model.system,
            model.params,
            least_latency=v['least_latency'],
            model=model_of(FilterModel, v, 'filter'),
            host_clock=v['clock'] == 'host',
        )
        self._view = ContactView(model.system.object_surface, model.system.hand_surface)
        self._commands = Watchdog(v['command_timeout'])
        self._make_topics()
        self.get_logger().info(f'{model.title}: images by the clock of the {v["clock"]}')

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
        self._joints = self.polled(JointState, self.values['state_topic'], STREAM_POLLED)
        self._images = self.polled(PoseWithCovarianceStamped, 'vision/object_pose', SENSOR_DATA)
        self._accelerations = self.polled(AccelStamped, 'hand/accel_command', COMMAND)

    def begin(self, now: int) -> None:
        """Start anew."""
        self._epoch, self._ticks = now, 0
        self._stamp: int | None = None
        self._control = np.zeros(6)
        self._waiting: list[tuple[float, PoseWithCovarianceStamped]] = []
        self._commands.forget()
        self._encoders.forget()
        self._estimator.forget()
        self._every = {n: self.every(n) for n in ('contact_rate', 'state_rate', 'tf_rate')}

    # -- inputs -----------------------------------------------------------------------------

    def tick(self) -> None:
        """Take what came: commands and joints first, then images."""
        for command in self._accelerations.take():
            self._control = accel_to_control(command.accel)
            self._commands.feed(self._seconds(self.now()))
        for joints in self._joints.take():
            self._take_joints(joints)
        now = self._seconds(self.now())
        self._waiting += [(now, image) for image in self._images.take()]
        waiting, self._waiting = self._waiting, []
        for arrival, image in waiting:  # an image can be here before the joints of its time
            stamp = self._seconds(time_to_nanoseconds(image.header.stamp))
            if self._estimator.ahead(stamp) > 0.0 and now - arrival < PATIENCE:
                self._waiting.append((arrival, image))
            else:
                self._take_image(image, stamp, arrival)

    def _seconds(self, stamp: int) -> float:
        return (stamp - self._epoch) * 1e-9

    def _take_joints(self, message: JointState) -> None:
        try:
            measured = message_to_joints(message, self.values['joint_names'], 'position')
        except ParameterError as error:
            self._refused = str(error)
            return
        stamp = time_to_nanoseconds(message.header.stamp)
        steps = 1
        if self._stamp is not None:
            if stamp <= self._stamp:
                self._refused = 'joint states refused: their stamps do not rise'
                return
            steps = round((stamp - self._stamp) * 1e-9 / self._dt)
        if steps * self._dt > LONGEST_GAP:
            self._encoders.forget()
            self._estimator.forget()
            steps = 1
        self._stamp = stamp
        commanded, now = self._commanded(), self._seconds(stamp)
        for _ in range(max(steps, 1) - 1):
            self._encoders.step(np.full(3, np.nan), commanded)
        found = self._encoders.step(measured, commanded)
        if found is None or self._encoders.missing > LOST:
            return
        self._guess = found
        hand = self._arm.hand_state(found.q, found.qd)
        u = self._arm.hand_acceleration(found.q, found.qd, found.qdd)
        self._last = self._estimator.step(hand, u, now)
        self._publish(stamp, hand)

    def _commanded(self) -> NDArray[np.float64]:
        """Return the joint accelerations that the newest command asks for, if it is fresh."""
        self._commands.timeout = self.values['command_timeout']
        guess = self._guess
        if guess is None or self._commands.expired(self._seconds(self.now())):
            return np.zeros(3)
        try:
            return self._arm.joint_acceleration(guess.q, guess.qd, self._control)
        except ParameterError:
            return np.zeros(3)

    def _take_image(
        self, message: PoseWithCovarianceStamped, stamp: float, arrival: float
    ) -> None:
        if not self.enabled:
            return
        if message.header.frame_id != self.values['world_frame']:
            self._refused = (
                f'pose in frame {message.header.frame_id!r}, {self.values["world_frame"]!r} '
                'is needed'
            )
            return
        try:
            p, q = pose_to_arrays(message.pose.pose)
        except ParameterError as error:
            self._refused = str(error)
            return
        covariance = np.array(message.pose.covariance).reshape(6, 6)
        if not self._estimator.take_image(stamp, arrival, p, q, covariance):
            self._refused = f'image refused: {self._estimator.reason}'

    # -- outputs ----------------------------------------------------------------------------

    def _publish(self, stamp: int, hand: NDArray[np.float64]) -> None:
        self._hand.publish(self._encode_hand(stamp, hand.tolist()))
        self._ticks += 1
        found = self._last
        if found is None or found.age > self.values['vision_timeout'] or not self.enabled:
            return
        if not np.all(np.isfinite(found.object_)):
            self._estimator.forget()
            self._refused = 'the estimate was lost and starts anew'
            return
        self._object.publish(self._encode_object(stamp, found.object_.tolist()))
        n, every = self._ticks, self._every
        if n % every['contact_rate'] == 0:
            self._publish_coordinates(stamp, hand, found)
        if n % every['state_rate'] == 1 % every['state_rate']:
            self._publish_state(stamp, found)
        if n % every['tf_rate'] == 2 % every['tf_rate']:
            X = body_matrix(found.object_)
            time = nanoseconds_to_time(stamp)
            world = self.values['world_frame']
            frame = matrix_to_transform(X, time, world, self._object_frame)
            self._tf.publish(TFMessage(transforms=[frame]))

    def _publish_coordinates(self, stamp: int, hand: NDArray[np.float64], found: Estimate) -> None:
        X_WH = body_matrix(hand)
        surface = self._model.system.hand_surface
        chart = self._model.system.hand_chart
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
        self._estimator.forget()
        return 'images are taken' if on else 'no object is estimated; ~/enable starts anew'

    def clean_up(self) -> None:
        """Forget the scenario."""
        self._estimator, self._last = None, None

    def health(self) -> Health:
        """Return what is known, how well, and what was refused."""
        estimator, found = self._estimator, self._last
        if estimator is None or self._loop is None:
            return OK, 'not running', {}
        values: dict[str, Any] = {
            'images used': estimator.taken,
            'images refused': estimator.refused,
            'camera ahead [s]': estimator.clock_offset,
            'clock restarts': estimator.clock.restarts,
            **self.punctuality(),
        }
        if found is not None:
            spread = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
            values |= {
                'contact': found.mode,
                'age of the image [s]': found.age,
                'sigma of the contact [m]': float(spread[0]),
            }
        refused, self._refused = self._refused, ''
        trouble = self._trouble(found)
        if trouble:
            return ERROR, f'{trouble}; {refused}' if refused else trouble, values
        if not self.enabled:
            return WARN, 'stopped: no object is estimated', values
        return (WARN, refused, values) if refused else (OK, f'{found.mode}', values)

    def _trouble(self, found: Estimate | None) -> str:
        if self._fault:
            return self._fault
        if self._stamp is None or self._seconds(self.now()) - self._seconds(self._stamp) > 0.1:
            return f'no joint states on {self.values["state_topic"]}'
        if self._encoders.missing > LOST:
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
