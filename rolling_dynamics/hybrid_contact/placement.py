"""
How a state holds the placement and motion of hand and object: in space, or in a vertical plane.

In the plane x-z of the world all rotations are about y; the same equations hold with the other
components zero, so both kinds of state are written out to the same vectors and read back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import casadi as ca
from rolling_dynamics.contact.equations import CONTROL, HAND_CONFIGURATION, HAND_VELOCITY
from rolling_dynamics.contract.layout import Entry, Layout, quaternion_entry, vector_entry
from rolling_dynamics.rotations import rate_body, rate_space


@dataclass(frozen=True, eq=False)
class BodyVectors:
    """
    Placement and motion as expressions of 3 or 4 entries each, whatever the state holds.

    Attributes
    ----------
    q_WH, p_WH
        Attitude (w, x, y, z) and origin of the hand in W [m].
    q_HO, p_HO_H
        Attitude and centre of mass of the object in the hand, in H [m].
    w_WH_H, v_WH_H
        Velocities of the hand, in H [rad/s], [m/s].
    w_HO_H, v_HO_H
        Angular velocity of the object relative to the hand, and rate of p_HO_H.

    """

    q_WH: ca.SX
    p_WH: ca.SX
    q_HO: ca.SX
    p_HO_H: ca.SX
    w_WH_H: ca.SX
    v_WH_H: ca.SX
    w_HO_H: ca.SX
    v_HO_H: ca.SX


class SpatialPlacement:
    """State in space, 26 numbers; control alpha_WH_H and a_WH_H as of the contact system."""

    planar = curved = False
    control = CONTROL
    state = Layout(
        (
            *HAND_CONFIGURATION,
            quaternion_entry('q_HO', 'attitude of the object in the hand'),
            vector_entry('p_HO_H', 'm', 'H', 'centre of mass of the object in the hand'),
            *HAND_VELOCITY,
            vector_entry('w_HO_H', 'rad/s', 'H', 'angular velocity of the object in the hand'),
            vector_entry('v_HO_H', 'm/s', 'H', 'velocity of the centre of mass in the hand'),
        )
    )

    def vectors(self, x: ca.SX) -> BodyVectors:
        """Return placement and motion held by a state."""
        return BodyVectors(**{f.name: x[self.state.slice(f.name)] for f in fields(BodyVectors)})

    def contact_h(self, x: ca.SX) -> ca.SX | None:
        """Return the coordinates of the closest point of the hand; None on a plane."""
        return x[self.state.slice('contact_h')] if self.curved else None

    def accelerations(self, u: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return alpha_WH_H and a_WH_H held by a control."""
        return u[0:3], u[3:6]

    def replaced(self, x: ca.SX, vectors: Mapping[str, ca.SX]) -> ca.SX:
        """Return the state with other vectors, by name, in place of some."""
        own = self.state.split(x)
        return ca.vertcat(*(own | dict(vectors)).values())

    def rates_of(self, b: BodyVectors, rates: Mapping[str, ca.SX]) -> ca.SX:
        """Return the rate of the state from those of all vectors but the attitudes."""
        turns = {
            'q_WH': rate_body(b.q_WH, b.w_WH_H),
            'q_HO': rate_space(b.q_HO, b.w_HO_H),
        }
        return ca.vertcat(*((turns | dict(rates))[e.name] for e in self.state.entries))


class CurvedPlacement(SpatialPlacement):
    """State in space over a hand that is no plane, with its closest point, 28 numbers."""

    curved = True
    state = Layout(
        (
            *SpatialPlacement.state.entries,
            Entry('contact_h', ('u_h', 'v_h'), 'chart', 'hand', text='closest point of the hand'),
        )
    )


class PlanarPlacement:
    """State in the plane x-z, 12 numbers; control alpha_WH_H_y, a_WH_H_x, a_WH_H_z."""

    planar, curved = True, False
    control = Layout(
        (
            vector_entry('alpha_WH_H', 'rad/s^2', 'H', 'angular acceleration of the hand', 'y'),
            vector_entry('a_WH_H', 'm/s^2', 'H', 'true acceleration of its origin', 'xz'),
        )
    )
    state = Layout(
        (
            Entry('beta_WH', ('beta_WH',), 'rad', 'W', 'vector', 'turn of the hand about y'),
            vector_entry('p_WH', 'm', 'W', 'origin of the hand', 'xz'),
            Entry('beta_HO', ('beta_HO',), 'rad', 'H', 'vector', 'turn of the object in the hand'),
            vector_entry('p_HO_H', 'm', 'H', 'centre of mass of the object in the hand', 'xz'),
            vector_entry('w_WH_H', 'rad/s', 'H', 'angular velocity of the hand', 'y'),
            vector_entry('v_WH_H', 'm/s', 'H', 'velocity of the origin of the hand', 'xz'),
            vector_entry(
                'w_HO_H', 'rad/s', 'H', 'angular velocity of the object in the hand', 'y'
            ),
            vector_entry('v_HO_H', 'm/s', 'H', 'velocity of the centre of mass', 'xz'),
        )
    )

    def vectors(self, x: ca.SX) -> BodyVectors:
        """Return placement and motion held by a state."""
        parts = [x[self.state.slice(e.name)] for e in self.state.entries]
        lift = [turn, spread, turn, spread, about_y, spread, about_y, spread]
        return BodyVectors(*(f(part) for f, part in zip(lift, parts, strict=True)))

    def contact_h(self, x: ca.SX) -> None:
        """Return nothing: the hand is a plane."""

    def accelerations(self, u: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return alpha_WH_H and a_WH_H held by a control."""
        return about_y(u[0]), spread(u[1:3])

    def replaced(self, x: ca.SX, vectors: Mapping[str, ca.SX]) -> ca.SX:
        """Return the state with other vectors, by name, in place of some; angles stay."""
        own = self.state.split(x)
        return ca.vertcat(*(own | flat(vectors)).values())

    def rates_of(self, b: BodyVectors, rates: Mapping[str, ca.SX]) -> ca.SX:
        """Return the rate of the state from those of all vectors but the attitudes."""
        own = flat(rates) | {'beta_WH': b.w_WH_H[1], 'beta_HO': b.w_HO_H[1]}
        return ca.vertcat(*(own[e.name] for e in self.state.entries))


Placement = SpatialPlacement | PlanarPlacement


def turn(angle: ca.SX) -> ca.SX:
    """Return the quaternion of a turn about y."""
    return ca.vertcat(ca.cos(angle / 2), 0, ca.sin(angle / 2), 0)


def spread(xz: ca.SX) -> ca.SX:
    """Return the vector in space of one in the plane x-z."""
    return ca.vertcat(xz[0], 0, xz[1])


def about_y(rate: ca.SX) -> ca.SX:
    """Return the angular velocity, or acceleration, of a turn about y."""
    return ca.vertcat(0, rate, 0)


def flat(vectors: Mapping[str, ca.SX]) -> dict[str, ca.SX]:
    """Return what a planar state holds of vectors by name; attitudes are left out."""
    return {
        name: v[1] if name.startswith('w_') else ca.vertcat(v[0], v[2])
        for name, v in vectors.items()
        if not name.startswith('q_')
    }
