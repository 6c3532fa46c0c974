"""A disk driven by internal masses, as a rolling system."""

from __future__ import annotations

import casadi as ca
from rolling_dynamics.contract.rolling_system import Entry, number_entry, vector_entry
from rolling_dynamics.internal_masses.system import MassDrivenSystem


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
    def integrals(self) -> dict[str, ca.SX]:
        """Energy, momentum, and angular momentum about the centre of mass (y is -e2's turn)."""
        found = super().integrals
        kept = {n: found[n] for n in ('energy', 'linear_momentum_x', 'linear_momentum_z')}
        return {**kept, 'angular_momentum': -found['angular_momentum_y']}
