"""States of a sphere on a plane: contact coordinates, or an attitude without singularity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import casadi as ca
from rolling_dynamics.contract.layout import Entry, quaternion_entry
from rolling_dynamics.rotations import rate_space, rotation_matrix
from rolling_dynamics.spin_rolling_sphere.coordinates import contact_normal
from rolling_dynamics.spin_rolling_sphere.montana import coordinate_rates


class Representation(Protocol):
    """How the state holds the attitude of the sphere."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Entries of the state."""
        ...

    def rates(self, named: Mapping[str, ca.SX], w_SO_S: ca.SX) -> ca.SX:
        """Return the derivative of the entries."""
        ...

    def tan_v_o(self, named: Mapping[str, ca.SX]) -> ca.SX:
        """Return the tangent of the latitude of the contact on the sphere."""
        ...


@dataclass(frozen=True)
class Coordinates:
    """The coordinates (u_o, v_o), psi of the paper; singular at v_o = +-pi/2."""

    entries: tuple[Entry, ...] = (
        Entry('contact_o', ('u_o', 'v_o'), 'rad', 'O', 'vector', 'contact on the sphere'),
        Entry('psi', ('psi',), 'rad', '', 'angle', 'angle of spin'),
    )

    def rates(self, named: Mapping[str, ca.SX], w_SO_S: ca.SX) -> ca.SX:
        """Return (u_o, v_o, psi)-dot, Eq. (13)."""
        return coordinate_rates(named['contact_o'][1], named['psi'], w_SO_S)

    def tan_v_o(self, named: Mapping[str, ca.SX]) -> ca.SX:
        """Return tan v_o."""
        return ca.tan(named['contact_o'][1])


@dataclass(frozen=True)
class Attitude:
    """The unit quaternion q_SO; Montana's equations have no singularity on it."""

    entries: tuple[Entry, ...] = (quaternion_entry('q_SO', 'attitude of the sphere'),)

    def rates(self, named: Mapping[str, ca.SX], w_SO_S: ca.SX) -> ca.SX:
        """Return the derivative of the quaternion."""
        return rate_space(named['q_SO'], w_SO_S)

    def tan_v_o(self, named: Mapping[str, ca.SX]) -> ca.SX:
        """Return tan v_o; the geodesic curvature of the chart is infinite at its poles."""
        n = contact_normal(rotation_matrix(named['q_SO']))
        return n[1] / ca.sqrt(n[0] ** 2 + n[2] ** 2)


REPRESENTATIONS: dict[str, Representation] = {
    'attitude': Attitude(),
    'coordinates': Coordinates(),
}
