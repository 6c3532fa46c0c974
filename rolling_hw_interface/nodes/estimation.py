"""
Estimates from messages; the node and its replay step the same object.

A step depends on nothing but the messages, the time of the step and the state: fed with the same
inputs it gives the same estimates bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError, quoted
from rolling_dynamics.scenario_model import load_model
from rolling_hw_interface.arm import Arm
from rolling_hw_interface.arm_urdf import chain_from, model_from
from rolling_hw_interface.encoder_filter import EncoderFilter, JointEstimate
from rolling_hw_interface.motor_model import MotorModel
from rolling_hw_interface.nodes.conversions import checked_pose
from rolling_hw_interface.object_estimator import Estimate, ObjectEstimator, Step
from rolling_hw_interface.pose_filter import FilterModel
from rolling_hw_interface.watchdog import Watchdog
from rolling_node_kit.cdr import hand_control, JointReading, Stamped

LOST = 20  # measurements in a row without a joint, after which the hand is not known
LONGEST_GAP = 0.2  # between two joint states, that is bridged [s]
PATIENCE = 0.1  # for the joints that belong to an image [s]
# Result of a joint state: its stamp [ns]; pose and twist of the hand, shape (13,); and the object,
# None while it is not known, or not known well enough.
Estimated: TypeAlias = tuple[int, Array, Estimate | None]


class Inputs(NamedTuple):
    """
    Messages that a step takes, oldest first.

    Attributes
    ----------
    commands
        Numbers of ``AccelStamped``.
    joints
        Joint states.
    images
        Numbers of ``PoseWithCovarianceStamped``.

    """

    commands: Sequence[Stamped] = ()
    joints: Sequence[JointReading] = ()
    images: Sequence[Stamped] = ()

    def step(self, now: int, flags: int) -> Step:
        """Return the log entry of a step that takes them at a time [ns]."""
        return Step(now, flags, *(tuple(taken.stamp for taken in kind) for kind in self))


class Estimation:
    """
    The estimator between messages.

    Attributes
    ----------
    model
        Hand and object.
    arm
        The arm.
    estimator
        Estimator of the object.
    encoders
        Filter of the joints.
    stamp
        Stamp of the newest joint state [ns], or None.
    last
        The newest estimate, or None.
    hand_covariances
        Covariances of the newest pose and twist of the hand, shape (2, 6, 6).
    refused
        The last rejected message, and why.

    """

    def __init__(self, values: Any) -> None:
        """Load the scenario and make the filters, from parameters of a node or of a recording."""
        self._values = values
        self.model = load_model(values['scenario_file'])
        self.arm = Arm(chain_from(values))
        self._dt = 1.0 / values['rate']
        motors = model_from(MotorModel, values, 'motors')
        motors.check_joints(self.arm.joints)
        self.encoders = EncoderFilter(motors.resolution, self._dt, wander=values['encoder_wander'])
        self.estimator = ObjectEstimator(
            self.model.system,
            self.model.params,
            least_latency=values['least_latency'],
            model=model_from(FilterModel, values, 'filter'),
            host_clock=values['clock'] == 'host',
        )
        self._commands = Watchdog(values['command_timeout'])
        self.last: Estimate | None = None
        self.refused = ''
        self.begin(0)

    def begin(self, now: int) -> None:
        """Start again at a time [ns]."""
        self._epoch, self._now = now, 0.0
        self.stamp: int | None = None
        self._guess: JointEstimate | None = None
        self.hand_covariances = np.zeros((2, 6, 6))
        self._control = np.zeros(6)
        self._waiting: list[tuple[float, Stamped]] = []
        self._commands.forget()
        self.encoders.forget()
        self.estimator.forget()

    @property
    def idle(self) -> bool:
        """True if no image waits, so that a step without inputs changes nothing."""
        return not self._waiting

    def forget(self) -> None:
        """Wait for an image to start again."""
        self.estimator.forget()

    def step(self, now: int, inputs: Inputs, *, enabled: bool = True) -> list[Estimated]:
        """
        Take what came: commands and joints first, then images.

        Parameters
        ----------
        now
            Time of the step and of the arrivals [ns].
        inputs
            What came since the last step.
        enabled
            Whether images are taken.

        """
        self._now = self._seconds(now)
        for command in inputs.commands:
            self._control = hand_control(command.values)
            self._commands.feed(self._now)
        out = [e for joints in inputs.joints if (e := self._take_joints(joints)) is not None]
        waiting = [*self._waiting, *((self._now, image) for image in inputs.images)]
        self._waiting = []
        for arrival, image in waiting:  # an image can be here before the joints of its time
            stamp = self._seconds(image.stamp)
            if self.estimator.ahead(stamp) > 0.0 and self._now - arrival < PATIENCE:
                self._waiting.append((arrival, image))
            elif enabled:
                self._take_image(image, stamp, arrival)
        return out

    def age_of_joints(self, now: int) -> float:
        """Return the time since the newest joint state [s]; infinite before the first."""
        return float('inf') if self.stamp is None else (now - self.stamp) * 1e-9

    def _seconds(self, stamp: int) -> float:
        return (stamp - self._epoch) * 1e-9

    def _take_joints(self, joints: JointReading) -> Estimated | None:
        try:
            measured = joints.needed('position')
        except ParameterError as error:
            self.refused = str(error)
            return None
        stamp = joints.stamp
        steps = 1
        if self.stamp is not None:
            if stamp <= self.stamp:
                self.refused = 'joint states rejected: their stamps do not rise'
                return None
            steps = round((stamp - self.stamp) * 1e-9 / self._dt)
        if steps * self._dt > LONGEST_GAP:
            self.encoders.forget()
            self.estimator.forget()
            steps = 1
        self.stamp = stamp
        commanded = self._commanded()
        for _ in range(max(steps, 1) - 1):
            self.encoders.step(np.full(self.arm.joints, np.nan), commanded)
        found = self.encoders.step(measured, commanded)
        if found is None or self.encoders.missing > LOST:
            return None
        self._guess = found
        self.hand_covariances = self.arm.hand_covariances(found.q, self.encoders.variances)
        hand = self.arm.hand_state(found.q, found.qd)
        u = self.arm.hand_acceleration(found.q, found.qd, found.qdd)
        starts = self.estimator.restarts
        self.last = self.estimator.step(hand, u, self._seconds(stamp))
        if self.estimator.restarts > starts:
            self.refused = self.estimator.reason
        return stamp, hand, self._checked(self.last)

    def _checked(self, found: Estimate | None) -> Estimate | None:
        """Return an estimate that may be reported, or None."""
        if found is None or found.age > self._values['vision_timeout']:
            return None
        return found

    def _commanded(self) -> Array:
        """Return the joint accelerations that the newest command asks for, if it is fresh."""
        self._commands.timeout = self._values['command_timeout']
        guess = self._guess
        if guess is None or self._commands.expired(self._now):
            return np.zeros(self.arm.joints)
        try:
            return self.arm.joint_acceleration(guess.q, guess.qd, self._control)
        except ParameterError:
            return np.zeros(self.arm.joints)

    def _take_image(self, image: Stamped, stamp: float, arrival: float) -> None:
        frame, wanted = image.frame, self._values['world_frame']
        if frame != wanted:
            self.refused = f'pose in frame {quoted(frame)}, {wanted!r} is needed'
            return
        try:
            p, q = checked_pose(image.values[:3], image.values[[6, 3, 4, 5]])
        except ParameterError as error:
            self.refused = str(error)
            return
        covariance = image.values[7:].reshape(6, 6)
        if not self.estimator.take_image(stamp, arrival, p, q, covariance):
            self.refused = f'image rejected: {self.estimator.reason}'
