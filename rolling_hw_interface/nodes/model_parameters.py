"""Parameters of nodes from the fields of the models: one for each number of arm, motor, camera."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from rolling_hw_interface.arm_model import ArmModel
from rolling_hw_interface.emulated_camera import CameraModel
from rolling_hw_interface.motor_bridge import BridgeSettings
from rolling_hw_interface.motor_model import MODES, MotorModel
from rolling_hw_interface.pose_filter import FilterModel
from rolling_node_kit.parameters import Parameter

T = TypeVar('T')

ARM_TEXT = {
    'lengths': ('m', 'lengths of the three links'),
    'masses': ('kg', 'masses of the links, the last with the hand'),
    'centres': ('m', 'from joint to centre of mass of each link'),
    'inertias': ('kg m^2', 'inertias of the links about their centres of mass'),
    'base': ('m', 'x and z of joint 1 in the world'),
    'gravity': ('m/s^2', 'x and z of gravity in the plane of the arm'),
    'low': ('rad', 'least joint angles'),
    'high': ('rad', 'greatest joint angles'),
    'speed': ('rad/s', 'greatest joint speeds'),
    'acceleration': ('rad/s^2', 'greatest joint accelerations'),
    'torque': ('N m', 'greatest joint torques'),
    'singular_sine': ('', 'least |sin q2|; the arm is singular where it is stretched'),
}
MOTOR_TEXT = {
    'gear': ('', 'turns of the motors for one of the joints'),
    'rotor_inertia': ('kg m^2', 'inertias of rotors and wave generators'),
    'torque_constant': ('N m/A', 'torque per current, on the side of the motors'),
    'current_limit': ('A', 'greatest currents'),
    'current_bandwidth': ('Hz', 'bandwidth of the current loop'),
    'coulomb': ('N m', 'Coulomb friction on the side of the joints'),
    'viscous': ('N m s/rad', 'viscous friction on the side of the joints'),
    'ripple': ('N m', 'amplitudes of the torque ripple of the harmonic drives'),
    'counts': ('', 'encoder counts for one turn of each motor'),
    'rate': ('Hz', "turns a second of the amplifiers' loop"),
    'velocity_gain': ('N m s/rad', "gains of the amplifiers' velocity loop"),
    'position_gain': ('1/s', 'gains of their position loop'),
    'velocity_bandwidth': ('Hz', 'low pass on the rates that they report'),
    'command_timeout': ('s', 'age of a command beyond which the amplifiers brake'),
    'brake': ('N m s/rad', 'damping of the motors with shorted windings, part of that braking'),
    'holding': ('N m', 'torques of the brakes that hold the joints when braking is over'),
    'holding_delay': ('s', 'time of braking after which they fall in'),
}
BRIDGE_TEXT = {
    'mode': ('', 'what the motors take'),
    'command_timeout': ('s', 'age of a command beyond which the arm is stopped'),
    'state_timeout': ('s', 'age of the joint states beyond which it is stopped'),
    'stop_time': ('s', 'time in which it comes to rest'),
    'stiffness': ('rad/s', 'natural frequency of the pull to the reference'),
    'feedback_share': ('', 'greatest torque of that pull, as a share of the greatest torque'),
    'tracking_limit': ('rad', 'distance of a joint from its reference that is a fault'),
    'stall_distance': ('rad', 'way of the reference in which the reading of a joint must change'),
    'off_plane': ('m/s^2', 'acceleration out of the plane that is left out without a warning'),
}
CAMERA_TEXT = {
    'rate': ('Hz', 'images a second'),
    'exposure': ('s', 'time for which the shutter is open'),
    'latency': ('s', 'from the middle of the exposure to the arrival'),
    'jitter': ('s', 'half the width of the even spread of the latency'),
    'noise': ('m', 'standard deviation of each coordinate of a marker'),
    'occlusion': ('', 'share of the time in which the object is hidden'),
    'occlusion_time': ('s', 'mean length of such a time'),
    'marker_occlusion': ('', 'probability that one marker is hidden in an image'),
    'swap': ('', 'probability that two labels are exchanged in an image'),
    'reflection': ('', 'probability that a reflection is taken for a marker in an image'),
    'reflection_distance': ('m', 'how far off a reflection is'),
    'clock_offset': ('s', "what the camera's clock is ahead of the host's"),
    'clock_spread': ('s', 'half the width of an even draw added to it at each start'),
    'clock_drift': ('', 'seconds that it gains in a second'),
}
FILTER_TEXT = {
    'acceleration': ('m/s^1.5', 'strength of white accelerations unknown to the equations'),
    'angular_acceleration': ('rad/s^1.5', 'the same for angular accelerations'),
    'gap': ('m', 'standard deviation of the gap of a contact'),
    'slip': ('m/s', 'standard deviation of the slip of a rolling contact'),
    'clock': ('s', 'standard deviation of the date of the images at first'),
    'clock_walk': ('s/s^0.5', 'how much it wanders'),
    'planar': ('', 'whether the object can only move in the plane x-z'),
}


def table_of(
    kind: type, text: Mapping[str, tuple[str, str]], prefix: str
) -> tuple[Parameter, ...]:
    """Return a parameter ``prefix.name`` for each field of a dataclass of numbers."""
    out = []
    for field in fields(kind):
        default: Any = field.default
        unit, meaning = text[field.name]
        is_tuple = isinstance(default, tuple)
        out.append(
            Parameter(
                name=f'{prefix}.{field.name}',
                default=list(default) if is_tuple else default,
                length=len(default) if is_tuple else None,
                choices=MODES if field.name == 'mode' else (),
                text=meaning,
                unit=unit,
                read_only=True,
            )
        )
    return tuple(out)


def model_of(kind: type[T], values: Any, prefix: str) -> T:
    """
    Return the dataclass that parameters describe.

    Raises
    ------
    ParameterError
        The numbers do not go together.

    """
    given = {}
    for field in fields(kind):  # type: ignore[arg-type]
        value = values[f'{prefix}.{field.name}']
        given[field.name] = tuple(value) if isinstance(field.default, tuple) else value
    return kind(**given)


ARM_TABLE = table_of(ArmModel, ARM_TEXT, 'arm')
MOTOR_TABLE = table_of(MotorModel, MOTOR_TEXT, 'motors')
BRIDGE_TABLE = table_of(BridgeSettings, BRIDGE_TEXT, 'drive')
CAMERA_TABLE = table_of(CameraModel, CAMERA_TEXT, 'camera')
FILTER_TABLE = table_of(FilterModel, FILTER_TEXT, 'filter')
JOINT_NAMES = Parameter(
    name='joint_names',
    default=['joint_1', 'joint_2', 'joint_3'],
    length=3,
    read_only=True,
    text='names of the joints in joint states and commands',
)
WORLD_FRAME = Parameter(
    name='world_frame', default='world', read_only=True, text='name of the world frame'
)
FRAME_PREFIX = Parameter(
    name='frame_prefix', default='', read_only=True, text='put before every other frame'
)
STATE_TOPIC = Parameter(
    name='state_topic',
    default='robot_joint_states',
    read_only=True,
    text='where the joint states come from; joint_states beside joint_state_broadcaster',
)
SCENARIO = Parameter(
    name='scenario_file',
    default='',
    read_only=True,
    text='scenario with bodies, surfaces, friction and start; a path, or a name in config/',
)
