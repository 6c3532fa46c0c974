"""An axis over the frames to come: what its start and its controls make, and deviations cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Horizon:
    """
    States after each frame, ``free @ start + forced @ controls``.

    Attributes
    ----------
    free, forced
        Shapes (frames, n, n) and (frames, n, frames).

    """

    def __init__(self, A: Array, B: Array, frames: int) -> None:
        """Condense ``x' = A x + B u`` of a frame; A and B have the shapes (n, n) and (n,)."""
        powers = [np.eye(len(A))]
        for _ in range(frames):
            powers.append(A @ powers[-1])
        self.free = np.array(powers[1:])
        self.forced = np.zeros((frames, len(A), frames))
        for k in range(frames):
            for j in range(k + 1):
                self.forced[k, :, j] = powers[k - j] @ B

    def cost(
        self, outputs: Array, scales: Sequence[float], effort: float, late: ArrayLike = 1.0
    ) -> tuple[list[Array], Array]:
        """
        Return what a deviation of each output adds to the gradient, and the Hessian.

        Parameters
        ----------
        outputs
            Output from state, shape (m, n).
        scales, effort
            Deviations that count as one: of the outputs, and of a control.
        late
            Weight of each frame, shape (frames,).

        """
        rows = [output @ self.forced for output in outputs]
        weights = np.broadcast_to(late, len(self.free))[:, None]
        gradients = [(weights * r / s**2).T for r, s in zip(rows, scales, strict=True)]
        H = sum(G @ r for G, r in zip(gradients, rows, strict=True))
        return gradients, np.ascontiguousarray(H + np.eye(len(self.free)) / effort**2)
