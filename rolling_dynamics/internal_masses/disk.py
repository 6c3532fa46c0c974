"""A disk driven by internal masses, as a rolling system."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry, number_entry, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.friction import MU
from rolling_dynamics.internal_masses.masses import (
    check_masses,
    checked_coefficients,
    distance_from_plane,
    RailMass,
)
from rolling_dynamics.internal_masses.system import GRAVITY, MassDrivenSystem, RADIUS


class PointMassDisk(MassDrivenSystem):
    """
    Disk in the plane of x and z of W; Putkaradze & Rogers (normal force), Eqs. (4.1)-(4.4), (5.2).

    The state is (theta, theta_rate, phi, phi_rate, p_x); of a unilateral disk the centre p_WB and
    its velocity v_WB_W, x and z each, stand in place of p_x. Positive phi' rolls towards -x.
    """

    name = 'point_mass_disk'
    plane, axis = (0, 2), (0.0, -1.0, 0.0)  # phi turns from x to z, (A.1)
    turning = (
        Entry('phi', ('phi',), 'rad', 'W', text='angle of the disk'),
        Entry('phi_rate', ('phi_rate',), 'rad/s', 'W', text='its rate'),
    )
    inertia = (
        number_entry('polar_inertia', 'kg m^2', 'about its centre of mass', 'zero or positive'),
        vector_entry('centre_of_mass', 'm', 'B', 'centre of mass of the shell', 'xz'),
    )

    @property
    def _place(self) -> tuple[Entry, ...]:
        if not self.unilateral:
            return (vector_entry('p', 'm', 'W', 'contact point', 'x'),)
        return (
            vector_entry('p_WB', 'm', 'W', 'geometric centre', 'xz'),
            vector_entry('v_WB_W', 'm/s', 'W', 'velocity of the centre', 'xz'),
        )

    def _shell_inertia(self, p: Mapping[str, ca.SX]) -> ca.SX:
        out = ca.SX(3, 3)
        out[1, 1] = p['polar_inertia']
        return out

    def _attitude(self, x: Mapping[str, ca.SX]) -> ca.SX:
        half = x['phi'] / 2
        return ca.vertcat(ca.cos(half), 0, -ca.sin(half), 0)

    def pack_parameters(
        self,
        *,
        mass: float,
        polar_inertia: float,
        radius: float,
        centre_of_mass: ArrayLike = (0.0, 0.0),
        gravity_W: ArrayLike = (0.0, 0.0, -GRAVITY),
        mu: float = 1.0,
        mu_kinetic: float | None = None,
    ) -> Array:
        """
        Return the vector p; see :meth:`PointMassBall.pack_parameters`.

        Parameters
        ----------
        mass, radius, gravity_W, mu, mu_kinetic
            As of the ball.
        polar_inertia
            d_2 of the shell about its centre of mass [kg m^2], zero or positive.
        centre_of_mass
            Along E1 and E3 [m].

        """
        RADIUS.check(radius)
        MU.check(mu)
        check_masses(self.masses, mass, radius, np.asarray(centre_of_mass, dtype=float))
        for k, m in enumerate(self.masses, 1):
            if isinstance(m, RailMass) and distance_from_plane(m.rail) > 1e-12 * radius:
                raise ParameterError(
                    f'rail {k} leaves the plane of the disk: its points must have y = 0'
                )
        static, kinetic = checked_coefficients(mu, mu_kinetic, no_slip=not self.unilateral)
        return self.parameters.pack(
            mass=mass,
            polar_inertia=polar_inertia,
            radius=radius,
            centre_of_mass=centre_of_mass,
            gravity_W=gravity_W,
            mu=static,
            mu_kinetic=kinetic,
        )

    @cached_property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Energy, momentum, and angular momentum about the centre of mass (y is -e2's turn)."""
        found = self.integrals
        kept = {n: found[n] for n in ('energy', 'linear_momentum_x', 'linear_momentum_z')}
        return self.functions({**kept, 'angular_momentum': -found['angular_momentum_y']})
