"""
Kalman's decomposition of a linear system into controllable and uncontrollable parts.

A rolling object keeps relations between its attitude and its contact point: in the plane the
rolled length, in space relations to first order. Its spin may be uncontrollable. These directions
would make the Riccati equation singular and are removed first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.equilibrium import UNSTABLE

RANK = 1e-8  # fraction of the maximum below which a direction is negligible
LEGIBLE = 1e-6  # fraction of a combination's maximum coefficient below which a term is omitted


@dataclass(frozen=True, eq=False)
class KalmanDecomposition:
    """
    d = V z + W w, where the control moves z and not w.

    Attributes
    ----------
    V
        Orthonormal basis of what can be moved, shape (n, r).
    W
        Basis of a complement, shape (n, n - r); kept by the motion without control wherever
        ``coupling`` is zero.
    take_V, take_W
        z = take_V d, w = take_W d.
    A, B
        z' = A z + B e.
    A_rest
        w' = A_rest w.
    coupling
        Norm of what w does to z; zero where the two can be distinguished.
    names
        Names of the entries of d.

    """

    V: Array
    W: Array
    take_V: Array
    take_W: Array
    A: Array
    B: Array
    A_rest: Array
    coupling: float
    names: tuple[str, ...]

    @property
    def rest_rates(self) -> NDArray[np.complex128]:
        """Eigenvalues of what cannot be moved [1/s], shape (k,)."""
        return np.asarray(np.linalg.eigvals(self.A_rest), dtype=complex)

    @property
    def is_stabilizable(self) -> bool:
        """Return whether nothing that cannot be moved runs away exponentially."""
        rates = self.rest_rates
        return bool(rates.size == 0 or rates.real.max() < UNSTABLE)

    @property
    def vanishing(self) -> Array:
        """Rows of combinations of d that no control moves and that die out, shape (k, n)."""
        from scipy.linalg import schur  # noqa: PLC0415  large

        *_, basis, count = schur(self.A_rest.T, sort=lambda re, im: re < -UNSTABLE)  # noqa: ARG005
        return np.asarray(basis[:, :count].T @ self.take_W)

    def without(self, left_out: NDArray[np.bool_]) -> Array:
        """
        Return rows that give z from d by its other entries, where w is zero; shape (r, n).

        The omitted entries, shape (n,), follow from the others by relations that no control moves.
        """
        taken, relations = self.take_V, self.take_W
        found = np.linalg.pinv(relations[:, left_out]) @ relations
        return np.asarray(taken - taken[:, left_out] @ found)

    def describe(self) -> list[str]:
        """Return the combinations of d that no control moves, one text each."""
        rows = _row_reduced(self.take_W)
        return [_combination(row, self.names) for row in rows]


def kalman_decomposition(
    A: Array, B: Array, names: Sequence[str], matters: Array | None = None
) -> KalmanDecomposition:
    """
    Return the controllable and the uncontrollable part.

    Where the motion keeps several complements, the weights ``matters`` select one. For a ball,
    attitude and contact point are coupled: z can be the contact point with the attitude left free,
    or the reverse.

    Parameters
    ----------
    A, B
        d' = A d + B e, shapes (n, n) and (n, m).
    names
        Names of the entries of d.
    matters
        Weight of each entry of d, shape (n,); equal weights if None.

    """
    n = A.shape[0]
    V = _reachable(A, B)
    r = V.shape[1]
    complement = np.linalg.svd(V.T if r else np.zeros((1, n)))[2][r:].T
    A_z, A_zw, A_w = V.T @ A @ V, V.T @ A @ complement, complement.T @ A @ complement
    # A complement W = complement + V X that the motion keeps: A_z X - X A_w = -A_zw
    X, free, left = _sylvester(A_z, A_w, -A_zw)
    X = _least_weight(X, free, V, complement, np.ones(n) if matters is None else matters)
    W = complement + V @ X
    inverse = np.linalg.inv(np.hstack([V, W]))
    return KalmanDecomposition(
        V=V,
        W=W,
        take_V=inverse[:r],
        take_W=inverse[r:],
        A=A_z,
        B=V.T @ B,
        A_rest=A_w,
        coupling=left,
        names=tuple(names),
    )


def _reachable(A: Array, B: Array) -> Array:
    """Return an orthonormal basis of span(B, A B, A^2 B, ...), grown block by block."""
    n = A.shape[0]
    V = np.zeros((n, 0))
    scale = max(float(np.linalg.norm(A, 2)), 1e-300)
    block = B / max(float(np.linalg.norm(B)), 1e-300)
    while block.shape[1] and V.shape[1] < n:
        for _ in range(2):  # twice is enough against rounding
            block = block - V @ (V.T @ block)
        U, s, _ = np.linalg.svd(block, full_matrices=False)
        new = U[:, s > RANK]
        V = np.hstack([V, new])
        block = A @ new / scale
    return V


def _sylvester(A: Array, C: Array, right: Array) -> tuple[Array, Array, float]:
    """
    Return the solutions of A X - X C = right, as well as it can be met.

    One of them, a basis of what may be added to it (columns are X written column by column), and
    how far it is from being met.
    """
    r, k = right.shape
    if r == 0 or k == 0:
        return np.zeros((r, k)), np.zeros((r * k, 0)), 0.0
    matrix = np.kron(np.eye(k), A) - np.kron(C.T, np.eye(r))
    U, s, Vt = np.linalg.svd(matrix)
    rank = int(np.sum(s > RANK * s[0]))
    wanted = right.T.ravel()
    solution = Vt[:rank].T @ ((U[:, :rank].T @ wanted) / s[:rank])
    left = float(np.linalg.norm(matrix @ solution - wanted))
    X = np.asarray(solution, dtype=float).reshape(k, r).T
    return X, Vt[rank:].T, 0.0 if left < RANK * s[0] else left


def _least_weight(X: Array, free: Array, V: Array, complement: Array, weight: Array) -> Array:
    """Return the solution whose W = complement + V X weighs least."""
    r, k = X.shape
    if free.shape[1] == 0:
        return X
    root = np.sqrt(weight / max(float(weight.max()), 1e-300))
    # what weighs nothing is settled by the plain norm, far below
    rows = np.vstack([root[:, None] * V, 1e-6 * V])
    fixed = np.vstack([root[:, None] * complement, 1e-6 * complement])
    matrix = np.hstack(
        [(rows @ column.reshape(k, r).T).reshape(-1, 1, order='F') for column in free.T]
    )
    start = (fixed + rows @ X).reshape(-1, order='F')
    weights = np.linalg.lstsq(matrix, -start, rcond=None)[0]
    return np.asarray(X + (free @ weights).reshape(k, r).T, dtype=float)


def _row_reduced(rows: Array) -> Array:
    """Return rows of the same span in reduced form: as few entries each as that gives."""
    M = rows.copy()
    k = 0
    for column in range(M.shape[1] - 1, -1, -1):
        if k == M.shape[0]:
            break
        pivot = k + int(np.argmax(np.abs(M[k:, column])))
        if abs(M[pivot, column]) < RANK * np.abs(rows).max():
            continue
        M[[k, pivot]] = M[[pivot, k]]
        M[k] /= M[k, column]
        others = np.arange(M.shape[0]) != k
        M[others] -= np.outer(M[others, column], M[k])
        k += 1
    return M


def _combination(row: Array, names: Sequence[str]) -> str:
    text, scaled = '', row / float(np.abs(row).max())
    for value, name in zip(scaled.tolist(), names, strict=True):
        if abs(value) < LEGIBLE:
            continue
        size = '' if abs(abs(value) - 1) < LEGIBLE else f'{abs(value):.4g} '
        sign = ('- ' if value < 0 else '+ ') if text else ('-' if value < 0 else '')
        text += f'{sign}{size}{name} '
    return text.strip()
