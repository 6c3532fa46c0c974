"""Frames of the arm: world, base_link, link_1 to link_3, hand."""

from __future__ import annotations

import math

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
import numpy as np
from numpy.typing import NDArray
from rolling_hw_interface.arm import MOUNT
from rolling_hw_interface.arm_model import ArmModel
from rolling_node_kit.conversions import list_to_vector, wxyz_to_quaternion
from tf2_msgs.msg import TFMessage


def arm_frames(
    model: ArmModel, q: NDArray[np.float64], stamp: Time, world: str, prefix: str
) -> TFMessage:
    """
    Return the frames of the arm; a link's frame stands in its joint, x along the link.

    Parameters
    ----------
    model, q
        The arm and its joint angles [rad].
    stamp, world, prefix
        Time, name of the world frame, and what is put before the other names.

    """
    names = [f'{prefix}{name}' for name in ('base_link', 'link_1', 'link_2', 'link_3', 'hand')]
    x, z = model.base
    steps = [((x, z), 0.0), ((0.0, 0.0), float(q[0]))]
    steps += [((model.lengths[k], 0.0), float(q[k + 1])) for k in range(2)]
    steps.append(((model.lengths[2], 0.0), MOUNT))
    out, parent = [], world
    for name, (place, angle) in zip(names, steps, strict=True):
        transform = TransformStamped(child_frame_id=name)
        transform.header.stamp, transform.header.frame_id = stamp, parent
        transform.transform.translation = list_to_vector((place[0], 0.0, place[1]))
        half = angle / 2
        transform.transform.rotation = wxyz_to_quaternion(
            (math.cos(half), 0.0, math.sin(half), 0.0)
        )
        out.append(transform)
        parent = name
    return TFMessage(transforms=out)
