r"""
Equations of controlled motion of the sphere, written once.

Frames: W of the floor, e = z its outward normal; the paper's k is -e. Vectors are expressed in
W. With the contact force N_o on the shell, the force N_t of the pendulum on the shell, the torque
Q on the pendulum (-Q on the shell) and the torque tau_r of the rolling resistance on the shell,

    I dOmega/dt = -R_o e x N_o - Q + tau_r            Ivanova & Pivovarova, Eq. (1)
    M dV/dt     = N_o + N_t + M g
    i domega/dt + j (domega/dt . n) n + j (omega . n) dn/dt = R_t n x N_t + Q      Eq. (2)
    m dv/dt     = m g - N_t
    V = R_o Omega x e,  v = V + R_t omega x n                                      Eq. (3)

The second term of the third line is missing in the printed Eq. (2). Without the reactions,
Eq. (4):

    A dOmega/dt + G domega/dt   = f - Q
    c K' dOmega/dt + D domega/dt = h + Q
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

REST_RATE = 1e-3  # rolling slower than this fraction of sqrt(g / R_o) is resisted in proportion
E = ca.DM([0, 0, 1])


@dataclass(frozen=True, eq=False)
class SphereEquations:
    """
    The linear equations of the angular accelerations at one state.

    Attributes
    ----------
    A, G, f
        Shell: A dOmega + G domega = f - Q.
    C, D, h
        Pendulum: C dOmega + D domega = h + Q.
    n, Omega, omega
        The state.
    params
        Parameters by name.
    direction
        Direction of rolling, against which the rolling resistance acts.

    """

    A: ca.SX
    G: ca.SX
    f: ca.SX
    C: ca.SX
    D: ca.SX
    h: ca.SX
    n: ca.SX
    Omega: ca.SX
    omega: ca.SX
    params: Mapping[str, ca.SX]
    direction: ca.SX

    def accelerations(self, Q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return (dOmega/dt, domega/dt) under a torque Q."""
        p = self.params
        i0 = p['pendulum_inertia'] + p['pendulum_mass'] * p['pendulum_length'] ** 2
        along = 1 / (p['pendulum_inertia'] + p['pendulum_excess']) - 1 / i0

        def freed(v: ca.SX) -> ca.SX:
            """Return D^-1 v."""
            return v / i0 + (along * ca.dot(self.n, v)) * self.n

        pushed = freed(self.h + Q)
        rhs = self.f - Q - self.G @ pushed
        # e is an eigenvector of A - G D^-1 C: the vertical spin of the shell is on its own
        first, second = (self.A[:, k] - self.G @ freed(self.C[:, k]) for k in (0, 1))
        det = first[0] * second[1] - second[0] * first[1]
        x = (second[1] * rhs[0] - second[0] * rhs[1]) / det
        y = (first[0] * rhs[1] - first[1] * rhs[0]) / det
        Omega_rate = ca.vertcat(x, y, rhs[2] / self.A[2, 2])
        return Omega_rate, pushed - freed(x * self.C[:, 0] + y * self.C[:, 1])

    def given_pendulum(self, omega_rate: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return (dOmega/dt, Q) for a given acceleration of the pendulum."""
        rhs = self.f + self.h - (self.G + self.D) @ omega_rate
        S = self.A + self.C  # diagonal but for its last row, whose own entry is I
        first = rhs[0:2] / S[0, 0]
        Omega_rate = ca.vertcat(first, (rhs[2] - S[2, 0:2] @ first) / S[2, 2])
        return Omega_rate, self.C @ Omega_rate + self.D @ omega_rate - self.h

    def given_shell(self, Omega_rate: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return (domega/dt, Q) for a given acceleration of the shell, Eq. (6)."""
        rhs = self.f + self.h - (self.A + self.C) @ Omega_rate
        omega_rate = _solve3(self.G + self.D, rhs)
        return omega_rate, self.C @ Omega_rate + self.D @ omega_rate - self.h

    def reactions(self, Omega_rate: ca.SX, omega_rate: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return (N_o, N_t): forces on the shell from the floor and from the pendulum."""
        p = self.params
        V_rate = p['shell_radius'] * ca.cross(Omega_rate, E)
        v_rate = V_rate + p['pendulum_length'] * (
            ca.cross(omega_rate, self.n) + ca.cross(self.omega, ca.cross(self.omega, self.n))
        )
        N_t = p['pendulum_mass'] * (p['gravity_W'] - v_rate)
        return p['shell_mass'] * (V_rate - p['gravity_W']) - N_t, N_t

    def rolling_torque(self, N_o: ca.SX) -> ca.SX:
        """Return the torque of the rolling resistance on the shell."""
        p = self.params
        return (
            -p['rolling_resistance'] * N_o[2] * self.direction - p['rolling_damping'] * self.Omega
        )


def sphere_equations(
    n: ca.SX, Omega: ca.SX, omega: ca.SX, params: Mapping[str, ca.SX]
) -> SphereEquations:
    """
    Return the equations at a state.

    Parameters
    ----------
    n
        Unit vector from the centre of the shell to the pendulum's centre of mass.
    Omega, omega
        Angular velocities of shell and pendulum [rad/s].
    params
        Parameters by the names of the system's layout.

    Returns
    -------
    SphereEquations
        Eq. (4), with the term that the printed one lacks, on any slope, with rolling resistance.

    """
    M, m = params['shell_mass'], params['pendulum_mass']
    R, L, g = params['shell_radius'], params['pendulum_length'], params['gravity_W']
    i, j = params['pendulum_inertia'], params['pendulum_excess']
    c, eye, nn = m * R * L, ca.SX.eye(3), n @ n.T
    across = ca.diag(ca.DM([1, 1, 0]))  # projection on the floor
    K = n[2] * eye - n @ E.T  # e x (a x n) = K a, and n x (e x a) = -K' a
    swirl = L * ca.cross(omega, ca.cross(omega, n))
    slow = REST_RATE**2 * ca.norm_2(g) / R
    rolling = across @ Omega
    direction = rolling / ca.sqrt(ca.sumsqr(rolling) + slow)
    delta = params['rolling_resistance']
    load = m * swirl[2] - (M + m) * g[2]  # normal force without the part linear in domega/dt
    return SphereEquations(
        A=params['shell_inertia'] * eye + (M + m) * R**2 * across,
        G=c * K + delta * m * L * direction @ ca.cross(n, E).T,
        f=R * ca.cross(E, (M + m) * g - m * swirl)
        - delta * load * direction
        - params['rolling_damping'] * Omega,
        C=c * K.T,
        D=i * eye + j * nn + m * L**2 * (eye - nn),
        h=m * L * ca.cross(n, g - swirl) - j * ca.dot(omega, n) * ca.cross(omega, n),
        n=n,
        Omega=Omega,
        omega=omega,
        params=params,
        direction=direction,
    )


def _solve3(A: ca.SX, b: ca.SX) -> ca.SX:
    """Return the solution of three linear equations by Cramer's rule."""
    a0, a1, a2 = A[:, 0], A[:, 1], A[:, 2]
    det = ca.dot(a0, ca.cross(a1, a2))
    return (
        ca.vertcat(
            ca.dot(b, ca.cross(a1, a2)), ca.dot(a0, ca.cross(b, a2)), ca.dot(a0, ca.cross(a1, b))
        )
        / det
    )
