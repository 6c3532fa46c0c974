"""
A hamster ball: a cart with two wheels rolls inside a spherical shell, which rolls on the floor.

The wheels are knife edges on one axle. What they push along it is undetermined by the equations of
rigid bodies, so that of the right one is a parameter. Motors act between chassis and wheels.
"""

import math

import casadi as ca
import numpy as np
from rolling_dynamics.contract.layout import Entry, quaternion_entry, vector_entry
from rolling_dynamics.mechanism import (
    Contact,
    Free,
    Hollow,
    Machine,
    MachineSystem,
    Revolute,
    Revolution,
    Rolling,
    Solid,
    Sphere,
    Wheel,
)

OUTSIDE, INSIDE, TRACK, WHEEL = 0.21, 0.20, 0.06, 0.04  # m: radii, half of the axle, radius
BELOW = math.sqrt(INSIDE**2 - TRACK**2) - WHEEL  # m, of the axle from the middle of the shell
SHELL, CHASSIS, ROLLER = 1.0, 0.8, 0.1  # kg
SHELL_INERTIA, ROLLER_INERTIA = 2 / 3 * SHELL * 0.205**2, ROLLER * WHEEL**2 / 2
CHASSIS_INERTIA, LOW = 0.002, 0.02  # kg m^2, and m from the axle to the chassis' centre of mass


def hamster_ball() -> MachineSystem:
    """Return the system; its controls are the torques of both motors."""
    machine = Machine('hamster_ball')
    mu = machine.parameter('mu', '', 'coefficient of static friction, inside and outside')
    shell = Rolling(
        shape=Sphere(ca.SX(OUTSIDE)),
        contact=vector_entry('contact', 'm', 'W', 'contact point on the floor', suffixes='xy'),
        attitude=quaternion_entry('q_WS', 'attitude of the shell'),
        speed=vector_entry('w_WS_W', 'rad/s', 'W', 'angular velocity of the shell'),
        mu=mu,
    )
    chassis = Free(
        position=vector_entry('p_WC', 'm', 'W', 'middle of the axle'),
        attitude=quaternion_entry('q_WC', 'attitude of the chassis'),
        velocity=vector_entry('v_WC_W', 'm/s', 'W'),
        speed=vector_entry('w_WC_C', 'rad/s', 'C'),
    )
    inertia, across = CHASSIS_INERTIA * ca.DM.eye(3), ca.DM([0, 1, 0])
    machine.body('shell', shell, Revolution(ca.SX(SHELL), ca.SX(SHELL_INERTIA)))
    machine.body('chassis', chassis, Solid(ca.SX(CHASSIS), inertia, ca.DM([0, 0, -LOW])))
    roller = Revolution(ca.SX(ROLLER), ROLLER_INERTIA / 2, ROLLER_INERTIA / 2, axis=across)
    for name, side, given in (('left', 1, None), ('right', -1, machine.parameter('side', 'N'))):
        hinge = Revolute.named(name, [0, 1, 0], [0, side * TRACK, 0])
        machine.body(name, hinge, roller, on='chassis')
        wheel, inside = Wheel(ca.SX(WHEEL)), Hollow(ca.SX(INSIDE))
        machine.contact(
            Contact(body=name, shape=wheel, on='shell', surface=inside, side_force=given, mu=mu)
        )
        torque = machine.control(Entry(f'torque_{name}', (f'torque_{name}',), 'N m'))
        machine.torque(torque * across, on=name, reaction='chassis', frame='chassis')
    return MachineSystem(machine)


def at_rest(system: MachineSystem, angle: float = 0.0) -> np.ndarray:
    """Return a state at rest, the axle turned by an angle [rad] about y from its lowest place."""
    way = [-BELOW * math.sin(angle), 0, OUTSIDE - BELOW * math.cos(angle)]
    return system.state.pack(p_WC=way)


if __name__ == '__main__':
    from rolling_dynamics.simulation import simulate

    ball = hamster_ball()
    run = simulate(ball, np.array([0.8, 0.0]), at_rest(ball), np.array([0.05, 0.04]), 3.0)
    print('shell at', run.states[-1][ball.state.slice('contact')], run.events)
