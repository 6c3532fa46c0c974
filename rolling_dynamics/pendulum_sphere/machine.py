"""
Description of the sphere with a pendulum.

Frames: W of the floor, z its outward normal; the paper's k is -z. The equations that follow are
those of Ivanova & Pivovarova, Eqs. (1)-(4), on any slope and with rolling resistance, and with the
term j (domega/dt . n) n that the printed Eq. (2) lacks.
"""

from __future__ import annotations

import casadi as ca
from rolling_dynamics.contract.layout import Entry, quaternion_entry, vector_entry
from rolling_dynamics.mechanism import Machine, Revolution, Rolling, Sphere, Spherical


def pendulum_sphere(*more: Entry) -> Machine:
    """Return the machine; ``more`` are parameters that the equations do not depend on."""
    machine = Machine('pendulum_sphere')
    shell_mass = machine.parameter('shell_mass', 'kg', 'M')
    shell_inertia = machine.parameter('shell_inertia', 'kg m^2', 'I')
    radius = machine.parameter('shell_radius', 'm', 'R_o')
    mass = machine.parameter('pendulum_mass', 'kg', 'm')
    length = machine.parameter('pendulum_length', 'm', 'R_t')
    across = machine.parameter('pendulum_inertia', 'kg m^2', 'i, across the axis')
    excess = machine.parameter('pendulum_excess', 'kg m^2', 'j; i + j along the axis')
    machine.gravity_W = machine.parameter(
        vector_entry('gravity_W', 'm/s^2', 'W', 'gravity; W is on the floor, z its normal')
    )
    shell = Rolling(
        shape=Sphere(radius),
        contact=vector_entry('contact', 'm', 'W', 'contact point on the floor', suffixes='xy'),
        attitude=quaternion_entry('q_WS', 'attitude of the shell'),
        speed=vector_entry('w_WS_W', 'rad/s', 'W', 'angular velocity of the shell'),
        mu=machine.parameter('mu', '', 'coefficient of static friction'),
        resistance=machine.parameter('rolling_resistance', 'm', 'lever arm delta'),
        damping=machine.parameter('rolling_damping', 'N m s', 'torque per rate'),
    )
    pendulum = Spherical(
        attitude=quaternion_entry(
            'q_WP', 'attitude of the pendulum, which hangs along -z of its frame'
        ),
        speed=vector_entry('w_WP_W', 'rad/s', 'W', 'angular velocity of the pendulum'),
    )
    machine.body('shell', shell, Revolution(shell_mass, shell_inertia))
    machine.body(
        'pendulum',
        pendulum,
        Revolution(mass, across, excess, offset=length, axis=ca.DM([0, 0, -1])),
        on='shell',
    )
    torque = vector_entry('tau_W', 'N m', 'W', 'torque on the pendulum, reversed on the shell')
    machine.torque(machine.control(torque), on='pendulum', reaction='shell')
    for entry in more:
        machine.parameter(entry)
    return machine


_PLAIN = pendulum_sphere()
STATE, CONTROL, PARAMETERS = _PLAIN.state, _PLAIN.control_layout, _PLAIN.parameters
