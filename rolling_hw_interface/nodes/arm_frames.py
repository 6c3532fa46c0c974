"""Frames of the arm: world, base_link, link_1 and so on, hand."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
import numpy as np
from numpy.typing import NDArray
from rolling_hw_interface.arm_chain import Chain
from rolling_hw_interface.arm_urdf import frame_places, link_names
from rolling_node_kit.conversions import list_to_vector, wxyz_to_quaternion
from tf2_msgs.msg import TFMessage
from transforms3d.quaternions import axangle2quat, qmult


def arm_frames(
    chain: Chain, q: NDArray[np.float64], stamp: Time, world: str, prefix: str
) -> TFMessage:
    """
    Return the frames of the arm; a link's frame stands in its joint and turns with it.

    Parameters
    ----------
    chain, q
        The arm and its joint angles [rad].
    stamp, world, prefix
        Time, name of the world frame, and what is put before the other names.

    """
    out, parent = [], world
    turns = [None, *zip((link.axis for link in chain.links), q, strict=True), None]
    for name, place, turn in zip(
        link_names(chain, prefix), frame_places(chain), turns, strict=True
    ):
        transform, attitude = TransformStamped(child_frame_id=name), place.quaternion
        if turn is not None:
            attitude = qmult(attitude, axangle2quat(np.eye(3)[turn[0]], turn[1]))
        transform.header.stamp, transform.header.frame_id = stamp, parent
        transform.transform.translation = list_to_vector(place.position)
        transform.transform.rotation = wxyz_to_quaternion(attitude.tolist())
        out.append(transform)
        parent = name
    return TFMessage(transforms=out)
