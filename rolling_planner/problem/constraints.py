"""Constraints of a plan: axis, limits, motion of the object."""

from __future__ import annotations

from collections.abc import Mapping
import math

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import ChartCoordinates, offers, StateBounds
from rolling_dynamics.contract.rolling_system import Entry, Layout, RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.quaternions import rotation_vector
from transforms3d.quaternions import qconjugate, qmult, rotate_vector


def axis_entries(layout: Layout) -> dict[str, tuple[str, int]]:
    """Return the quaternion entry and the index of the axis by name of each axis goal."""
    return {
        f'{axis}{entry.name[1:]}': (entry.name, k)
        for entry in layout.entries
        if entry.kind == 'quaternion' and entry.name.startswith('q_')
        for k, axis in enumerate('xyz')
    }


def axis_goal_entries(layout: Layout) -> tuple[Entry, ...]:
    """Return the axis goals as entries of three components each."""
    return tuple(
        Entry(name, tuple(f'{name}_{c}' for c in 'xyz'), '')
        for name in axis_entries(layout)
        if name not in layout
    )


def aligned(name: str, q: Array, axis: int, direction: Array) -> Array:
    """
    Return the attitude nearest to one whose axis has a direction.

    Parameters
    ----------
    name
        Name of the goal, for errors.
    q
        Attitude to start from, unit quaternion wxyz.
    axis
        Index of the axis of the body: 0, 1, 2.
    direction
        Desired direction of that axis in the frame of the attitude, shape (3,).

    Returns
    -------
    Array
        Unit quaternion wxyz.

    Raises
    ------
    ParameterError
        The direction does not have unit length.

    """
    length = float(np.linalg.norm(direction))
    if not abs(length - 1) < 1e-3:
        raise ParameterError(f'goal.{name} must be a unit vector, its length is {length:.6g}')
    wanted, now = direction / length, rotate_vector(np.eye(3)[axis], q)
    across = np.cross(now, wanted)
    if np.linalg.norm(across) < 1e-9 and now @ wanted < 0:  # half a turn, about another axis
        across = rotate_vector(np.eye(3)[(axis + 1) % 3], q)
        return np.asarray(qmult(np.append(0.0, across), q))
    arc = np.append(1 + now @ wanted, across)
    return np.asarray(qmult(arc / np.linalg.norm(arc), q))


def axis_miss(q: Array, q_goal: Array, axis: int) -> Array:
    """Return the rotation vector [rad] of an attitude without its rotation about an axis."""
    apart = qmult(qconjugate(q_goal), q / np.linalg.norm(q))
    about = np.zeros(4)
    about[0], about[1 + axis] = apart[0], apart[1 + axis]
    length = math.hypot(about[0], about[1 + axis])
    return np.asarray(
        rotation_vector(qmult(apart, qconjugate(about / length)) if length else apart)
    )


Limits = dict[str, tuple[float, float]]


def state_limits(
    system: RollingSystem, p: Array, given: Mapping[str, tuple[float, float]]
) -> Limits:
    """
    Return minimum and maximum of states by scalar name.

    Parameters
    ----------
    system, p
        The system and its parameters.
    given
        Requested limits; they may narrow the others, not widen them.

    """
    out: Limits = {}
    known = [given]
    bounded = offers(system, StateBounds)
    if bounded is not None:
        known.append(bounded.state_bounds(p))
    for limits in known:
        for name, (low, high) in limits.items():
            before = out.get(name, (-math.inf, math.inf))
            out[name] = max(before[0], float(low)), min(before[1], float(high))
    return out


def check_within(
    system: RollingSystem, what: str, x: Array, limits: Mapping[str, tuple[float, float]]
) -> None:
    """Raise an error if a state exceeds its limits or is at a pole of the hand's chart."""
    for name, (low, high) in limits.items():
        value = float(x[system.state.names.index(name)])
        if not low <= value <= high:
            why = ''
            if name in ('u_h', 'v_h'):
                why = ', the edge of the hand or of its chart'
            raise ParameterError(
                f'{what}.{name} must lie between {low:.6g} and {high:.6g}{why}; got {value:.6g}'
            )
    charted = offers(system, ChartCoordinates)
    if charted is not None:
        charted.check_charts(x)


OBJECT_ENTRIES = {
    'p_WO': 3,
    'q_WO': 4,
    'v_WO_W': 3,
    'w_WO_W': 3,
    'v_WO_H': 3,
    'w_WO_H': 3,
    'v_WO_O': 3,
    'w_WO_O': 3,
    'v_HO_H': 3,
}


def object_entry(name: str) -> tuple[str, slice]:
    """Return the entry of a name, and the index of the component, such as for ``v_WO_W_z``."""
    stem, _, component = name.rpartition('_')
    if stem in OBJECT_ENTRIES and stem != 'q_WO' and component in ('x', 'y', 'z'):
        k = 'xyz'.index(component)
        return stem, slice(k, k + 1)
    return name, slice(0, OBJECT_ENTRIES.get(name, 0))
