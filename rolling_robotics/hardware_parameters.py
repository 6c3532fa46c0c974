"""Arm, motors and camera as the parameter file of the nodes describes them; no ROS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.regular_file import read_regular
from rolling_hw_interface.arm_chain import Chain
from rolling_hw_interface.arm_model import ArmModel
from rolling_hw_interface.arm_urdf import chain_of
from rolling_hw_interface.vision import camera_pose
import yaml

T = TypeVar('T')
MAX_BYTES = 1_000_000  # of a parameter file
CAMERA = {'camera_position': [0.0, -1.0, 0.1], 'camera_quaternion': [-(0.5**0.5), 0, 0, 0.5**0.5]}


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


def model_from(kind: type[T], given: Mapping[str, Any], prefix: str) -> T:
    """Return a model (ArmModel, MotorModel) with what the parameters change of its defaults."""
    values = {}
    for field in fields(kind):  # type: ignore[arg-type]
        value = given.get(f'{prefix}.{field.name}')
        if value is not None:
            values[field.name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)


def chain_from(given: Mapping[str, Any]) -> Chain:
    """
    Return the arm of the parameters: that of a URDF, or the planar one.

    Raises
    ------
    ParameterError
        The description cannot be read, or the numbers do not go together.

    """
    planar = model_from(ArmModel, given, 'arm')
    return chain_of(planar, given.get('arm.description', ''), given.get('arm.home', ()))


def camera_from(given: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return the pose of the camera that the vision bridge used, shape (4, 4), with places [m]."""
    both = {**CAMERA, **{k: given[k] for k in CAMERA if k in given}}
    return camera_pose(both['camera_position'], both['camera_quaternion'])
