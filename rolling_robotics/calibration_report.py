"""Calibration of the laboratory from recordings, and the parameters that it writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from pathlib import Path
from typing import Any, cast

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.configuration import read_regular
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_hw_interface.arm import Arm
from rolling_hw_interface.arm_urdf import chain_from, model_from
from rolling_hw_interface.calibration.camera import (
    calibrate_camera,
    calibrate_joints,
    MeasuredPoses,
)
from rolling_hw_interface.calibration.rocking import calibrate_rocking, calibrate_sliding
from rolling_hw_interface.motor_model import MotorModel
from rolling_hw_interface.vision import camera_from, camera_pose, ClockOffset
from rolling_robotics.files import written_beside
from rolling_robotics.recordings.recorded_topics import (
    read_joints,
    read_poses,
    RecordedJoints,
)
from transforms3d.quaternions import mat2quat, qmult
import yaml

MAX_BYTES = 1_000_000  # of a parameter file


def read_parameters(path: Path | None) -> dict[str, Any]:
    """
    Return the parameters of all nodes of a file by dotted name; nothing without a file.

    Raises
    ------
    ParameterError
        The file cannot be read.

    """
    if path is None:
        return {}
    try:
        document = yaml.safe_load(read_regular(path, MAX_BYTES).decode())
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ParameterError(f'{path}: cannot be read: {error}') from None
    out: dict[str, Any] = {}
    for section in document.values() if isinstance(document, Mapping) else ():
        if isinstance(section, Mapping):
            out |= _flat(section.get('ros__parameters') or {})
    if not out:
        raise ParameterError(f'{path}: no section with ros__parameters in it')
    return out


def _flat(section: Mapping[str, Any], prefix: str = '') -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in section.items():
        if isinstance(value, Mapping):
            out |= _flat(value, f'{prefix}{key}.')
        else:
            out[f'{prefix}{key}'] = value
    return out


JOINTS_TOPIC, POSES_TOPIC = 'robot_joint_states', 'vision/object_pose'
NAMES = ['joint_1', 'joint_2', 'joint_3']
LEAST_LATENCY = 6e-3  # s, as the estimator believes
Found = tuple[list[str], dict[str, dict[str, Any]]]


def camera(recording: Path, params: Path | None, mount: Sequence[float]) -> Found:
    """Return pose, clock and latency of the camera."""
    given, moved = _moved(recording, params)
    poses = read_poses(recording, POSES_TOPIC)
    start = moved.times[0]
    found = calibrate_camera(
        Arm(chain_from(given)),
        moved.times - start,
        moved.position,
        _in_camera(poses, camera_from(given), start),
        camera_pose(mount[:3], mount[3:]),
    )
    p, q = found.X_WC[:3, 3], mat2quat(found.X_WC[:3, :3])
    quaternion = [*q[1:], q[0]]
    least = found.latency[0]
    late = ', '.join(f'{t * 1e3:.2f}' for t in found.latency)
    lines = [
        f'camera_position    {_numbers(p)} m, +- {_numbers(found.sigma[:3])}',
        f'camera_quaternion  {_numbers(quaternion)} x y z w, +- {_numbers(found.sigma[3:6])} rad',
        f'clock of the camera ahead by {found.clock_offset:.6f} s, +- {found.sigma[6]:.1g}',
        f'latency            {late} ms: minimum, median, maximum',
        f'{found.used} of {len(poses.stamps)} images used, {found.rms * 1e3:.3f} mm rms left',
    ]
    return lines, {
        'vision_bridge': {
            'camera_position': [float(x) for x in p],
            'camera_quaternion': [float(x) for x in quaternion],
        },
        'estimator': {'least_latency': max(least, 0.0)},
    }


def _in_camera(poses: MeasuredPoses, X_WC: Array, start: float) -> MeasuredPoses:
    """Return the poses as the camera saw them, before the bridge turned them into the world."""
    X_CW = np.linalg.inv(X_WC)
    turn = mat2quat(X_CW[:3, :3])
    return MeasuredPoses(
        stamps=poses.stamps - start,
        arrivals=poses.arrivals - start,
        p=poses.p @ X_CW[:3, :3].T + X_CW[:3, 3],
        q=np.array([qmult(turn, q) for q in poses.q]),
    )


def _moved(recording: Path, params: Path | None) -> tuple[dict[str, Any], RecordedJoints]:
    """Return the parameters in a file, and how the joints moved."""
    given = read_parameters(params)
    names = given.get('joint_names', NAMES)
    return given, read_joints(recording, given.get('state_topic', JOINTS_TOPIC), names)


def joints(recording: Path, params: Path | None) -> Found:
    """Return inertia and friction of the drives."""
    given, moved = _moved(recording, params)
    motors = model_from(MotorModel, given, 'motors')
    arm = Arm(chain_from(given))
    found = calibrate_joints(
        arm, moved.times - moved.times[0], moved.position, moved.effort, motors.gear
    )
    rotor = np.maximum(found.reflected_inertia, 0.0) / np.square(motors.gear)
    lines = [
        f'motors.rotor_inertia {_numbers(rotor)} kg m^2 on the side of the motors',
        f'motors.coulomb {_numbers(found.coulomb)} N m, +- {_numbers(found.sigma[1])}',
        f'motors.viscous {_numbers(found.viscous)} N m s/rad, +- {_numbers(found.sigma[2])}',
        f'motors.ripple {_numbers(found.ripple)} N m',
        f'offset {_numbers(found.offset)} N m',
        f'{len(moved.times)} states used, {_numbers(found.rms)} N m rms left',
    ]
    values = {
        'motors.rotor_inertia': rotor,
        'motors.coulomb': np.maximum(found.coulomb, 0.0),
        'motors.viscous': np.maximum(found.viscous, 0.0),
        'motors.ripple': found.ripple,
    }
    plain = {name: [float(x) for x in value] for name, value in values.items()}
    return lines, {'motor_bridge': plain, 'emulated_motors': plain}


def rocking(recording: Path, scenario_file: str | None) -> list[str]:
    """Return inertia and damping of the object, as lines: they belong into its scenario."""
    system, scenario = _scenario(scenario_file)
    poses = read_poses(recording, POSES_TOPIC)
    angles = 2.0 * np.arctan2(poses.q[:, 2], poses.q[:, 0])
    found = calibrate_rocking(
        system, scenario.p, scenario.x0, poses.stamps - poses.stamps[0], angles
    )
    return [
        f'rocks at {found.frequency:.4f} rad/s, {found.damping * 100:.2f} % of critical damping',
        f'inertia about y    {found.inertia:.4g} kg m^2, for the scenario',
        f'{len(angles)} images used, {np.degrees(found.rms):.3f} degrees rms left',
    ]


def sliding(recording: Path, params: Path | None, scenario_file: str | None) -> list[str]:
    """Return the friction of object and plate, as lines: it belongs into its scenario."""
    system, scenario = _scenario(scenario_file)
    given, moved = _moved(recording, params)
    poses = read_poses(recording, POSES_TOPIC)
    clock = ClockOffset(given.get('least_latency', LEAST_LATENCY), window=math.inf)
    for stamp, arrival in zip(poses.stamps, poses.arrivals, strict=True):
        clock.take(float(stamp), float(arrival))
    arm, start = Arm(chain_from(given)), moved.times[0]
    rates = np.gradient(moved.position, moved.times, axis=0)
    hands = np.array([arm.hand_state(*row) for row in zip(moved.position, rates, strict=True)])
    at = poses.stamps - clock.offset
    found = calibrate_sliding(
        system,
        scenario.p,
        at - start,
        np.column_stack([np.interp(at, moved.times, column) for column in hands.T]),
        poses.p,
        poses.q,
    )
    return [
        f'mu_kinetic         {found.mu_kinetic:.3f}, +- {found.sigma:.2g}, for the scenario',
        f'static friction    {found.mu_least:.3f} at least',
        f'{found.samples} of {len(at)} images used, slip up to {found.fastest:.3g} m/s',
    ]


def _scenario(scenario_file: str | None) -> tuple[ContactSystem, Scenario]:
    """Return the contact system of a scenario, and that, or raise ParameterError."""
    if not scenario_file:
        raise ParameterError('--scenario: say which object it is, and where it rests')
    scenario = load_scenario(scenario_file)
    if offers(scenario.system, CarriedObject) is None:
        raise ParameterError(f"--scenario: system must be 'contact', got {scenario.system.name!r}")
    return cast('ContactSystem', scenario.system), scenario


def write_parameters(path: Path, sections: dict[str, dict[str, Any]]) -> None:
    """Write a parameter file of nodes."""
    document = {f'/**/{node}': {'ros__parameters': v} for node, v in sections.items()}
    with written_beside(path) as scratch:
        scratch.write_text(yaml.safe_dump(document, sort_keys=False), encoding='utf-8')


def _numbers(values: Any) -> str:  # noqa: ANN401  any array
    return ' '.join(f'{float(x):.4g}' for x in np.ravel(values))
