"""What the paper's sphere is among general surfaces, and its Eqs. (4), (5)."""

import math

import casadi as ca
from evidence.papers.tafrishi import InducedCurvature
import numpy as np
from rolling_dynamics.spin_rolling_sphere.system import POLE, TURN
from rolling_dynamics.surfaces import Surface
from rolling_dynamics.surfaces.surface import Chart

PSI_OFFSET = math.pi  # the general contact kinematics count psi from the opposite direction
NONE = InducedCurvature(0.0, 0.0, 0.0)


def sphere_surface(radius):
    """
    Return the sphere with the chart of the paper, touched from outside.

    Parameters
    ----------
    radius
        Radius [m], positive.

    Returns
    -------
    Surface
        Tafrishi et al., Eq. (1).

    """
    R, uv = ca.SX.sym('radius'), ca.SX.sym('uv', 2)
    u, v = uv[0], uv[1]
    position = R * ca.vertcat(-ca.sin(u) * ca.cos(v), ca.sin(v), -ca.cos(u) * ca.cos(v))
    chart = Chart(
        name='paper',
        coordinates=uv,
        position=position,
        bounds=((-math.inf, math.inf), (-POLE, POLE)),
        periods=(TURN, None),
        inverse=lambda point, values: (
            ca.atan2(-point[0], -point[2]),
            ca.asin(ca.fmin(ca.fmax(point[1] / values[0], -1), 1)),
        ),
    )
    return Surface(
        name='sphere',
        parameters=R,
        values={'radius': float(radius)},
        charts=(chart,),
        support=lambda n: R * ca.norm_2(n),
    )


def relative_angular_velocity(moving, fixed, virtual=NONE, delta=1.0):
    """
    Return the angular velocity of the moving body in the Darboux frame, Eqs. (4), (5).

    Parameters
    ----------
    moving, fixed
        Induced curvatures of both contact paths about the common normal: ``inward`` for the
        moving body, ``outward`` for the fixed one.
    virtual
        (gamma_s, beta_s, alpha_s) of the virtual surface.
    delta
        Rolling rate ds/dt [m/s].

    Returns
    -------
    NDArray
        Components along e_1, e_2, e_3 [rad/s].

    """
    k_n = moving.k_n - fixed.k_n - virtual.k_n
    tau_g = moving.tau_g - fixed.tau_g - virtual.tau_g
    k_g = moving.k_g - fixed.k_g - virtual.k_g
    return delta * np.array([-tau_g, k_n, -k_g])
