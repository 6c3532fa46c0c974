"""Named arrays with units along a trajectory: what result files hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.contact_forces import contact_forces, ContactForces
from rolling_dynamics.contract.rolling_system import Entry, Layout, RollingSystem, Symbols
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.rotations import quaternions
from rolling_dynamics.simulation import Trajectory
from rolling_dynamics.simulation.guards import margin, margin_names

QUATERNION = ('w', 'x', 'y', 'z')
MARGIN_UNITS = {
    'normal_force': 'N',
    'friction': 'N',
    'spin': 'N m',
    'edge': 'chart',
    'relative_curvature': '1/m',
    'clearance': 'm',
    'stick': 'm/s',
}
INVARIANT_UNITS = {'energy': 'J', 'spin': 'rad/s', 'angular_momentum': 'N m s'} | {
    f'{name}_{axis}': unit
    for axis in 'xyz'
    for name, unit in (
        ('linear_momentum', 'N s'),
        ('angular_momentum', 'N m s'),
        ('contact_momentum', 'N m s'),
    )
}


@dataclass(frozen=True, eq=False)
class Series:
    """
    One named array.

    Attributes
    ----------
    values
        Shape (N,) or (N, k); NaN where the quantity does not exist.
    unit
        SI unit, empty if dimensionless, ``chart`` for chart coordinates.
    frame
        Frame in which the components are expressed.
    components
        Names of the columns.
    text
        Description.

    """

    values: Array
    unit: str
    frame: str = ''
    components: tuple[str, ...] = ()
    text: str = ''

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as a result file holds it."""
        return {
            'unit': self.unit,
            'frame': self.frame,
            'components': list(self.components),
            'text': self.text,
            'values': self.values,
        }


def friction_ratio(normal: Array, friction: Array, lost: ArrayLike = np.nan) -> Array:
    """
    Return the ratio of static friction [N] to normal force [N], all of one shape.

    ``lost`` where the latter is not positive.
    """
    ratio = np.array(np.broadcast_to(np.asarray(lost, dtype=float), normal.shape))
    np.divide(friction, normal, out=ratio, where=normal > 0)
    return ratio


def vector(values: ArrayLike, unit: str, frame: str, text: str, suffixes: str = 'xyz') -> Series:
    """Return a series of vectors, shape (N, 3), in a unit."""
    return Series(np.asarray(values, dtype=float), unit, frame, tuple(suffixes), text)


def entry_series(entry: Entry, values: Array) -> Series:
    """Return a series of an entry of a layout, shape (N, k), in its unit."""
    return Series(values, entry.unit, entry.frame, entry.components, entry.text)


def layout_series(layout: Layout, values: Array) -> dict[str, Series]:
    """Return a series for each entry of a layout of values (N, size), in its units."""
    return {e.name: entry_series(e, values[:, layout.slice(e.name)]) for e in layout.entries}


def of_state(
    system: RollingSystem, name: str, output: Callable[[ca.SX, ca.SX, ca.SX], ca.SX]
) -> ca.Function:
    """Return an output of state, time and parameters as a function ``(x, u, t, p)``."""
    x, u = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
    t, p = ca.SX.sym('t'), ca.SX.sym('p', system.parameters.size)
    return ca.Function(name, [x, u, t, p], [ca.densify(output(x, t, p))])


def common_arrays(system: RollingSystem, trajectory: Trajectory) -> dict[str, Series]:
    """
    Return what every rolling system has.

    Parameters
    ----------
    system
        The system of the trajectory.
    trajectory
        Its output times are the arrays' times.

    Returns
    -------
    dict
        Time, control, contact wrench, friction that is needed, margins and invariants; poses of
        the bodies. Of several contacts also force and frame of each.

    """
    arrays = {'time': Series(trajectory.times, 's', text='time')}
    arrays |= layout_series(system.control, trajectory.controls)
    if next(iter(system.modes.values())).wrench is not None:
        wrench = trajectory.evaluate(lambda s: next(iter(s.modes.values())).wrench)
        arrays['tau_contact'] = vector(wrench[:, :3], 'N m', 'Ch', 'contact torque on the object')
        arrays['f_contact'] = vector(wrench[:, 3:], 'N', 'Ch', 'contact force on the object')
    arrays |= _contacts(system, trajectory)
    for name in margin_names(system):
        values = trajectory.evaluate(partial(margin, name))
        unit = MARGIN_UNITS.get(name, '')
        arrays[f'margin_{name}'] = Series(values[:, 0], unit, text=f'margin of {name}')
    for name in system.invariants:
        values = trajectory.evaluate(lambda s, name=name: s.invariants[name])
        arrays[name] = Series(values[:, 0], INVARIANT_UNITS.get(name, ''), text=name)
    return arrays | _poses(system, trajectory)


def array_name(name: str) -> str:
    """Return the name of the array of the force at a contact, whose name may be empty."""
    return f'f_contact_{name}' if name else 'f_contact'


def _contacts(system: RollingSystem, trajectory: Trajectory) -> dict[str, Series]:
    if (found := _forces(system)) is None:
        return {}
    count = len(found.names)
    values = trajectory.evaluate(_at_contacts)
    force = values[:, : 3 * count].reshape(-1, count, 3)
    ratio = friction_ratio(force[..., 2], np.hypot(force[..., 0], force[..., 1]))
    needed = np.fmax.reduce(ratio, axis=1)
    arrays: dict[str, Series] = {
        'mu_needed': Series(needed, '', text='static friction over normal force')
    }
    if count > 1:
        poses = values[:, 3 * count :].reshape(-1, count, 4, 4)
        for k, name in enumerate(found.names):
            text, at = f'force at the contact of {name}', f'contact_{name}'
            arrays[array_name(name)] = vector(force[:, k], 'N', at, text)
            arrays |= _pose(at, poses[:, k])
    return arrays


def _forces(system: RollingSystem) -> ContactForces | None:
    return contact_forces(system, next(iter(system.modes)))


def _at_contacts(system: RollingSystem) -> ca.Function:
    """Return ``(x, u, t, p) -> forces at contacts, and their frames``."""
    found = _forces(system)
    if found is None:
        raise ParameterError(f'{system.name}: this model has no contact force')
    s = Symbols.of(system.state, system.control, system.parameters)
    X = ca.vec(found.frames(s.x, s.p)[1])
    return ca.Function('contacts', list(s), [ca.densify(ca.vertcat(found.forces(*s), X))])


def _poses(system: RollingSystem, trajectory: Trajectory) -> dict[str, Series]:
    """Return position and attitude in W of each body that the system draws."""
    arrays: dict[str, Series] = {}
    for k, body in enumerate(system.pose.name_out()):
        flat = trajectory.evaluate(partial(_pose_function, k))
        arrays |= _pose(body, flat.reshape(-1, 4, 4))
    return arrays


def _pose(name: str, columns: Array) -> dict[str, Series]:
    """Return position and attitude in W by homogeneous matrices (N, 4, 4), column by column."""
    X = columns.transpose(0, 2, 1)
    q = quaternions(X[:, :3, :3])
    return {
        f'{name}_position': vector(X[:, :3, 3], 'm', 'W', f'origin of {name}'),
        f'{name}_attitude': Series(q, '', 'W', QUATERNION, f'attitude of {name}'),
    }


def _pose_function(body: int, system: RollingSystem) -> ca.Function:
    return of_state(system, 'pose', lambda x, _, p: ca.vec(system.pose.call([x, p])[body]))
