"""Parameters of the camera's pose and the markers, which real and emulated camera share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.emulated_camera import MARKERS
from rolling_hw_interface.vision import camera_pose
from rolling_node_kit.parameters import Parameter

CAMERA_POSE = (
    Parameter(
        name='camera_position',
        default=[0.0, -1.0, 0.1],
        length=3,
        unit='m',
        read_only=True,
        text='origin of the camera in the world',
    ),
    Parameter(
        name='camera_quaternion',
        default=[-0.7071067811865476, 0.0, 0.0, 0.7071067811865476],
        length=4,
        read_only=True,
        text='attitude of the camera in the world, x y z w; by default it looks along +y',
    ),
    Parameter(
        name='camera_frame',
        default='camera',
        read_only=True,
        text='required frame_id of images',
    ),
    Parameter(
        name='markers',
        default=[x for marker in MARKERS for x in marker],
        unit='m',
        read_only=True,
        text='marker positions on the object: x y z of each in turn',
    ),
)


def pose_from(values: Any) -> NDArray[np.float64]:
    """Return X_WC of the parameters, shape (4, 4)."""
    return camera_pose(values['camera_position'], values['camera_quaternion'])


def markers_from(values: Any) -> NDArray[np.float64]:
    """Return the places of the markers, shape (k, 3), or raise ParameterError."""
    flat = np.array(values['markers'], dtype=float)
    if flat.size % 3:
        raise ParameterError(f'markers takes 3 numbers for each marker, got {flat.size}')
    return flat.reshape(-1, 3)
