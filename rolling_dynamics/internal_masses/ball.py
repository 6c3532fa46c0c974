"""A ball with internal masses, on a floor or along a path, and a disk."""

from __future__ import annotations

import casadi as ca
from rolling_dynamics.contract.rolling_system import (
    Entry,
    number_entry,
    quaternion_entry,
    vector_entry,
)
from rolling_dynamics.inertia import inertia_matrix
from rolling_dynamics.internal_masses.system import MassDrivenSystem


class PointMassBall(MassDrivenSystem):
    """
    Ball on the plane z = 0 of W; Putkaradze & Rogers (normal force), Eqs. (3.2)-(3.4), (6.4).

    The body frame B has its origin in the geometric centre. The state is (theta, theta_rate, q_WB,
    w_WB_B, p_xy); for a unilateral ball the centre p_WB and its velocity v_WB_W replace p_xy.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> scenario = load_scenario('point_mass_ball')
    >>> type(scenario.system).__name__, scenario.system.control.names
    ('PointMassBall', ['theta_acceleration_1', 'theta_acceleration_2', 'theta_acceleration_3'])

    """

    name = 'point_mass_ball'
    plan_seeds = 'rolling_planner.seeds.mass_driven_seed:SEEDS'
    plane = (0, 1, 2)
    turning = (
        quaternion_entry('q_WB', 'attitude of the ball'),
        vector_entry('w_WB_B', 'rad/s', 'B', 'angular velocity of the ball'),
    )
    inertia = (
        vector_entry(
            'inertia',
            'kg m^2',
            'B',
            'inertia of the shell about its centre of mass',
            ('xx', 'yy', 'zz', 'xy', 'xz', 'yz'),
        ),
        vector_entry('centre_of_mass', 'm', 'B', 'centre of mass of the shell'),
    )

    @property
    def integrals(self) -> dict[str, ca.SX]:
        """Energy, momenta, and for a ball without masses the integrals of Jellett and Routh."""
        if self.masses:
            return super().integrals
        p, at = self.symbols.params, self.shell
        m, inertia = p['mass'], inertia_matrix(p['inertia'])
        s = p['radius'] * at.R_WB[2, :].T + p['centre_of_mass']
        I1, I3 = inertia[0, 0], inertia[2, 2]
        inner = I1 * I3 + m * (I1 * (s[0] ** 2 + s[1] ** 2) + I3 * s[2] ** 2)
        own = {'jellett': ca.dot(inertia @ at.w, s), 'routh': at.w[2] * ca.sqrt(inner)}
        return super().integrals | own


class PointMassDisk(MassDrivenSystem):
    """
    Disk in the plane of x and z of W; Putkaradze & Rogers (normal force), Eqs. (4.1)-(4.4), (5.2).

    The state is (theta, theta_rate, phi, phi_rate, p_x); for a unilateral disk the centre p_WB and
    its velocity v_WB_W, x and z each, replace p_x. Positive phi' rolls towards -x.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> scenario = load_scenario('point_mass_disk')
    >>> type(scenario.system).__name__, scenario.system.control.size
    ('PointMassDisk', 4)

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
        """Energy, momentum, and angular momentum about the centre of mass (y is along -e2)."""
        found = super().integrals
        kept = {n: found[n] for n in ('energy', 'linear_momentum_x', 'linear_momentum_z')}
        return {**kept, 'angular_momentum': -found['angular_momentum_y']}
