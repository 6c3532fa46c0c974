"""Contact systems and states drawn at random, for the tests of this folder."""

import numpy as np
from oracles.implicit_surfaces import (
    ImplicitCylinder,
    ImplicitEllipsoid,
    ImplicitPlane,
    ImplicitSphere,
    ImplicitTorus,
)
from oracles.maximal_coordinates import MaximalModel, MaximalState
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.surfaces import Cylinder, Ellipsoid, Plane, Sphere, Torus

MASS = 0.7
GRAVITY = np.array([0.3, -0.4, -9.7])
INERTIA = np.array([[3.1, 0.2, -0.1], [0.2, 2.4, 0.3], [-0.1, 0.3, 1.9]]) * 1e-3

# object, hand, and the same two as implicit surfaces
PAIRS = {
    'sphere on plane': (Sphere(0.2), Plane(), ImplicitSphere(0.2), ImplicitPlane()),
    'ellipsoid on plane': (
        Ellipsoid(0.2, 0.3, 0.15), Plane(), ImplicitEllipsoid((0.2, 0.3, 0.15)), ImplicitPlane(),
    ),
    'ellipsoid in dish': (
        Ellipsoid(0.2, 0.3, 0.15), Ellipsoid(1.0, 1.3, 0.9, side='inside'),
        ImplicitEllipsoid((0.2, 0.3, 0.15)), ImplicitEllipsoid((1.0, 1.3, 0.9), cavity=True),
    ),
    'ellipsoid on ellipsoid': (
        Ellipsoid(0.2, 0.3, 0.15), Ellipsoid(0.7, 0.5, 0.4),
        ImplicitEllipsoid((0.2, 0.3, 0.15)), ImplicitEllipsoid((0.7, 0.5, 0.4)),
    ),
    'ellipsoid on torus': (
        Ellipsoid(0.1, 0.15, 0.08), Torus(0.8, 0.3),
        ImplicitEllipsoid((0.1, 0.15, 0.08)), ImplicitTorus(0.8, 0.3),
    ),
    'ellipsoid on cylinder': (
        Ellipsoid(0.1, 0.15, 0.08), Cylinder(0.6),
        ImplicitEllipsoid((0.1, 0.15, 0.08)), ImplicitCylinder(0.6),
    ),
}  # fmt: skip


def unit_quaternion(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def system_of(name, friction='rolling', representation='attitude'):
    obj, hand, *_ = PAIRS[name]
    return ContactSystem(obj, hand, friction=friction, representation=representation)


def parameters_of(system, **changes):
    given = {'mass': MASS, 'inertia': INERTIA, 'gravity_W': GRAVITY, 'mu': 0.8, 'mu_spin': 0.1}
    return system.pack_parameters(**(given | changes))


def random_state(system, p, rng):
    """Return a state of the attitude representation, on the constraints."""
    x = system.state.pack(
        q_WH=unit_quaternion(rng),
        p_WH=rng.normal(size=3),
        q_HO=unit_quaternion(rng),
        contact_h=rng.uniform(0.5, 1.2, 2),
        w_WH_H=rng.normal(size=3),
        v_WH_H=rng.normal(size=3),
        w_HO_H=rng.normal(size=3),
    )
    return np.array(system.projection(x, p)).ravel()


def maximal_model(name, friction='rolling'):
    *_, obj, hand = PAIRS[name]
    return MaximalModel(
        object_surface=obj,
        hand_surface=hand,
        mass=MASS,
        inertia=INERTIA,
        gravity_W=GRAVITY,
        friction=friction,
    )


def poses_and_twists(system, p, x):
    """Return poses in the world and twists in their own frames, of hand and object in turn."""
    values = system.state.unpack(x)
    X_WH, X_WO, _ = map(np.array, system.pose(x, p))
    w_O, v_O = (np.array(v).ravel() for v in system.object_twist(x, p))
    return X_WH, (values['w_WH_H'], values['v_WH_H']), X_WO, (w_O, v_O)


def maximal_state(system, p, x):
    X_WH, (w_H, v_H), X_WO, (w_O, v_O) = poses_and_twists(system, p, x)
    contact = np.array(system.pose(x, p)[2])
    R_WO = X_WO[:3, :3]
    return MaximalState(
        R_WH=X_WH[:3, :3],
        p_WH=X_WH[:3, 3],
        w_WH_H=w_H,
        v_WH_H=v_H,
        R_WO=R_WO,
        p_WO=X_WO[:3, 3],
        w_WO_W=R_WO @ w_O,
        v_WO_W=R_WO @ v_O,
        p_WC=contact[:3, 3],
    )


def level_ball(radius=0.2, mass=0.1, hand=None, **options):
    """A homogeneous ball, at rest on a plate at rest unless set otherwise."""
    system = ContactSystem(Sphere(radius), hand or Plane(), **options)
    p = system.pack_parameters(mass=mass, inertia=0.4 * mass * radius**2, mu=1.0, mu_spin=1.0)
    return system, p


def ball_state(system, **values):
    given = {
        'q_WH': [1, 0, 0, 0],
        'p_WH': [0, 0, 0],
        'q_HO': [1, 0, 0, 0],
        'contact_h': [0, 0],
        'w_WH_H': [0, 0, 0],
        'v_WH_H': [0, 0, 0],
        'w_HO_H': [0, 0, 0],
    }
    return system.state.pack(**(given | values))
