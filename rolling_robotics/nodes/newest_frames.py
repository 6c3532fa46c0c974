"""The newest transforms of /tf, and the poses that follow from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rolling_robotics.scene.poses import compose, IDENTITY, Pose

MOST_OTHERS = 20  # names that are kept; anybody may send any number


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
