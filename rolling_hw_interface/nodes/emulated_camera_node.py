"""
Emulated camera: markers of the simulated object, late and noisy, as a motion-capture driver.

It watches ``object/ground_truth`` and sends ``camera/markers``; every imperfection is a parameter.
"""

from __future__ import annotations

import sys

from nav_msgs.msg import Odometry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.plant_node import CompilingNode
from rolling_dynamics.nodes.plant_topics import body_matrix
from rolling_hw_interface.emulated_camera import CameraModel, EmulatedCamera, Image
from rolling_hw_interface.faults import CAMERA_FAULTS
from rolling_hw_interface.nodes.conversions import markers_to_cloud
from rolling_hw_interface.nodes.model_parameters import (
    CAMERA_POSE,
    CAMERA_TABLE,
    markers_from,
    model_of,
    pose_from,
)
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_node_kit.loop_node import LOOP_TABLE, LoopNode
from rolling_node_kit.odometry_codec import decode_odometry
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.process import run_node
from rolling_node_kit.qos import SENSOR_DATA, STREAM_POLLED
from rolling_node_kit.suite_node import ERROR, Health, OK, WARN
from sensor_msgs.msg import PointCloud2

TABLE = (
    *LOOP_TABLE,
    Parameter(
        name='truth_topic',
        default='object/ground_truth',
        read_only=True,
        text='topic of the ground-truth pose of the object',
    ),
    Parameter(
        name='seed', default=-1, low=-1, read_only=True, text='random seed; -1 = from the clock'
    ),
    Parameter(
        name='fault',
        default='none',
        choices=CAMERA_FAULTS,
        text='injected fault',
    ),
    *CAMERA_POSE,
    *CAMERA_TABLE,
)


class EmulatedCameraNode(CompilingNode, LoopNode):
    """Lifecycle node in place of a camera."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('emulated_camera', TABLE)
        self._camera: EmulatedCamera | None = None

    def set_up(self) -> None:
        """Make the camera and its topics."""
        seed = self.values['seed']
        self._camera = EmulatedCamera(
            model_of(CameraModel, self.values, 'camera'),
            pose_from(self.values),
            markers_from(self.values),
            seed=self.now() % 2**32 if seed < 0 else seed,
        )
        self._images = self.writer(PointCloud2, 'camera/markers', SENSOR_DATA)
        self._truth = self.polled(Odometry, self.values['truth_topic'], STREAM_POLLED, raw=True)
        self.get_logger().info(
            f'{self._camera.model.rate:g} images a second, '
            f'clock {self._camera.offset:+.3f} s ahead'
        )

    def begin(self, now: int) -> None:
        """Forget what was seen."""
        self._epoch, self._time, self._sent = now, -1.0, 0
        self._waiting: list[Image] = []

    def wait(self, seconds: float) -> None:
        """In simulated time wait for the next state, at most this long [s]."""
        self._truth.wait(seconds)

    def tick(self) -> None:
        """See where the object is, and send the images that have arrived by now."""
        camera = self._camera
        if self.values['fault'] != camera.fault:
            camera.inject(self.values['fault'])
        for data in self._truth.take():
            try:
                stamp, body = decode_odometry(data)
            except ParameterError as error:
                self._fault = str(error)
                continue
            t = (stamp - self._epoch) * 1e-9
            if t <= self._time:
                continue
            self._time, self.stamped = t, stamp
            self._waiting += camera.step(body_matrix(body), t)
        while self._waiting and self._waiting[0].arrival <= (self.now() - self._epoch) * 1e-9:
            self._send(self._waiting.pop(0))

    def _send(self, image: Image) -> None:
        if not self.enabled:
            return
        stamp = nanoseconds_to_time(max(self._epoch + round(image.stamp * 1e9), 0))
        self._images.publish(markers_to_cloud(image.markers_C, stamp, self.values['camera_frame']))
        self._sent += 1

    def clean_up(self) -> None:
        """Forget the camera."""
        self._camera = None

    def health(self) -> Health:
        """Return how many images were sent, and the fault at work."""
        if self._camera is None or self._loop is None:
            return OK, 'not running', {}
        values = {
            'images sent': self._sent,
            'clock ahead [s]': self._camera.offset,
        }
        if self._fault:
            return ERROR, self._fault, values
        if self._camera.fault != 'none':
            return WARN, f'injected fault: {self._camera.fault}', values
        return OK, 'seeing' if self._sent else 'waiting for the object', values


def main() -> int:
    """Run the node."""
    return run_node(EmulatedCameraNode)


if __name__ == '__main__':
    sys.exit(main())
