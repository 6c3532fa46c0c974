"""Attitudes in a scenario: quaternion, roll-pitch-yaw or rotation vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.rotations import exponential, product
from rolling_dynamics.scenario.section import Section

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


def read_attitude(section: Section, key: str) -> NDArray[np.float64]:
    """
    Return the unit quaternion (w, x, y, z) of an entry, the identity if it is not there.

    Raises
    ------
    ScenarioError
        A quaternion whose norm is not 1.

    """
    if key not in section:
        return np.array(IDENTITY)
    given = section.section(key)
    form = given.only()
    values = given.numbers(form)
    norm = float(np.linalg.norm(values))
    if form == 'quaternion' and abs(norm - 1) > NORM_TOLERANCE:
        raise ScenarioError(
            f'{given.at(form)}: a unit quaternion w, x, y, z is needed, got norm {norm:.6g}'
        )
    q: NDArray[np.float64] = np.array(
        ca.DM(attitude_expression(form, [ca.SX(v) for v in values]))
    ).reshape(4)
    unit: NDArray[np.float64] = q / np.linalg.norm(q)
    return unit
