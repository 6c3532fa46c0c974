# ruff: noqa: ARG002 (a law need not use everything that it may)
"""What drives the sphere: its angular velocity, or a virtual surface, steered or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import casadi as ca
from rolling_dynamics.contract.layout import Entry, Layout, vector_entry
from rolling_dynamics.spin_rolling_sphere.darboux import angular_velocity, DarbouxInputs
from rolling_dynamics.spin_rolling_sphere.direction_law import frame_angle, published_angles

_SURFACE = (
    Entry('alpha_s', ('alpha_s',), '1/m', text='geodesic curvature of the virtual surface'),
    Entry('beta_s', ('beta_s',), '1/m', text='geodesic torsion of the virtual surface'),
    Entry('gamma_s', ('gamma_s',), '1/m', text='normal curvature of the virtual surface'),
)
_DELTA = Entry('delta', ('delta',), 'm/s', text='rolling rate ds/dt')
Named = Mapping[str, ca.SX]


class InputLaw(Protocol):
    """A set of inputs and the angular velocity that they give."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Entries of u but for the rolling rate."""
        ...

    def layout(self, independent_variable: str) -> Layout:
        """Return the layout of u."""
        ...

    def rotation(self, u: Named, radius: ca.SX, tan_v_o: ca.SX, variant: str, phi: float) -> ca.SX:
        """Return the angular velocity in S, per time or per arc length."""
        ...


@dataclass(frozen=True)
class AngularVelocity:
    """The angular velocity itself."""

    entries: tuple[Entry, ...] = (vector_entry('w_SO_S', 'rad/s', 'S', 'angular velocity'),)

    def layout(self, independent_variable: str) -> Layout:
        """Return the layout of u."""
        return Layout(self.entries)

    def rotation(self, u: Named, radius: ca.SX, tan_v_o: ca.SX, variant: str, phi: float) -> ca.SX:
        """Return it."""
        return u['w_SO_S']


@dataclass(frozen=True)
class VirtualSurface:
    """Virtual surface and both angles, Eq. (14)."""

    entries: tuple[Entry, ...] = (
        *_SURFACE,
        Entry('theta', ('theta',), 'rad', '', 'angle', 'angle between the contact frames'),
        Entry('phi', ('phi',), 'rad', '', 'angle', "angle from the sphere's e_u to the path"),
    )

    def layout(self, independent_variable: str) -> Layout:
        """Return the layout of u; over time with the rolling rate."""
        return Layout((*self.entries, _DELTA) if independent_variable == 'time' else self.entries)

    def rotation(self, u: Named, radius: ca.SX, tan_v_o: ca.SX, variant: str, phi: float) -> ca.SX:
        """Return Eq. (12) per arc length."""
        inputs = DarbouxInputs(
            alpha=u['alpha_s'],
            beta=u['beta_s'],
            gamma=u['gamma_s'],
            theta=u['theta'],
            phi=u['phi'],
        )
        return angular_velocity(inputs, radius, tan_v_o, variant)


@dataclass(frozen=True)
class Direction(VirtualSurface):
    """Virtual surface and direction of the path on the plane, Eqs. (14), (15)."""

    entries: tuple[Entry, ...] = (
        *_SURFACE,
        Entry('G_f', ('G_f',), 'rad', 'S', 'angle', 'direction of the path'),
    )

    def rotation(self, u: Named, radius: ca.SX, tan_v_o: ca.SX, variant: str, phi: float) -> ca.SX:
        """Return Eq. (12) per arc length with the direction law."""
        alpha, beta, gamma, G_f = (u[n] for n in ('alpha_s', 'beta_s', 'gamma_s', 'G_f'))
        if variant == 'corrected':
            theta, angle = frame_angle(G_f, beta, gamma, radius) - phi, ca.SX(phi)
        else:
            theta, angle = published_angles(G_f, beta, gamma, radius)
        inputs = DarbouxInputs(alpha=alpha, beta=beta, gamma=gamma, theta=theta, phi=angle)
        return angular_velocity(inputs, radius, tan_v_o, variant)


INPUTS: dict[str, InputLaw] = {
    'angular_velocity': AngularVelocity(),
    'virtual_surface': VirtualSurface(),
    'direction': Direction(),
}


def input_law(name: str) -> InputLaw:
    """Return the law of a name of ``INPUTS``."""
    return INPUTS[name]
