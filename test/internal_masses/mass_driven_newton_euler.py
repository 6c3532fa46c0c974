"""
Second derivation: Newton and Euler for each body, with unknown accelerations and forces.

Written for the tests, in the world frame, body by body, with numpy: one linear system for every
acceleration, every force of the actuators and the contact force.
"""

import numpy as np


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]], dtype=float)


def rotation(q):
    w, v = q[0], np.asarray(q[1:])
    return (w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * skew(v)


class Body:
    """A ball and its masses at one instant; everything in W."""

    def __init__(
        self, *, masses, chi, chi_dot, chi_ddot, inertia, radius, q, Omega, gravity, force
    ):
        self.m, self.r = np.asarray(masses, float), radius
        self.R = rotation(np.asarray(q) / np.linalg.norm(q))
        self.w = self.R @ Omega
        self.I = self.R @ inertia @ self.R.T
        self.arm = [self.R @ c for c in chi]
        self.rel_v = [self.R @ c for c in chi_dot]
        self.rel_a = [self.R @ c for c in chi_ddot]
        self.g, self.F = np.asarray(gravity, float), np.asarray(force, float)

    def solve(self, contact):
        """
        Return (dOmega/dt in the body, acceleration of the centre, contact force).

        contact: 'rolling', 'separated', or (direction of slip, mu) for sliding.
        Unknowns: centre 3, angular 3, contact 3, then for each mass its acceleration 3 and the
        force on it 3, and the acceleration of the shell's centre of mass 3.
        """
        n = len(self.m) - 1
        size = 12 + 6 * n
        A, b, row = np.zeros((size, size)), np.zeros(size), 0
        a, w_dot, Fc, a0 = (slice(k, k + 3) for k in (0, 3, 6, 9))
        acc = [a0] + [slice(12 + 6 * i, 15 + 6 * i) for i in range(n)]
        push = [None] + [slice(15 + 6 * i, 18 + 6 * i) for i in range(n)]
        one = np.eye(3)
        for i in range(n + 1):  # kinematics of a point that moves over a turning body
            rows = slice(row, row + 3)
            A[rows, acc[i]] += one
            A[rows, a] -= one
            A[rows, w_dot] += skew(self.arm[i])
            b[rows] = (
                np.cross(self.w, np.cross(self.w, self.arm[i]))
                + 2 * np.cross(self.w, self.rel_v[i])
                + self.rel_a[i]
            )
            row += 3
        for i in range(1, n + 1):  # Newton for each mass
            rows = slice(row, row + 3)
            A[rows, acc[i]] += self.m[i] * one
            A[rows, push[i]] -= one
            b[rows] = self.m[i] * self.g
            row += 3
        rows = slice(row, row + 3)  # Newton for the shell
        A[rows, a0] += self.m[0] * one
        A[rows, Fc] -= one
        for i in range(1, n + 1):
            A[rows, push[i]] += one
        b[rows] = self.m[0] * self.g + self.F
        row += 3
        rows = slice(row, row + 3)  # Euler for the shell, about its centre of mass
        A[rows, w_dot] += self.I
        down = np.array([0, 0, -self.r])
        A[rows, Fc] -= skew(down - self.arm[0])
        for i in range(1, n + 1):
            A[rows, push[i]] += skew(self.arm[i] - self.arm[0])
        b[rows] = np.cross(-self.arm[0], self.F) - np.cross(self.w, self.I @ self.w)
        row += 3
        rows = slice(row, row + 3)
        self._contact(A, rows, contact, a, w_dot, Fc)
        x = np.linalg.solve(A, b)
        return self.R.T @ x[w_dot], x[a], x[Fc]

    def _contact(self, A, rows, contact, a, w_dot, Fc):
        if contact == 'separated':
            A[rows, Fc] = np.eye(3)
        elif contact == 'rolling':  # the contact point of the body does not slip
            A[rows, a] = np.eye(3)
            A[rows, w_dot] = skew(np.array([0, 0, self.r]))  # a - w_dot x r e3
        else:
            direction, mu = contact
            A[rows.start, a.start + 2] = 1.0  # the centre stays at its height
            for k in range(2):
                A[rows.start + 1 + k, Fc.start + k] = 1.0
                A[rows.start + 1 + k, Fc.start + 2] = mu * direction[k]
