"""
A ball rolls over the floor into a wall, climbs it by its friction, and comes back.

Floor and wall are contacts with kinetic friction: each may roll, slip, part and meet again.
"""

import numpy as np
from rolling_dynamics.contract.layout import quaternion_entry, vector_entry
from rolling_dynamics.mechanism import (
    Contact,
    Free,
    HybridMachine,
    Machine,
    Plane,
    Revolution,
    Sphere,
)

FLOOR, WALL = (0.0, 0.0, 1.0), (-1.0, 0.0, 0.0)  # planes through the origin, by their normals


def ball_and_wall() -> HybridMachine:
    """Return the system."""
    machine = Machine('ball_and_wall')
    radius = machine.parameter('radius', 'm', 'of the ball')
    mass = machine.parameter('mass', 'kg', 'of the ball')
    mu = machine.parameter('mu', '', 'coefficient of friction, static and kinetic')
    back = machine.parameter('restitution', '', 'fraction of work that an impact gives back')
    free = Free(
        position=vector_entry('p_WB', 'm', 'W'),
        attitude=quaternion_entry('q_WB'),
        velocity=vector_entry('v_WB_W', 'm/s', 'W'),
        speed=vector_entry('w_WB_W', 'rad/s', 'W'),
        axes='world',
    )
    machine.body('ball', free, Revolution(mass, 0.4 * mass * radius**2))
    for normal in (FLOOR, WALL):
        plane, ball = Plane(normal), Sphere(radius)
        touch = {'mu': mu, 'mu_kinetic': mu, 'restitution': back}
        machine.contact(Contact(body='ball', shape=ball, surface=plane, **touch))
    return HybridMachine(machine)


def rolling(system: HybridMachine, p: np.ndarray, way: float, speed: float) -> np.ndarray:
    """Return a state that rolls to the wall, which is a way [m] off, at a speed [m/s]."""
    radius = float(p[system.parameters.slice('radius').start])
    return system.state.pack(
        p_WB=[-radius - way, 0, radius], v_WB_W=[speed, 0, 0], w_WB_W=[0, speed / radius, 0]
    )


if __name__ == '__main__':
    from rolling_dynamics.simulation import simulate

    both = ball_and_wall()
    p = both.parameters.pack(radius=0.05, mass=0.3, mu=0.25, restitution=0.5)
    run = simulate(both, p, rolling(both, p, 0.3, 1.5), np.zeros(0), 1.0)
    for event in run.events:
        print(f'{event.time:.4f} s {event.name}: {event.text}')
    print('ball at', run.states[-1][:3])
