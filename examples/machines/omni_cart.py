"""
A cart on three omni wheels, which it drives: it moves along every way and turns.

The rollers on the rims are ideal: they leave the way along the axis of a wheel free.
"""

import math

import casadi as ca
import numpy as np
from rolling_dynamics.contract.layout import quaternion_entry, vector_entry
from rolling_dynamics.mechanism import (
    Contact,
    Free,
    Machine,
    MachineSystem,
    Revolute,
    Revolution,
    Wheel,
)

RADIUS, REACH = 0.05, 0.15  # m: of a wheel, and of its middle from that of the cart
CART, CART_INERTIA, WHEEL = 4.0, 0.04, 0.2  # kg, kg m^2, kg
WHEEL_INERTIA = WHEEL * RADIUS**2 / 2  # kg m^2, about the axle
ANGLES = [2 * math.pi * k / 3 for k in range(3)]  # of the axles from x


def omni_cart(rollers: float = 0.0) -> MachineSystem:
    """Return the cart, with the rollers of its wheels at an angle; controls are their torques."""
    machine = Machine('omni_cart')
    mu = machine.parameter('mu', '', 'coefficient of static friction')
    cart = Free(
        position=vector_entry('p_WC', 'm', 'W', 'middle of the cart, as high as the axles'),
        attitude=quaternion_entry('q_WC', 'attitude of the cart'),
        velocity=vector_entry('v_WC_W', 'm/s', 'W'),
        speed=vector_entry('w_WC_C', 'rad/s', 'C'),
    )
    machine.body('cart', cart, Revolution(ca.SX(CART), ca.SX(CART_INERTIA)))
    torque = machine.control(vector_entry('torque', 'N m', '', 'of the motors', '123'))
    for k, a in enumerate(ANGLES):
        name, axis = f'wheel_{k + 1}', [math.cos(a), math.sin(a), 0.0]
        axle = ca.DM(axis)
        roller = Revolution(ca.SX(WHEEL), WHEEL_INERTIA / 2, WHEEL_INERTIA / 2, axis=axle)
        hinge = Revolute.named(name, axis, [REACH * x for x in axis])
        machine.body(name, hinge, roller, on='cart')
        rim = Wheel(ca.SX(RADIUS), side=axle)
        machine.contact(Contact(body=name, shape=rim, rollers=rollers, mu=mu))
        machine.torque(torque[k] * axle, on=name, reaction='cart', frame='cart')
    return MachineSystem(machine)


if __name__ == '__main__':
    from rolling_dynamics.simulation import simulate

    cart = omni_cart()
    start = cart.state.pack(p_WC=[0, 0, RADIUS])
    run = simulate(cart, np.array([0.8]), start, np.array([0.02, -0.01, -0.01]), 2.0)
    print('the cart is at', run.states[-1][:3], run.events)
