"""Parameters of the nodes of the hardware: model, arm, camera, frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
import inspect
import re
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.arm import Arm, ArmModel, Chain
from rolling_hw_interface.arm_urdf import frame_places, link_names
from rolling_hw_interface.emulated_camera import CameraModel, MARKERS
from rolling_hw_interface.motor_bridge import BridgeSettings
from rolling_hw_interface.motor_model import MODES, MotorModel
from rolling_hw_interface.pose_filter import FilterModel
from rolling_hw_interface.vision import CAMERA
from rolling_node_kit.conversions import list_to_vector, wxyz_to_quaternion
from rolling_node_kit.parameters import fixed, Parameter
from tf2_msgs.msg import TFMessage
from transforms3d.quaternions import axangle2quat, qmult

ATTRIBUTE = re.compile(r'^(\w+)\n((?: {4}.*\n?)+)', re.MULTILINE)


def described(kind: type) -> dict[str, tuple[str, str]]:
    """Return meaning and unit of each attribute, as the docstring of a class has them."""
    out = {}
    for name, lines in ATTRIBUTE.findall(inspect.getdoc(kind) or ''):
        text, _, unit = ' '.join(lines.split()).rstrip('.]').partition(' [')
        out[name] = f'{text[:1].lower()}{text[1:]}', unit
    return out


def table_of(kind: type, prefix: str, *, any_length: bool = False) -> tuple[Parameter, ...]:
    """
    Return a parameter ``prefix.name`` for each field of a dataclass of numbers.

    Arrays have the length of their defaults, or any.
    """
    out, known = [], described(kind)
    for field in fields(kind):
        default: Any = field.default
        meaning, unit = known.get(field.name, ('', ''))
        is_tuple = isinstance(default, tuple)
        out.append(
            fixed(
                f'{prefix}.{field.name}',
                list(default) if is_tuple else default,
                meaning,
                length=len(default) if is_tuple and not any_length else None,
                choices=MODES if field.name == 'mode' else (),
                unit=unit,
            )
        )
    return tuple(out)


def joint_names_of(values: Any, arm: Arm) -> Sequence[str]:
    """Return the names of the joints as joint states have them, from the base on."""
    return arm.chain.joint_names if values['arm.description'] else list(values['joint_names'])


DESCRIBED = (
    fixed(
        'arm.description',
        '',
        'URDF of an arm with six joints, from the world to the link hand: a path, or a name '
        'in config/; of the other numbers gravity alone counts then. Empty = the planar arm',
    ),
    fixed('arm.home', [0.0], 'joint angles near which a described arm works', unit='rad'),
)
ARM_TABLE = (*DESCRIBED, *table_of(ArmModel, 'arm'))
MOTOR_TABLE = table_of(MotorModel, 'motors', any_length=True)
BRIDGE_TABLE = table_of(BridgeSettings, 'drive')
CAMERA_TABLE = table_of(CameraModel, 'camera')
FILTER_TABLE = table_of(FilterModel, 'filter')
JOINT_NAMES = fixed(
    'joint_names',
    ['joint_1', 'joint_2', 'joint_3'],
    'names of the joints in joint states and commands; a described arm has its own',
    length=3,
)
WORLD_FRAME = fixed('world_frame', 'world', 'name of the world frame')
FRAME_PREFIX = fixed('frame_prefix', '', 'prefix of every other frame')
STATE_TOPIC = fixed(
    'state_topic',
    'robot_joint_states',
    'topic of the joint states; joint_states with joint_state_broadcaster',
)


CAMERA_POSE = (
    fixed(
        'camera_position',
        CAMERA['camera_position'],
        'origin of the camera in the world',
        length=3,
        unit='m',
    ),
    fixed(
        'camera_quaternion',
        CAMERA['camera_quaternion'],
        'attitude of the camera in the world, x y z w; by default it looks along +y',
        length=4,
    ),
    fixed('camera_frame', 'camera', 'required frame_id of images'),
    fixed(
        'markers',
        [x for marker in MARKERS for x in marker],
        'marker positions on the object: x y z of each in turn',
        unit='m',
    ),
)


def markers_from(values: Any) -> Array:
    """Return the positions of the markers, shape (k, 3), or raise ParameterError."""
    flat = np.array(values['markers'], dtype=float)
    if flat.size % 3:
        raise ParameterError(f'markers takes 3 numbers for each marker, got {flat.size}')
    return flat.reshape(-1, 3)


def arm_frames(chain: Chain, q: Array, stamp: Time, world: str, prefix: str) -> TFMessage:
    """
    Return the frames of the arm; a link's frame is in its joint and rotates with it.

    Parameters
    ----------
    chain, q
        The arm and its joint angles [rad].
    stamp, world, prefix
        Time, name of the world frame, and prefix of the other names.

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
