"""Arrays of an object on a hand, also beyond rolling."""

from __future__ import annotations

from typing import cast

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.conversions import contact_view
from rolling_dynamics.contact.followed_coordinates import ContactCoordinates
from rolling_dynamics.contact.representation import (
    CoordinatesRepresentation,
    first_order_kinematics,
)
from rolling_dynamics.contract.rolling_system import Entry
from rolling_dynamics.hybrid_contact import HybridContactSystem
from rolling_dynamics.hybrid_contact.from_contact_system import model_state
from rolling_dynamics.rotations import quaternions, rotation_matrix
from rolling_dynamics.simulation import Trajectory
from rolling_robotics.arrays import (
    entry_series,
    friction_ratio,
    layout_series,
    of_state,
    QUATERNION,
    Series,
    vector,
)


def contact_arrays(
    system: ContactSystem | HybridContactSystem, trajectory: Trajectory
) -> dict[str, Series]:
    """
    Return the state in both representations, contact points and twists.

    Coordinates and contact frames are on the first charts of the surfaces, whatever charts
    the simulation used; coordinates are NaN at the poles of these charts. Turns are counted along
    the integration where it was followed by :class:`ContactCoordinates`.
    """
    if len(system.modes) > 1:
        return hybrid_contact_arrays(cast('HybridContactSystem', system), trajectory)
    raw = trajectory.evaluate(_view)
    parts = np.split(raw, np.cumsum([9, 3, 3, 9]), axis=1)
    R_HO, R_HCh = (parts[k].reshape(-1, 3, 3).transpose(0, 2, 1) for k in (0, 3))
    p_HC, w_HO_H = parts[1], parts[4]
    p_OC = np.einsum('nji,nj->ni', R_HO, parts[2])
    system = cast(ContactSystem, system)
    arrays = _hand(system, trajectory)
    arrays['q_HO'] = Series(
        quaternions(R_HO),
        '',
        '',
        tuple(f'q_HO_{s}' for s in QUATERNION),
        'attitude of the object in the hand',
    )
    arrays['w_HO_H'] = vector(w_HO_H, 'rad/s', 'H', 'angular velocity of the object in the hand')
    w_HO_Ch = np.einsum('nji,nj->ni', R_HCh, w_HO_H)
    arrays |= _coordinates(system, trajectory, w_HO_Ch)
    twist = trajectory.evaluate(_object_twist)
    arrays |= _moved(w_HO_Ch, p_HC, p_OC, twist[:, :3], twist[:, 3:])
    return arrays | _spin_friction(trajectory)


def _moved(w_HO_Ch: Array, p_HC: Array, p_OC: Array, w: Array, v: Array) -> dict[str, Series]:
    """Return relative velocity, contact points, and twist of the object."""
    return {
        'w_HO_Ch': entry_series(CoordinatesRepresentation.velocity, w_HO_Ch),
        'p_HC': vector(p_HC, 'm', 'H', 'contact point on the hand'),
        'p_OC': vector(p_OC, 'm', 'O', 'contact point on the object'),
        'w_WO_O': vector(w, 'rad/s', 'O', 'angular velocity of the object'),
        'v_WO_O': vector(v, 'm/s', 'O', 'velocity of the centre of the object'),
    }


def _hand(system: ContactSystem, trajectory: Trajectory) -> dict[str, Series]:
    names = ('q_WH', 'p_WH', 'w_WH_H', 'v_WH_H')
    values = trajectory.recorded  # the same on all charts
    return {
        n: entry_series(system.state.entry(n), values[:, system.state.slice(n)]) for n in names
    }


def _coordinates(
    system: ContactSystem, trajectory: Trajectory, w_HO_Ch: Array
) -> dict[str, Series]:
    """Return contact coordinates and their rates."""
    q = trajectory.followed
    if q is None:  # turns between two output times are not detected
        follower = ContactCoordinates(system, trajectory.parameters)
        states = zip(trajectory.times, trajectory.recorded, strict=True)
        q = np.array([follower.at(trajectory.system_at(t), x) for t, x in states])
    rates = np.array(_rates(system).map(len(q))(q.T, w_HO_Ch.T)).T
    rates[np.isnan(q).any(axis=1)] = np.nan
    arrays, entries = _of_configuration(q), CoordinatesRepresentation.configuration
    names = tuple(f'{c}_dot' for e in entries for c in e.components)
    arrays['q_dot'] = entry_series(
        Entry('q_dot', names, 'chart/s', '', 'vector', 'rates of the contact coordinates'), rates
    )
    return arrays


def _of_configuration(q: Array) -> dict[str, Series]:
    values = {'contact_o': q[:, 0:2], 'contact_h': q[:, 2:4], 'psi': q[:, 4:]}
    return {
        e.name: entry_series(e, values[e.name]) for e in CoordinatesRepresentation.configuration
    }


def _rates(system: ContactSystem) -> ca.Function:
    """Return ``(q, w_HO_Ch) -> q_dot``, Eq. (1), on the first charts."""
    q, w = ca.SX.sym('q', 5), ca.SX.sym('w', 3)
    obj, hand = system.object_surface, system.hand_surface
    K = first_order_kinematics(
        obj.geometry(q[0:2], ca.SX(ca.DM(obj.parameter_values))),
        hand.geometry(q[2:4], ca.SX(ca.DM(hand.parameter_values))),
        q[4],
    )
    return ca.Function('q_dot', [q, w], [K.rolling @ w])


def _view(system: ContactSystem) -> ca.Function:
    view = contact_view(system)
    return of_state(system, 'view', lambda x, _, p: ca.vertcat(*map(ca.vec, view(x, p))))


def _object_twist(system: ContactSystem) -> ca.Function:
    return of_state(system, 'twist', lambda x, _, p: ca.vertcat(*system.object_twist(x, p)))


def _spin_friction(trajectory: Trajectory) -> dict[str, Series]:
    """Return spin torque over normal force."""
    wrench = trajectory.evaluate(lambda s: s.mode.wrench)
    needed = friction_ratio(wrench[:, 5], np.abs(wrench[:, 2]))
    return {'mu_spin_needed': Series(needed, 'm', text='spin torque over normal force')}


def hybrid_contact_arrays(
    system: HybridContactSystem, trajectory: Trajectory
) -> dict[str, Series]:
    """
    Return states, contact points, coordinates and twists.

    Without contact, the contact point is the object's lowest point and its foot on the plate.
    """
    arrays = layout_series(system.state, trajectory.states)
    p_HC, p_OC, w, v, gap = np.split(trajectory.evaluate(_hybrid_view), [3, 6, 9, 12], axis=1)
    arrays |= _hybrid_coordinates(system, trajectory)
    arrays |= _moved(trajectory.states[:, system.state.slice('w_HO_H')], p_HC, p_OC, w, v)
    arrays['gap'] = Series(gap[:, 0], 'm', text='distance between object and plate')
    return arrays | _spin_friction(trajectory)


def _hybrid_coordinates(system: HybridContactSystem, trajectory: Trajectory) -> dict[str, Series]:
    """Return the contact coordinates on the first charts."""
    rolling = ContactSystem(system.object_surface, system.hand_surface)
    d = system.parameters.unpack(trajectory.parameters)
    p = rolling.parameters.pack(**{n: d[n] for n in d if n in rolling.parameters})
    follower = ContactCoordinates(rolling, p)
    states = np.array(model_state(system, rolling)(trajectory.states.T, trajectory.parameters)).T
    q = np.array([follower.at(rolling, x) for x in states])
    return _of_configuration(q)


def _hybrid_view(system: HybridContactSystem) -> ca.Function:
    at, body = system.at, system.machine.links['object']
    R_HO = rotation_matrix(system.symbols.values['q_HO'])
    parts = [at.p_HC, R_HO.T @ at.r_OC, body.w, body.v, system.gaps]
    return system.function('view', ca.vertcat(*parts))
