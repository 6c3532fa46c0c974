"""
A ball between two plates that are driven: it rolls on both.

The lower plate carries the ball on a Rolling joint; the upper one, whose frame points down, closes
the loop. Its normal row says again what the lower one says, so the squeeze is a parameter.
"""

import casadi as ca
import numpy as np
from rolling_dynamics.contract.layout import quaternion_entry, vector_entry
from rolling_dynamics.mechanism import (
    Contact,
    Driven,
    Free,
    Machine,
    MachineSystem,
    Revolution,
    Rolling,
    Sphere,
)


def plate(machine: Machine, name: str) -> None:
    """Add a plate that moves as its controls have it: accelerations, linear in W and angular."""
    free = Free(
        position=vector_entry(f'p_{name}', 'm', 'W'),
        attitude=quaternion_entry(f'q_{name}'),
        velocity=vector_entry(f'v_{name}', 'm/s', 'W'),
        speed=vector_entry(f'w_{name}', 'rad/s', name),
    )
    linear = machine.control(vector_entry(f'a_{name}', 'm/s^2', 'W'))
    angular = machine.control(vector_entry(f'alpha_{name}', 'rad/s^2', name))
    machine.body(name, Driven(joint=free, rates=ca.vertcat(linear, angular)))


def ball_between_plates() -> MachineSystem:
    """Return the system."""
    machine = Machine('ball_between_plates')
    radius = machine.parameter('radius', 'm', 'of the ball')
    mass = machine.parameter('mass', 'kg', 'of the ball')
    squeeze = machine.parameter('squeeze', 'N', 'of the upper plate on the ball')
    mu = machine.parameter('mu', '', 'coefficient of static friction')
    plate(machine, 'lower')
    plate(machine, 'upper')
    rolling = Rolling(
        shape=Sphere(radius),
        contact=vector_entry('contact', 'm', 'lower', 'contact on the lower plate', 'xy'),
        attitude=quaternion_entry('q_WS', 'attitude of the ball'),
        speed=vector_entry('w_WS_W', 'rad/s', 'W', 'angular velocity of the ball'),
        mu=mu,
    )
    machine.body('ball', rolling, Revolution(mass, 0.4 * mass * radius**2), on='lower')
    machine.contact(
        Contact(body='ball', shape=Sphere(radius), on='upper', mu=mu, normal_force=squeeze)
    )
    return MachineSystem(machine)


def at_rest(system: MachineSystem, radius: float) -> np.ndarray:
    """Return the state at rest, the upper plate turned over and over the ball."""
    return system.state.pack(p_upper=[0, 0, 2 * radius], q_upper=[0, 1, 0, 0])


if __name__ == '__main__':
    from rolling_dynamics.simulation import simulate

    both = ball_between_plates()
    p = both.parameters.pack(radius=0.05, mass=0.5, squeeze=5.0, mu=0.8)
    x0 = at_rest(both, 0.05)
    u = both.control.pack(
        a_lower=[0.2, 0, 0], alpha_lower=np.zeros(3), a_upper=[0, 0.1, 0], alpha_upper=np.zeros(3)
    )
    run = simulate(both, p, x0, u, 1.0)
    print('ball over the lower plate', run.states[-1][both.state.slice('contact')], run.events)
