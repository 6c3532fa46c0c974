"""Energy and the integrals of free motion on a level floor (Borisov & Mamaev 2012)."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from rolling_dynamics.pendulum_sphere.equations import E, SphereEquations


def sphere_integrals(equations: SphereEquations, contact: ca.SX) -> Mapping[str, ca.SX]:
    """
    Return energy and integrals as expressions.

    Parameters
    ----------
    equations
        The equations at a state.
    contact
        Contact point, 2 numbers; on a slope the energy depends on it.

    Returns
    -------
    dict
        ``energy`` [J]; ``momentum_x``, ``_y``, ``_z`` of K = I Omega + R_o e x (M V + m v), with
        the paper's k I Omega - R_o k x (M V + m v), which changes at the rate -Q + tau_r on a
        level floor [kg m^2/s]; ``pendulum_spin`` omega . n [rad/s]; ``vertical_momentum``, the
        integral that belongs to turns about the vertical [kg m^2/s].

    """
    p, n, Omega, omega = equations.params, equations.n, equations.Omega, equations.omega
    M, m, R, L = (p[k] for k in ('shell_mass', 'pendulum_mass', 'shell_radius', 'pendulum_length'))
    i, j, inertia = p['pendulum_inertia'], p['pendulum_excess'], p['shell_inertia']
    V = R * ca.cross(Omega, E)
    v = V + L * ca.cross(omega, n)
    spin = ca.dot(omega, n)
    centre = ca.vertcat(contact, R)
    kinetic = (
        M * ca.sumsqr(V)
        + inertia * ca.sumsqr(Omega)
        + m * ca.sumsqr(v)
        + i * ca.sumsqr(omega)
        + j * spin**2
    ) / 2
    potential = -ca.dot(p['gravity_W'], (M + m) * centre + m * L * n)
    K = inertia * Omega + R * ca.cross(E, M * V + m * v)
    # of the pendulum about the centre of the shell, with the shell's motion eliminated by K:
    # m v = kappa - a V along the floor, with a = M + I / R_o^2
    a = M + inertia / R**2
    kappa = ca.cross(K, E) / R
    about_centre = i * omega + j * spin * n + m * L * ca.cross(n, v)
    vertical = about_centre[2] - m * L / (a + m) * ca.cross(n, kappa)[2]
    return {
        'energy': kinetic + potential,
        'momentum_x': K[0],
        'momentum_y': K[1],
        'momentum_z': K[2],
        'pendulum_spin': spin,
        'vertical_momentum': vertical,
    }
