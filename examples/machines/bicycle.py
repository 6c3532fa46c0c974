"""
The bicycle of the benchmark of Meijaard, Papadopoulos, Ruina and Schwab (2007).

Two frames and two knife-edge wheels: the rear frame is free, the front frame turns on the
steering axis, both wheels roll on the floor z = 0. x points forwards and z up, the paper's y and z
reversed.
"""

import math

import casadi as ca
import numpy as np
from rolling_dynamics.contract.layout import Entry, quaternion_entry, vector_entry
from rolling_dynamics.mechanism import (
    Contact,
    Free,
    Machine,
    MachineSystem,
    Revolute,
    Revolution,
    Solid,
    Wheel,
)

WHEEL_BASE, TRAIL, TILT = 1.02, 0.08, math.pi / 10
REAR, FRONT = 0.3, 0.35  # radii


def bicycle() -> MachineSystem:
    """Return the bicycle; its control is the torque of the rider's arms on the front frame."""
    machine = Machine('bicycle')
    frame = Free(
        position=vector_entry('p_WB', 'm', 'W', 'centre of the rear wheel'),
        attitude=quaternion_entry('q_WB', 'attitude of the rear frame'),
        velocity=vector_entry('v_WB_W', 'm/s', 'W'),
        speed=vector_entry('w_WB_B', 'rad/s', 'B'),
    )
    rear_body = Solid(
        ca.SX(85.0), ca.DM([[9.2, 0, -2.4], [0, 11, 0], [-2.4, 0, 2.8]]), ca.DM([0.3, 0, 0.6])
    )
    front_body = Solid(
        ca.SX(4.0),
        ca.DM([[0.05892, 0, 0.00756], [0, 0.06, 0], [0.00756, 0, 0.00708]]),
        ca.DM([0.9 - WHEEL_BASE - TRAIL, 0, 0.7]),
    )
    up = [-math.sin(TILT), 0.0, math.cos(TILT)]
    steering = Revolute.named('steer', up, [WHEEL_BASE + TRAIL, 0, -REAR])
    across = ca.DM([0, 1, 0])
    rear = Revolution(ca.SX(2.0), ca.SX(0.0603), 0.12 - 0.0603, axis=across)
    front = Revolution(ca.SX(3.0), ca.SX(0.1405), 0.28 - 0.1405, axis=across)
    machine.body('frame', frame, rear_body)
    machine.body('rear', Revolute.named('rear', [0, 1, 0], [0, 0, 0]), rear, on='frame')
    machine.body('fork', steering, front_body, on='frame')
    machine.body('front', Revolute.named('front', [0, 1, 0], [-TRAIL, 0, FRONT]), front, on='fork')
    machine.contact(Contact(body='rear', shape=Wheel(ca.SX(REAR))))
    machine.contact(Contact(body='front', shape=Wheel(ca.SX(FRONT))))
    torque = machine.control(Entry('torque', ('torque',), 'N m', text='on the front frame'))
    machine.torque(torque * ca.DM(up), on='fork', reaction='frame', frame='frame')
    return MachineSystem(machine)


def upright(system: MachineSystem, speed: float) -> np.ndarray:
    """Return the state of the bicycle that rides straight on, at a speed [m/s]."""
    return system.state.pack(
        p_WB=[0, 0, REAR],
        v_WB_W=[speed, 0, 0],
        rear_rate=speed / REAR,
        front_rate=speed / FRONT,
    )


if __name__ == '__main__':
    from rolling_dynamics.simulation import simulate

    riding = bicycle()
    start = upright(riding, 5.0)
    start[riding.state.slice('w_WB_B')] = [0.3, 0, 0]  # a push to the side
    start = np.array(riding.projection(start, [])).ravel()
    run = simulate(riding, np.zeros(0), start, np.zeros(1), 3.0)
    print('ends at', run.states[-1][:3], run.events)
