"""
A cylinder that rolls in a round trough, driven by a rotor on its axis.

W has its origin at the bottom of the trough, whose axis is along y, and z points up.
"""

import casadi as ca
import numpy as np
from rolling_dynamics.contract import difference, Entry, Layout, Mode, retraction, tangent_layout
from rolling_dynamics.contract.rolling_system import RigidBody
from rolling_dynamics.rotations import homogeneous

STATE = Layout(
    (
        Entry('place', ('place',), 'rad', kind='angle', scale=0.1, text='of the axis'),
        Entry('rotor', ('rotor',), 'rad', kind='angle', text='turn of the rotor about y'),
        Entry('place_rate', ('place_rate',), 'rad/s'),
        Entry('rotor_rate', ('rotor_rate',), 'rad/s', scale=10.0),
    )
)
UNITS = {
    'radius': 'm',
    'trough_radius': 'm',
    'mass': 'kg',
    'inertia': 'kg m^2',
    'rotor_mass': 'kg',
    'rotor_inertia': 'kg m^2',
    'mu': '',
    'gravity': 'm/s^2',
}


class RotorCylinder:
    """The system; its parameters are named in ``UNITS``, the control is the rotor's torque."""

    name, independent_variable, model_hash = 'rotor_cylinder', 'time', 'rotor-cylinder-1'
    state, control = STATE, Layout((Entry('torque', ('torque',), 'N m', scale=0.01),))
    parameters = Layout(tuple(Entry(name, (name,), unit) for name, unit in UNITS.items()))
    tangent = tangent_layout(STATE)
    retract, difference = retraction(STATE, tangent), difference(STATE)

    def __init__(self) -> None:
        """Write out the equations."""
        x, u, t, p = (ca.SX.sym(name, k) for name, k in {'x': 4, 'u': 1, 't': 1, 'p': 8}.items())
        angle, turn, rate, turn_rate = ca.vertsplit(x)
        r, trough, m, J, m_r, J_r, mu, g = ca.vertsplit(p)
        arm, M = trough - r, m + m_r  # the axis is on a circle of radius arm
        pull = -M * g * ca.sin(angle) - u / r  # the rotor's torque reacts on the cylinder
        speed_rate = pull / (M + J / r**2)  # of the axis along its circle
        friction = M * (speed_rate + g * ca.sin(angle))
        normal = M * (g * ca.cos(angle) + arm * rate**2)

        def function(name: str, *values: ca.SX) -> ca.Function:
            return ca.Function(name, [x, u, t, p], [ca.vertcat(*values)])

        self.modes = {
            'rolling': Mode(
                dynamics=function('dynamics', rate, turn_rate, speed_rate / arm, u / J_r),
                wrench=function('wrench', 0, 0, 0, friction, 0, normal),
                guards={
                    'normal_force': function('normal_force', normal),
                    'friction': function('friction', mu * normal - ca.fabs(friction)),
                },
            )
        }
        spin = arm * rate / r
        energy = (M * (arm * rate) ** 2 + J * spin**2 + J_r * turn_rate**2) / 2
        energy += M * g * arm * (1 - ca.cos(angle))
        self.invariants = {'energy': function('energy', energy)}
        along = ca.vertcat(ca.sin(angle), 0, -ca.cos(angle))  # from the trough's axis
        axis = arm * along + ca.vertcat(0, 0, trough)
        contact = homogeneous(about_y(-angle), axis + r * along)
        rolled = homogeneous(about_y(arm * angle / r), axis)
        poses = [rolled, homogeneous(about_y(turn), axis), contact]
        bodies = ['cylinder', 'rotor', 'contact']
        self.pose = ca.Function('pose', [x, p], poses, ['x', 'p'], bodies)
        self.contact_frame = ca.Function('contact_frame', [x, p], [contact])

    def rigid_bodies(self, p: np.ndarray) -> dict[str, RigidBody]:
        """Return masses and inertias; about other axes than y nothing depends on them."""
        pairs = {'cylinder': p[2:4], 'rotor': p[4:6]}
        return {
            name: RigidBody(mass=m, centre=np.zeros(3), inertia=J * np.eye(3))
            for name, (m, J) in pairs.items()
        }

    def gravity(self, p: np.ndarray) -> np.ndarray:
        """Return gravity in W [m/s^2]."""
        return np.array([0.0, 0.0, -p[-1]])


def about_y(angle: ca.SX) -> ca.SX:
    """Return the rotation about y by an angle [rad]."""
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(ca.horzcat(c, 0, s), ca.horzcat(0, 1, 0), ca.horzcat(-s, 0, c))
