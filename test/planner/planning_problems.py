"""Planning problems that several tests share."""

from evidence.benchmarks.plans import TABLE_II
import numpy as np
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.inertia import solid_ellipsoid_inertia
from rolling_dynamics.surfaces import Ellipsoid, Plane, Sphere
from rolling_planner import PlanProblem, Weights

TILT = ('alpha_WH_H_x', 'alpha_WH_H_y')
TRANSLATION = ('a_WH_H_x', 'a_WH_H_y', 'a_WH_H_z')
LEVEL = {
    'q_WH': [1, 0, 0, 0],
    'p_WH': [0, 0, 0],
    'w_WH_H': [0, 0, 0],
    'v_WH_H': [0, 0, 0],
}


def turn(axis, angle):
    """Return the quaternion of a rotation about a coordinate axis."""
    q = np.zeros(4)
    q[0], q[1 + 'xyz'.index(axis)] = np.cos(angle / 2), np.sin(angle / 2)
    return q


def ball(radius=0.1, mass=0.1, hand=None, mu=1.0, mu_spin=0.0, **options):
    """Return a solid ball on a hand, and its parameters."""
    system = ContactSystem(Sphere(radius), hand or Plane(), **options)
    p = system.pack_parameters(mass=mass, inertia=0.4 * mass * radius**2, mu=mu, mu_spin=mu_spin)
    return system, p


def at_rest(system, **values):
    """Return the state at rest on a level hand."""
    layout = system.state
    if 'q_HO' in layout:
        rest = {'q_HO': [1, 0, 0, 0], 'contact_h': [0, 0], 'w_HO_H': [0, 0, 0]}
    else:
        rest = {'contact_o': [np.pi / 2, 0], 'contact_h': [0, 0], 'psi': 0, 'w_HO_Ch': [0, 0, 0]}
    return layout.pack(**{**LEVEL, **rest, **values})


def reorientation(radius=0.1, mu=1.0, **options):
    """Return the problem of Fig. 9: 33 mm along -y, turned by pi/2 about x, in 2 s."""
    system, p = ball(radius, mu=mu)
    return PlanProblem(
        **{
            'system': system,
            'p': p,
            'x_start': at_rest(system),
            'goal': {'contact_h': [0, -0.033], 'q_HO': turn('x', np.pi / 2)},
            'horizon': 2.0,
            'active_controls': TILT,
            'control_limits': 50.0,
            **options,
        }
    )


def published(radius=0.033 / (np.pi / 2), **options):
    """Return the same problem with the settings of Table II."""
    system, p = ball(radius, representation='coordinates')
    return PlanProblem(
        **{
            'system': system,
            'p': p,
            'x_start': at_rest(system),
            'goal': {'contact_h': [0, -0.033], 'contact_o': [np.pi / 2, np.pi / 2], 'psi': 0},
            'horizon': 2.0,
            'active_controls': TILT,
            'control_limits': 50.0,
            'goal_tolerance': 0.1,
            'method': 'trapezoidal',
            'segments': 50,
            'refinements': 3,
            'guess': 'stationary',
            'goal_mode': 'terminal_weight',
            'weights': Weights(
                view='chart',
                control=1e-3,
                tracking={k: w / 100 for k, w in TABLE_II.items()},
                terminal={k: w * 1000 for k, w in TABLE_II.items()},
            ),
            **options,
        }
    )


def ellipsoid_on_plate(**options):
    """Return an ellipsoid that lies on a plate and is to be turned about the vertical axis."""
    semi = (0.12, 0.1, 0.08)
    system = ContactSystem(Ellipsoid(*semi), Plane())
    mass = 0.3
    p = system.pack_parameters(mass=mass, inertia=solid_ellipsoid_inertia(mass, *semi))
    return PlanProblem(
        **{
            'system': system,
            'p': p,
            'x_start': at_rest(system),
            'goal': {'contact_h': [0.05, 0.03], 'q_HO': turn('z', 0.3)},
            'horizon': 2.0,
            'active_controls': TILT,
            'control_limits': 100.0,
            **options,
        }
    )


def ball_in_dish(object_surface=None, **options):
    """Return a body that starts at rest at the bottom of a bowl and ends there, turned."""
    mass, radius = 0.1, 0.05
    body = object_surface or Sphere(radius)
    semi = [body.values[k] for k in body.values] * (3 if len(body.values) == 1 else 1)
    system = ContactSystem(body, Sphere(0.4, side='inside', pole='x'))
    p = system.pack_parameters(mass=mass, inertia=solid_ellipsoid_inertia(mass, *semi))
    bottom = system.hand_surface.locate([0, 0, -0.4])
    return PlanProblem(
        **{
            'system': system,
            'p': p,
            'x_start': at_rest(system, contact_h=bottom),
            'goal': {'contact_h': bottom, 'q_HO': turn('z', 0.4)},
            'horizon': 2.5,
            'active_controls': TILT,
            'control_limits': 100.0,
            **options,
        }
    )
