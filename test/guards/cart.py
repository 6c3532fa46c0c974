"""A cart on a line whose guards a test chooses: the smallest system that plans can be for."""

from types import MappingProxyType, SimpleNamespace

import casadi as ca
import numpy as np
from rolling_dynamics.contract import Entry, Layout, Mode, tangent_layout
from rolling_dynamics.contract.rolling_system import difference, retraction
from rolling_dynamics.rotations import rate_body, rotation_matrix
from rolling_planner import Plan


class Cart:
    """A mass at s with speed v; the control u is its acceleration."""

    name, independent_variable, model_hash = 'cart', 'time', '1'
    state = Layout((Entry('s', ('s',), 'm'), Entry('v', ('v',), 'm/s')))
    control = Layout((Entry('u', ('u',), 'm/s^2'),))
    parameters = Layout((Entry('end', ('end',), 'm'),))
    invariants = MappingProxyType({})
    tangent = tangent_layout(state)
    retract, difference = retraction(state, tangent), difference(state)

    def __init__(self, **guards):
        """Take guards by name, as functions of what has the attributes s, v, u, t and end."""
        x, u, t, p = given = [ca.SX.sym(n, k) for n, k in zip('xutp', (2, 1, 1, 1), strict=True)]

        def function(value):
            return ca.Function('f', given, [ca.densify(ca.vertcat(value))])

        here = SimpleNamespace(s=x[0], v=x[1], u=u, t=t, end=p[0])
        self.pose = ca.Function('pose', [x, p], [ca.SX.eye(4)])
        self.modes = {
            'rolling': Mode(
                dynamics=function(ca.vertcat(x[1], u)),
                guards={name: function(guard(here)) for name, guard in guards.items()},
            )
        }


P = np.array([1.0])


def plan_of(times, controls, start=(0.0, 0.0), **given):
    """Return a plan for a cart; its states are those of the start and then not looked at."""
    states = np.zeros((len(times), 2))
    states[0] = start
    values = {
        'system': 'cart',
        'model_hash': '1',
        'state_names': ('s', 'v'),
        'control_names': ('u',),
        'times': times,
        'states': states,
        'controls': np.reshape(controls, (-1, 1)),
    }
    return Plan(**(values | given))


class Carried(Cart):
    """A cart that rolls freely over a hand, within its end, and is lifted off like a stone."""

    name = 'carried'
    state = Layout(
        (
            *Cart.state.entries,
            Entry('q_WH', ('q_w', 'q_x', 'q_y', 'q_z'), '', kind='quaternion'),
            Entry('p_WH', ('p_x', 'p_y', 'p_z'), 'm'),
            Entry('w_WH_H', ('w_x', 'w_y', 'w_z'), 'rad/s'),
            Entry('v_WH_H', ('v_x', 'v_y', 'v_z'), 'm/s'),
        )
    )
    control = Layout(
        (
            Entry('alpha_WH_H', ('alpha_x', 'alpha_y', 'alpha_z'), 'rad/s^2'),
            Entry('a_WH_H', ('a_x', 'a_y', 'a_z'), 'm/s^2'),
        )
    )
    tangent = tangent_layout(state)
    retract, difference = retraction(state, tangent), difference(state)

    def __init__(self):
        """Watch the end of the hand, and the force between hand and cart."""
        given = [ca.SX.sym(n, k) for n, k in zip('xutp', (15, 6, 1, 1), strict=True)]
        x, u, _, p = given
        q, w, v, a = x[2:6], x[9:12], x[12:15], u[3:]
        rates = [x[1], 0, rate_body(q, w), rotation_matrix(q) @ v, u[:3], a - ca.cross(w, v)]
        guards = {'edge': p[0] - x[0], 'normal_force': 10 + a[2]}
        self.pose = ca.Function('pose', [x, p], [ca.SX.eye(4)])
        self.modes = {
            'rolling': Mode(
                dynamics=ca.Function('f', given, [ca.densify(ca.vertcat(*rates))]),
                guards={k: ca.Function(k, given, [g]) for k, g in guards.items()},
            )
        }
