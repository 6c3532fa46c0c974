"""Parameters of the nodes of the hardware: model, arm, camera, frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
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

ARM_TEXT = {
    'lengths': ('m', 'lengths of the three links'),
    'masses': ('kg', 'masses of the links, the last with the hand'),
    'centres': ('m', 'distance from joint to centre of mass of each link'),
    'inertias': ('kg m^2', 'inertias of the links about their centres of mass'),
    'base': ('m', 'x and z of joint 1 in the world'),
    'gravity': ('m/s^2', 'x and z of gravity in the plane of the arm'),
    'low': ('rad', 'minimum joint angles'),
    'high': ('rad', 'maximum joint angles'),
    'speed': ('rad/s', 'maximum joint speeds'),
    'acceleration': ('rad/s^2', 'maximum joint accelerations'),
    'torque': ('N m', 'maximum joint torques'),
    'singular_sine': ('', 'minimum |sin q2|; the arm is singular when stretched'),
}
MOTOR_TEXT = {
    'gear': ('', 'gear ratios: motor revolutions per joint revolution'),
    'rotor_inertia': ('kg m^2', 'inertias of rotors and wave generators'),
    'torque_constant': ('N m/A', 'torque constants at the motors'),
    'current_limit': ('A', 'maximum currents'),
    'current_bandwidth': ('Hz', 'bandwidth of the current loop'),
    'coulomb': ('N m', 'Coulomb friction at the joints'),
    'viscous': ('N m s/rad', 'viscous friction at the joints'),
    'ripple': ('N m', 'amplitudes of the torque ripple of the harmonic drives'),
    'counts': ('', 'encoder counts per motor revolution'),
    'rate': ('Hz', 'loop rate of the amplifiers'),
    'velocity_gain': ('N m s/rad', 'gains of the velocity loop of the amplifiers'),
    'position_gain': ('1/s', 'gains of the position loop of the amplifiers'),
    'velocity_bandwidth': ('Hz', 'bandwidth of the low-pass filter on reported velocities'),
    'command_timeout': ('s', 'age of a command beyond which the amplifiers brake'),
    'brake': ('N m s/rad', 'damping of the motors with shorted windings, while braking'),
    'holding': ('N m', 'torques of the holding brakes'),
    'holding_delay': ('s', 'braking time after which the holding brakes engage'),
}
BRIDGE_TEXT = {
    'mode': ('', 'command interface of the motors'),
    'command_timeout': ('s', 'age of a command beyond which the arm is stopped'),
    'state_timeout': ('s', 'age of the joint states beyond which the arm is stopped'),
    'stop_time': ('s', 'time in which the arm is stopped'),
    'stiffness': ('rad/s', 'natural frequency of the feedback to the reference'),
    'feedback_share': ('', 'maximum feedback torque, as a fraction of the maximum torque'),
    'tracking_limit': ('rad', 'tracking error of a joint that is a fault'),
    'stall_distance': (
        'rad',
        'travel of the reference within which the reading of a joint must change',
    ),
    'off_plane': ('m/s^2', 'acceleration out of the plane that is ignored without a warning'),
}
CAMERA_TEXT = {
    'rate': ('Hz', 'frame rate'),
    'exposure': ('s', 'exposure time'),
    'latency': ('s', 'latency from mid-exposure to arrival'),
    'jitter': ('s', 'half-width of the uniform distribution of the latency'),
    'noise': ('m', 'standard deviation of each coordinate of a marker'),
    'occlusion': ('', 'fraction of time for which the object is hidden'),
    'occlusion_time': ('s', 'mean duration of an occlusion'),
    'marker_occlusion': ('', 'probability that one marker is hidden in an image'),
    'swap': ('', 'probability of two swapped labels in an image'),
    'reflection': ('', 'probability that a reflection is mistaken for a marker in an image'),
    'reflection_distance': ('m', 'distance of a reflection from the marker'),
    'clock_offset': ('s', 'offset of the camera clock ahead of the host clock'),
    'clock_spread': ('s', 'half-width of a uniform random offset added at each start'),
    'clock_drift': ('', 'drift of the camera clock (seconds per second)'),
}
FILTER_TEXT = {
    'acceleration': ('m/s^1.5', 'process noise: unmodelled acceleration'),
    'angular_acceleration': ('rad/s^1.5', 'process noise: unmodelled angular acceleration'),
    'gap': ('m', 'standard deviation of the gap of a contact'),
    'slip': ('m/s', 'standard deviation of the slip of a rolling contact'),
    'clock': ('s', 'initial standard deviation of the clock offset'),
    'clock_walk': ('s/s^0.5', 'random walk of the clock offset'),
    'inertia': (
        '',
        'standard deviation of the logarithm of the scale of the inertia; 0 = it is known',
    ),
    'planar': ('', 'whether the object can only move in the plane x-z'),
}


def table_of(
    kind: type, text: Mapping[str, tuple[str, str]], prefix: str, *, any_length: bool = False
) -> tuple[Parameter, ...]:
    """
    Return a parameter ``prefix.name`` for each field of a dataclass of numbers.

    Arrays have the length of their defaults, or any.
    """
    out = []
    for field in fields(kind):
        default: Any = field.default
        unit, meaning = text[field.name]
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
ARM_TABLE = (*DESCRIBED, *table_of(ArmModel, ARM_TEXT, 'arm'))
MOTOR_TABLE = table_of(MotorModel, MOTOR_TEXT, 'motors', any_length=True)
BRIDGE_TABLE = table_of(BridgeSettings, BRIDGE_TEXT, 'drive')
CAMERA_TABLE = table_of(CameraModel, CAMERA_TEXT, 'camera')
FILTER_TABLE = table_of(FilterModel, FILTER_TEXT, 'filter')
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
    'topic of the joint states; joint_states beside joint_state_broadcaster',
)
SCENARIO = fixed(
    'scenario_file',
    '',
    'scenario with bodies, surfaces, friction and start; a path, or a name in config/',
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
    """Return the places of the markers, shape (k, 3), or raise ParameterError."""
    flat = np.array(values['markers'], dtype=float)
    if flat.size % 3:
        raise ParameterError(f'markers takes 3 numbers for each marker, got {flat.size}')
    return flat.reshape(-1, 3)


def arm_frames(chain: Chain, q: Array, stamp: Time, world: str, prefix: str) -> TFMessage:
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
