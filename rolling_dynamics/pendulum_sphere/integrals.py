"""Integrals of free motion on a level floor (Borisov & Mamaev 2012)."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from rolling_dynamics.mechanism.mass import E3 as E


def sphere_integrals(
    n: ca.SX, Omega: ca.SX, omega: ca.SX, p: Mapping[str, ca.SX]
) -> Mapping[str, ca.SX]:
    """
    Return the integrals beside energy, as expressions.

    Parameters
    ----------
    n
        Unit vector from the centre of the shell to the pendulum's centre of mass, in W.
    Omega, omega
        Angular velocities of shell and pendulum in W [rad/s].
    p
        Parameters by the names of the system's layout.

    Returns
    -------
    dict
        ``momentum_x``, ``_y``, ``_z`` of K = I Omega + R_o e x (M V + m v), with
        the paper's k I Omega - R_o k x (M V + m v), which changes at the rate -Q + tau_r on a
        level floor [kg m^2/s]; ``pendulum_spin`` omega . n [rad/s]; ``vertical_momentum``, the
        integral that belongs to turns about the vertical [kg m^2/s].

    """
    M, m, R, L = (p[k] for k in ('shell_mass', 'pendulum_mass', 'shell_radius', 'pendulum_length'))
    i, j, inertia = p['pendulum_inertia'], p['pendulum_excess'], p['shell_inertia']
    V = R * ca.cross(Omega, E)
    v = V + L * ca.cross(omega, n)
    spin = ca.dot(omega, n)
    K = inertia * Omega + R * ca.cross(E, M * V + m * v)
    # of the pendulum about the centre of the shell, with the shell's motion eliminated by K:
    # m v = kappa - a V along the floor, with a = M + I / R_o^2
    a = M + inertia / R**2
    kappa = ca.cross(K, E) / R
    about_centre = i * omega + j * spin * n + m * L * ca.cross(n, v)
    vertical = about_centre[2] - m * L / (a + m) * ca.cross(n, kappa)[2]
    return {
        'momentum_x': K[0],
        'momentum_y': K[1],
        'momentum_z': K[2],
        'pendulum_spin': spin,
        'vertical_momentum': vertical,
    }
