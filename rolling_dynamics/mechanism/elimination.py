"""
Solutions of the linear equations of motion.

Sparse elimination as an expression. Forces that the equations leave undetermined are chosen such
that as many contacts as possible hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca


def eliminate(matrix: ca.SX, right: ca.SX, *, symmetric: bool) -> ca.SX:
    """
    Return the solution of linear equations, without pivoting.

    The unknown whose row has the fewest entries is eliminated first, which is the cheapest. In a
    machine that is a body with the same inertia about every axis.

    Parameters
    ----------
    matrix
        Mass matrix (n, n), whose structural zeros count; positive definite, or close to it.
    right
        Right sides (n, m).
    symmetric
        Whether the matrix is symmetric: half of it is used, as L D L'.

    Returns
    -------
    SX
        Shape (n, m).

    """
    n = matrix.shape[0]
    left = reduced(matrix, right, n, symmetric=n if symmetric else 0)
    return left.whole(ca.SX(0, right.shape[1]))


@dataclass(frozen=True, eq=False)
class Reduced:
    """
    Linear equations for the last of some unknowns.

    Attributes
    ----------
    matrix, right
        The equations (k, k), (k, m).
    whole
        ``remaining unknowns (k, l) -> all (n, l)``, for the first l right sides.

    """

    matrix: ca.SX
    right: ca.SX
    whole: Callable[[ca.SX], ca.SX]


def reduced(matrix: ca.SX, right: ca.SX, first: int, *, symmetric: int) -> Reduced:
    """
    Return the equations without the first unknowns, which are eliminated.

    Parameters
    ----------
    matrix, right
        See :func:`eliminate`.
    first
        Number of unknowns to eliminate.
    symmetric
        Number of leading unknowns whose part of the matrix is symmetric.

    """
    n = matrix.shape[0]
    a = {
        (i, j): matrix[i, j]
        for i in range(n)
        for j in range(n)
        if not (matrix[i, j].is_zero() and matrix[j, i].is_zero())
    }
    b = [right[i, :] for i in range(n)]
    left, order = list(range(n)), list[int]()
    inverse: dict[int, ca.SX] = {}
    for _ in range(first):
        k = min((i for i in left if i < first), key=lambda i: sum((i, j) in a for j in left))
        left.remove(k)
        order.append(k)
        inverse[k] = 1 / a[k, k]
        rows = [i for i in left if (i, k) in a]
        for i in rows:
            factor = (a[k, i] if max(i, k) < symmetric else a[i, k]) * inverse[k]
            b[i] = b[i] - factor * b[k]
            for j in rows:
                if max(i, j) < symmetric and left.index(j) < left.index(i):
                    a[i, j] = a[j, i]
                else:
                    a[i, j] = a.get((i, j), ca.SX(0)) - factor * a[k, j]

    def whole(last: ca.SX) -> ca.SX:
        m = last.shape[1]
        x = dict(zip(left, ca.vertsplit(last), strict=True)) if left else {}
        for at, k in reversed(list(enumerate(order))):
            later = [j for j in (*order[at + 1 :], *left) if (k, j) in a]
            if b[k][:, :m].is_zero():  # these factors are known
                x[k] = -sum((a[k, j] * inverse[k] * x[j] for j in later), ca.SX(1, m))
            else:
                rest = sum((a[k, j] * x[j] for j in later), ca.SX(1, m))
                x[k] = (b[k][:, :m] - rest) * inverse[k]
        return ca.vertcat(*(x[k] for k in range(n)))

    rest = ca.SX(len(left), len(left))
    for (i, j), value in a.items():
        if i in left and j in left:
            rest[left.index(i), left.index(j)] = value
    return Reduced(rest, ca.vertcat(ca.SX(0, right.shape[1]), *(b[i] for i in left)), whole)


REACH = 1e3  # maximum internal force, over the norm of the forces without it
STEPS = 20, 8  # of Newton's method: without internal forces, and for each of them
STEEPER = 20.0  # factor of the weight of the margin, if a step was close to the centre
CENTRED = 2.5  # Newton decrement below which it was
LAST = 1e10  # maximum weight
INLINED = 2  # internal forces up to which steps are inlined; above, a function is called


class Cone(NamedTuple):
    """A contact holds while a force along an axis is at least the norm of those across it."""

    along: ca.SX
    across: ca.SX = ca.SX(0, 1)

    @property
    def margin(self) -> ca.SX:
        """Force along the axis minus the norm of those across [N]; negative outside the cone."""
        return self.along - ca.sqrt(ca.sumsqr(self.across) + 1e-300)


def null_space(matrix: ca.SX, added: ca.SX, count: int) -> ca.SX:
    """
    Return unit vectors (n, count) that a singular matrix maps to zero.

    Parameters
    ----------
    matrix
        With ``added``, whose diagonal is tiny: regular (n, n).
    added
        Matrix that was added (n, n).
    count
        Number of vectors.

    """
    n = matrix.shape[0]
    columns = ca.horzsplit(eliminate(matrix, ca.SX.eye(n), symmetric=False))
    out: list[ca.SX] = []
    for _ in range(count):
        largest = columns[0]
        for column in columns[1:]:
            larger = ca.sumsqr(column) > ca.sumsqr(largest)
            largest = ca.if_else(larger, column, largest)
        out.append(largest / ca.norm_2(largest))
        columns = [c - out[-1] * ca.dot(out[-1], c) for c in columns]
    again = eliminate(matrix, added @ ca.horzcat(*out), symmetric=False)
    return ca.horzcat(*(v / ca.norm_2(v) for v in ca.horzsplit(again)))


def widest(cones: Sequence[Cone], z: ca.SX) -> ca.SX:
    """
    Return the internal forces (m) that maximise the smallest margin.

    The margin t and the forces maximise w t + sum log((along - t)^2 - across^2) + log(1 - z^2/Z^2)
    by Newton's method while w grows (Nesterov & Nemirovskii 1994), all in units of the forces at z
    = 0. The error is at most (2 n + 1) / w of that unit; forces beyond ``REACH`` are excluded. The
    smallest margin at the result is thus a lower bound. If no step improves on z = 0, that is
    returned.

    Parameters
    ----------
    cones
        Friction cones of n contacts, affine in z.
    z
        Symbols of the internal forces (m).

    """
    m = z.numel()
    pieces = [ca.vertcat(c.along, c.across) for c in cones]
    rows = ca.vertcat(*pieces)
    at_zero, slope = ca.substitute([rows, ca.jacobian(rows, z)], [z], [ca.SX.zeros(m)])
    size = ca.sqrt(ca.sumsqr(at_zero) + 1e-300)
    base, by = ca.SX.sym('base', rows.numel()), ca.SX.sym('by', rows.numel(), m)
    y, w = ca.SX.sym('y', m + 1), ca.SX.sym('w')
    reached = ca.vertsplit(base + by @ y[:m], [0, *_ends(pieces)])
    barrier = -w * y[m] - ca.log(1 - ca.sumsqr(y[:m]) / REACH**2)
    for force in reached:
        room = force[0] - y[m]
        barrier -= ca.log(room if force.numel() == 1 else room**2 - ca.sumsqr(force[1:]))
    hessian, gradient = ca.hessian(barrier, y)
    step = -eliminate(hessian, gradient, symmetric=True)
    decrement = ca.sqrt(ca.fmax(-ca.dot(step, gradient), 0))
    heavier = ca.if_else(decrement < CENTRED, ca.fmin(STEEPER * w, LAST), w)
    one = ca.vertcat(y, w, base, ca.vec(by))
    next_one = ca.vertcat(y + step / (1 + decrement), heavier, base, ca.vec(by))
    called = {'never_inline': m > INLINED}
    newton = ca.Function('newton', [one], [next_one], called)
    margins = [Cone(f[0], f[1:]).margin for f in ca.vertsplit(at_zero / size, [0, *_ends(pieces)])]
    least = _least(margins)
    start = ca.vertcat(ca.SX(m, 1), least - 1, 1, at_zero / size, ca.vec(slope))
    y = newton.fold(STEPS[0] + STEPS[1] * m, called)(start)
    ends = ca.vertsplit(at_zero / size + slope @ y[:m], [0, *_ends(pieces)])
    better = _least([Cone(f[0], f[1:]).margin for f in ends]) > least
    return ca.if_else(better, size * y[:m], ca.SX(m, 1))


def _ends(pieces: Sequence[ca.SX]) -> list[int]:
    out = [0]
    for piece in pieces:
        out.append(out[-1] + piece.numel())
    return out[1:]


def _least(margins: Sequence[ca.SX]) -> ca.SX:
    out = margins[0]
    for margin in margins[1:]:
        out = ca.fmin(out, margin)
    return out
