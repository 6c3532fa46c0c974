"""Shortest polylines past circles: Dijkstra's algorithm on a visibility graph."""

from __future__ import annotations

from collections.abc import Sequence
import heapq

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_planner.gait_planner.problem import Circle

CORNERS = 10  # of the polygon around a circle


class VisibilityGraph:
    """Polygons around circles, and which of their corners see each other."""

    def __init__(self, circles: Sequence[Circle], keep_off: float) -> None:
        """
        Build the graph.

        Parameters
        ----------
        circles
            Obstacles.
        keep_off
            Distance kept from their rims [m].

        """
        self.centers = np.array([c.center for c in circles], dtype=float).reshape(-1, 2)
        self.radii = np.array([c.radius + keep_off for c in circles])
        turn = 2 * np.pi * np.arange(CORNERS) / CORNERS
        ring = np.column_stack([np.cos(turn), np.sin(turn)]) / np.cos(np.pi / CORNERS)
        corners = [c + 1.001 * r * ring for c, r in zip(self.centers, self.radii, strict=True)]
        nodes = np.vstack(corners) if corners else np.zeros((0, 2))
        self.nodes = nodes[self._free(nodes)]
        self.lengths = self._edges(self.nodes, self.nodes)

    def shortest(
        self, start: Array, goal: Array, banned: frozenset[int] = frozenset()
    ) -> tuple[list[Array], list[int]] | None:
        """
        Return the shortest polyline from start to goal, and the corners that it uses.

        Parameters
        ----------
        start, goal
            Points [m].
        banned
            Corners that must not be used.

        Returns
        -------
        tuple or None
            Points from start to goal and the numbers of the corners in between; None if there
            is no way.

        """
        n = len(self.nodes)
        points = np.vstack([self.nodes, start, goal])
        ends = self._edges(points[n:], points)
        cost = np.full(n + 2, np.inf)
        cost[n] = 0
        before = np.full(n + 2, -1)
        queue, done = [(0.0, n)], np.zeros(n + 2, dtype=bool)
        done[list(banned)] = True
        while queue:
            d, k = heapq.heappop(queue)
            if done[k]:
                continue
            done[k] = True
            if k == n + 1:
                return self._trace(points, before, n)
            row = ends[k - n] if k >= n else np.append(self.lengths[k], ends[:, k])
            better = (d + row < cost - 1e-12) & ~done
            cost[better], before[better] = d + row[better], k
            for j in np.flatnonzero(better):
                heapq.heappush(queue, (float(cost[j]), int(j)))
        return None

    def _trace(
        self, points: Array, before: NDArray[np.int_], n: int
    ) -> tuple[list[Array], list[int]]:
        chain = [n + 1]
        while chain[-1] != n:
            chain.append(int(before[chain[-1]]))
        chain.reverse()
        return [points[k] for k in chain], chain[1:-1]

    def _free(self, points: Array) -> NDArray[np.bool_]:
        if not len(self.centers):
            return np.ones(len(points), dtype=bool)
        away = np.linalg.norm(points[:, None] - self.centers, axis=2)
        return np.array((away >= self.radii * (1 - 1e-9)).all(axis=1))

    def _edges(self, a: Array, b: Array) -> Array:
        """Return lengths from each of a to each of b; infinite where a circle is in between."""
        d = b[None] - a[:, None]
        length = np.linalg.norm(d, axis=2)
        blocked = length < 1e-12
        for c, r in zip(self.centers, self.radii, strict=True):
            to = c - a[:, None]
            share = np.clip((to * d).sum(axis=2) / np.maximum(length, 1e-12) ** 2, 0, 1)
            near = np.linalg.norm(to - share[..., None] * d, axis=2)
            blocked |= near < r * (1 - 1e-9)
        return np.where(blocked, np.inf, length)
