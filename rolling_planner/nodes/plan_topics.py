"""The last plan on latched topics, for those who want to look at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from builtin_interfaces.msg import Time
from nav_msgs.msg import Path
from rolling_interfaces.msg import RollingPlan
from rolling_node_kit.qos import LATCHED
from rolling_node_kit.suite_node import SuiteNode
from rolling_planner.nodes.conversions import path_message, trajectory_message
from trajectory_msgs.msg import MultiDOFJointTrajectory

PATH, NEWEST = 'plan/object_path', 'plan/newest'


class PlanTopics:
    """The newest plan, the motion of each of its bodies, and the path of the object."""

    def __init__(self, node: SuiteNode, frame: str, bodies: tuple[str, ...]) -> None:
        """
        Create the publishers.

        Parameters
        ----------
        node
            Who publishes.
        frame
            Frame of the poses.
        bodies
            Names of the bodies of the system.

        """
        self._frame = frame
        kinds = {f'plan/{name}': MultiDOFJointTrajectory for name in bodies}
        kinds |= {PATH: Path, NEWEST: RollingPlan}
        self._publishers = {name: node.writer(kind, name, LATCHED) for name, kind in kinds.items()}

    def publish(
        self, plan: RollingPlan, bodies: Mapping[str, Mapping[str, Any]], stamp: Time
    ) -> None:
        """Publish a plan, and the motion of its bodies, see :func:`body_motions`."""
        self._publishers[NEWEST].publish(plan)
        for name, motion in bodies.items():
            samples = [
                {'X': X, 'w': t[:3], 'v': t[3:]}
                for X, t in zip(motion['X'], motion['twist'], strict=True)
            ]
            for sample, command in zip(samples, motion.get('acceleration', ()), strict=False):
                sample |= {'alpha': command[:3], 'a': command[3:]}
            self._publishers[f'plan/{name}'].publish(
                trajectory_message(name, motion['times'].tolist(), samples, stamp, self._frame)
            )
        self._publishers[PATH].publish(path_message(bodies['object']['X'], stamp, self._frame))
