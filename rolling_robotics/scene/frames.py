"""Trees of frames from the messages of /tf: over time, and the newest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from rolling_robotics.scene.poses import compose, IDENTITY, Pose
from rolling_robotics.scene.scene import resample, resample_attitude, rotation_matrices, Values
from transforms3d.quaternions import qmult

NANOSECONDS = 1_000_000_000
MOST_OTHERS = 20  # names that are kept; anybody may send any number


class Transforms:
    """All transforms of a robot by child frame."""

    def __init__(self, prefix: str = '') -> None:
        """Take the frames whose names begin with a prefix, and name them without it."""
        self._prefix = prefix
        self._parents: dict[str, str] = {}
        self._rows: dict[str, list[tuple[float, ...]]] = {}

    def take(self, transforms: Iterable[Any]) -> None:
        """Take the transforms of a message."""
        for t in transforms:
            if not t.child_frame_id.startswith(self._prefix):
                continue
            child = t.child_frame_id.removeprefix(self._prefix)
            stamp = t.header.stamp.sec + t.header.stamp.nanosec / NANOSECONDS
            p, q = t.transform.translation, t.transform.rotation
            row = (stamp, p.x, p.y, p.z, q.w, q.x, q.y, q.z)
            self._parents[child] = t.header.frame_id.removeprefix(self._prefix)
            self._rows.setdefault(child, []).append(row)

    @property
    def frames(self) -> set[str]:
        """Frames that are known, the root too."""
        return {*self._parents, *self._parents.values()}

    @property
    def stamps(self) -> Values:
        """All stamps in order [s]."""
        every = {row[0] for rows in self._rows.values() for row in rows}
        return np.array(sorted(every))

    def poses(self, frame: str, times: Values) -> tuple[Values, Values]:
        """
        Return position and attitude of a frame in the root.

        Parameters
        ----------
        frame
            Name of the frame; the root stands still.
        times
            Times [s], shape (T,).

        Returns
        -------
        position, attitude
            Shapes (T, 3) [m] and (T, 4), unit quaternions wxyz.

        """
        position = np.zeros((len(times), 3))
        attitude = np.tile([1.0, 0.0, 0.0, 0.0], (len(times), 1))
        seen = set()
        while frame in self._parents and frame not in seen:
            seen.add(frame)
            p, q = self._own(frame, times)
            position = p + np.einsum('tij,tj->ti', rotation_matrices(q), position)
            attitude = np.array([qmult(a, b) for a, b in zip(q, attitude, strict=True)])
            frame = self._parents[frame]
        return position, attitude

    def _own(self, frame: str, times: Values) -> tuple[Values, Values]:
        rows = np.array(self._rows[frame])
        rows = rows[np.unique(rows[:, 0], return_index=True)[1]]
        return (
            resample(rows[:, 0], rows[:, 1:4], times),
            resample_attitude(rows[:, 0], rows[:, 4:8], times),
        )


class NewestFrames:
    """
    The newest transform of every frame of a robot.

    Attributes
    ----------
    others
        Some frames that were left out, as their names lack the prefix of the robot.

    """

    def __init__(self, prefix: str = '') -> None:
        """Take the frames whose names begin with a prefix, and name them without it."""
        self._prefix = prefix
        self._own: dict[str, tuple[str, Pose]] = {}  # parent and pose in it, by child
        self._known: dict[str, Pose] = {}  # poses in the root since the last transform
        self.others: set[str] = set()

    def take(self, transforms: Iterable[Any]) -> None:
        """Take the transforms of a message."""
        for t in transforms:
            child = t.child_frame_id
            if not child.startswith(self._prefix):
                if len(self.others) < MOST_OTHERS:
                    self.others.add(child)
                continue
            p, q = t.transform.translation, t.transform.rotation
            self._own[child.removeprefix(self._prefix)] = (
                t.header.frame_id.removeprefix(self._prefix),
                (p.x, p.y, p.z, q.w, q.x, q.y, q.z),
            )
        self._known.clear()

    def __contains__(self, frame: str) -> bool:
        """Tell whether a frame came as a child."""
        return frame in self._own

    def __bool__(self) -> bool:
        """Tell whether there is any."""
        return bool(self._own)

    def pose(self, frame: str) -> Pose:
        """Return the pose of a frame in the root, where one that is not known stands still."""
        chain: list[str] = []
        while frame in self._own and frame not in self._known and frame not in chain:
            chain.append(frame)
            frame = self._own[frame][0]
        pose = self._known.get(frame, IDENTITY)
        for name in reversed(chain):
            pose = self._known[name] = compose(pose, self._own[name][1])
        return pose


def in_body(position: Values, attitude: Values, points: Values) -> Values:
    """Return points of the root in a body that moves: shapes (T, 3), (T, 4), (T, 3)."""
    out: Values = np.einsum('tji,tj->ti', rotation_matrices(attitude), points - position)
    return out
