"""Arrays of a body on a plate that may slide, fly and land."""

from __future__ import annotations

import casadi as ca
import numpy as np
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contact.followed_coordinates import ContactCoordinates
from rolling_dynamics.contact.representation import CoordinatesRepresentation
from rolling_dynamics.hybrid_contact import HybridContactSystem
from rolling_dynamics.hybrid_contact.model_state import model_state
from rolling_dynamics.rotations import rotation_matrix
from rolling_dynamics.simulation import Trajectory
from rolling_robotics.arrays import (
    along,
    entry_series,
    friction_ratio,
    layout_series,
    Series,
    vector,
)


def hybrid_contact_arrays(
    system: HybridContactSystem, trajectory: Trajectory
) -> dict[str, Series]:
    """
    Return states, contact points, coordinates and twists.

    Without contact, the contact point is the object's lowest point and its foot on the plate.
    """
    arrays = layout_series(system.state, trajectory.states)
    p_HC, p_OC, w, v, gap = np.split(along(trajectory, _view), [3, 6, 9, 12], axis=1)
    arrays |= _coordinates(system, trajectory)
    arrays['w_HO_Ch'] = entry_series(
        CoordinatesRepresentation.velocity, trajectory.states[:, system.state.slice('w_HO_H')]
    )
    arrays['p_HC'] = vector(p_HC, 'm', 'H', 'contact point on the hand')
    arrays['p_OC'] = vector(p_OC, 'm', 'O', 'contact point on the object')
    arrays['w_WO_O'] = vector(w, 'rad/s', 'O', 'angular velocity of the object')
    arrays['v_WO_O'] = vector(v, 'm/s', 'O', 'velocity of the centre of the object')
    arrays['gap'] = Series(gap[:, 0], 'm', text='distance between object and plate')
    wrench = along(trajectory, lambda s: s.mode.wrench)
    for name, unit, friction in (
        ('mu_needed', '', np.hypot(wrench[:, 3], wrench[:, 4])),
        ('mu_spin_needed', 'm', np.abs(wrench[:, 2])),
    ):
        ratio = friction_ratio(wrench[:, 5], friction)
        arrays[name] = Series(ratio, unit, text='friction over normal force')
    return arrays


def _coordinates(system: HybridContactSystem, trajectory: Trajectory) -> dict[str, Series]:
    """Return the contact coordinates on the first charts."""
    rolling = ContactSystem(system.object_surface, system.hand_surface)
    d = system.parameters.unpack(trajectory.parameters)
    p = rolling.parameters.pack(**{n: d[n] for n in d if n in rolling.parameters})
    follower = ContactCoordinates(rolling, p)
    states = np.array(model_state(system, rolling)(trajectory.states.T, trajectory.parameters)).T
    q = np.array([follower.at(rolling, x) for x in states])
    values = {'contact_o': q[:, 0:2], 'contact_h': q[:, 2:4], 'psi': q[:, 4:]}
    return {
        e.name: entry_series(e, values[e.name]) for e in CoordinatesRepresentation.configuration
    }


def _view(system: HybridContactSystem) -> ca.Function:
    s, b = system.scene, system.scene.body
    v_H = b.v_WH_H + ca.cross(b.w_WH_H, b.p_HO_H) + b.v_HO_H
    R_OH = rotation_matrix(b.q_HO).T
    parts = [
        s.contact.p_HC,
        R_OH @ s.contact.r_OC,
        R_OH @ (b.w_WH_H + b.w_HO_H),
        R_OH @ v_H,
        s.gap,
    ]
    return system.function('view', ca.vertcat(*parts))
