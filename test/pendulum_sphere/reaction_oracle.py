"""
Second derivation of the sphere's dynamics: every reaction an unknown, nothing eliminated.

Newton and Euler for each body and the constraints differentiated, 18 linear equations for the
accelerations (dOmega, domega, dV, dv) and the reactions (N_o, N_t). Shares no code with the suite.
"""

import numpy as np

E = np.array([0.0, 0.0, 1.0])


def cross_matrix(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def accelerations_and_reactions(n, Omega, omega, Q, params, gravity, *, as_printed=False):
    """Return dOmega, domega, dV, dv, N_o, N_t; ``as_printed`` leaves j (domega . n) n out."""
    M, R = params.shell_mass, params.shell_radius
    m, L = params.pendulum_mass, params.pendulum_length
    i, j = params.pendulum_inertia, params.pendulum_excess
    slow = 1e-3**2 * np.linalg.norm(gravity) / R
    flat = Omega * [1, 1, 0]
    direction = flat / np.sqrt(flat @ flat + slow)
    one, zero = np.eye(3), np.zeros((3, 3))
    n_dot = np.cross(omega, n)
    spin = omega @ n
    axial = zero if as_printed else j * np.outer(n, n)
    resist = params.rolling_resistance * np.outer(direction, E)  # torque -resist N_o
    rows = [
        # I dOmega + (R E + resist) x N_o = -Q - b Omega
        (
            [params.shell_inertia * one, zero, zero, zero, R * cross_matrix(E) + resist, zero],
            -Q - params.rolling_damping * Omega,
        ),
        ([zero, zero, M * one, zero, -one, -one], M * gravity),
        ([zero, i * one + axial, zero, zero, zero, -L * cross_matrix(n)], Q - j * spin * n_dot),
        ([zero, zero, zero, m * one, zero, one], m * gravity),
        ([R * cross_matrix(E), zero, one, zero, zero, zero], np.zeros(3)),
        ([zero, L * cross_matrix(n), -one, one, zero, zero], L * np.cross(omega, n_dot)),
    ]
    matrix = np.block([blocks for blocks, _ in rows])
    right = np.concatenate([r for _, r in rows])
    return np.split(np.linalg.solve(matrix, right), 6)
