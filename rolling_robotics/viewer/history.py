"""What a live scene remembers: the last seconds, no more, to be looked at again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from rolling_robotics.scene.poses import between, Pose, Vector
from rolling_robotics.scene.scene import Values

JOINED = 0.5  # longest time between two snapshots with a motion in between [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """
    An instant.

    Attributes
    ----------
    time
        When it was, by a steady clock [s].
    poses
        Poses in the world by name of the body or frame.
    force, mu
        Contact force on the object in the contact frame [N], None where none is known, and the
        coefficient of friction.
    values
        What the curves show, by title: the limit, and the value.

    """

    time: float
    poses: Mapping[str, Pose]
    force: Vector | None = None
    mu: float = 1.0
    values: Mapping[str, tuple[float, float]] = field(default_factory=dict)


class History:
    """
    The snapshots of the last seconds, oldest first.

    Attributes
    ----------
    span
        How long they are kept [s].

    """

    def __init__(self, span: float) -> None:
        """Keep the snapshots of this time [s]."""
        self.span = span
        self._times: list[float] = []
        self._snapshots: list[Snapshot] = []

    def __len__(self) -> int:
        """Return the number of snapshots."""
        return len(self._times)

    @property
    def begin(self) -> float:
        """Time of the oldest snapshot [s]."""
        return self._times[0]

    @property
    def end(self) -> float:
        """Time of the newest snapshot [s]."""
        return self._times[-1]

    def add(self, snapshot: Snapshot) -> None:
        """Take the newest snapshot, and forget those that are too old."""
        self._times.append(snapshot.time)
        self._snapshots.append(snapshot)
        old = bisect_right(self._times, snapshot.time - self.span - 1e-9)
        del self._times[:old], self._snapshots[:old]

    def at(self, time: float) -> Snapshot:
        """Return how it was at a time [s]: between two snapshots in between, beyond as there."""
        k = bisect_right(self._times, time)
        if k == 0:
            return self._snapshots[0]
        before = self._snapshots[k - 1]
        newest = k == len(self._times)
        if newest or time == before.time or self._times[k] - before.time > JOINED:
            return before
        after = self._snapshots[k]
        return _mixed(before, after, (time - before.time) / (after.time - before.time))

    def curve(self, title: str) -> tuple[Values, Values]:
        """Return times [s] and values of a curve, shape (N,) each."""
        rows = [(s.time, s.values[title][1]) for s in self._snapshots if title in s.values]
        times, values = np.array(rows, dtype=float).reshape(-1, 2).T
        return times, values


def _mixed(a: Snapshot, b: Snapshot, share: float) -> Snapshot:
    """Return the instant at a share of the way from one snapshot to the next."""
    force = a.force
    if a.force is not None and b.force is not None:
        x, y, z = (m + share * (n - m) for m, n in zip(a.force, b.force, strict=True))
        force = (x, y, z)
    return Snapshot(
        time=a.time + share * (b.time - a.time),
        poses={n: between(p, b.poses[n], share) for n, p in a.poses.items() if n in b.poses},
        force=force,
        mu=a.mu,
        values=a.values,
    )
