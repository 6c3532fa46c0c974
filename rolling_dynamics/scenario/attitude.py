"""Attitudes in a scenario: quaternion, roll-pitch-yaw or rotation vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
from pydantic import model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.rotations import exponential, product
from rolling_dynamics.scenario.fields import numbers, OneOf, refused, vector

IDENTITY = (1.0, 0.0, 0.0, 0.0)
NORM_TOLERANCE = 1e-3


def _from_rpy(angles: ca.SX) -> ca.SX:
    about = [ca.vertcat(ca.cos(angles[k] / 2), ca.SX(3, 1)) for k in range(3)]
    for k in range(3):
        about[k][1 + k] = ca.sin(angles[k] / 2)
    return product(about[2], product(about[1], about[0]))


def _from_quaternion(q: ca.SX) -> ca.SX:
    return q / ca.norm_2(q)


FORMS: dict[str, Callable[[ca.SX], ca.SX]] = {
    'quaternion': _from_quaternion,
    'rpy': _from_rpy,
    'rotation_vector': exponential,
}


def attitude_expression(form: str, components: Sequence[ca.SX]) -> ca.SX:
    """Return the unit quaternion (w, x, y, z) of an attitude given in one of ``FORMS``."""
    return FORMS[form](ca.vertcat(*components))


class Attitude(OneOf):
    """An attitude in one of its forms."""

    quaternion: Array | None = numbers('unit quaternion w, x, y, z', count=4, default=None)
    rpy: Array | None = vector(
        'roll, pitch, yaw: rotations about the fixed axes x, y, z in this order',
        'rad',
        default=None,
    )
    rotation_vector: Array | None = vector('axis times angle', 'rad', default=None)

    @model_validator(mode='after')
    def _unit(self) -> Attitude:
        if self.quaternion is not None:
            norm = float(np.linalg.norm(self.quaternion))
            if abs(norm - 1) > NORM_TOLERANCE:
                text = f'a unit quaternion w, x, y, z is needed, got norm {norm:.6g}'
                raise refused(text, 'quaternion')
        return self


def quaternion_of(attitude: Attitude | None) -> Array:
    """Return the unit quaternion (w, x, y, z) of an attitude, the identity if there is none."""
    if attitude is None:
        return np.array(IDENTITY)
    form, values = attitude.only
    q: Array = np.array(ca.DM(attitude_expression(form, [ca.SX(v) for v in values]))).reshape(4)
    unit: Array = q / np.linalg.norm(q)
    return unit
