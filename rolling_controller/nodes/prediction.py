"""Messages of a predictive law: the motion that it predicts, and its diagnostics."""

from __future__ import annotations

from typing import Any

from nav_msgs.msg import Path
import numpy as np
from rolling_controller.law import Law
from rolling_controller.predictive.beside import PredictingBeside
from rolling_controller.predictive.pursuit import Pursuit
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_node_kit.qos import EVENT
from rolling_node_kit.suite_node import ERROR, Health, SuiteNode, WARN
from rolling_planner.nodes.conversions import path_message

PATH, PERIOD = 'predicted_path', 0.1  # s
WORLD = 'world'


class Prediction:
    """
    Publisher of the predicted path of the object, ten times per second while there is one.

    Attributes
    ----------
    pursuit
        Source of new plans for the law, or None.

    """

    def __init__(
        self, node: SuiteNode, system: RollingSystem, params: Array, *, shown: bool
    ) -> None:
        """Create the topic if predictions are shown; the node removes it at its cleanup."""
        self._node, self._pose, self._params = node, system.pose, params
        self.pursuit: Pursuit | None = None
        self._law: PredictingBeside | None = None
        if shown:
            self._object = system.pose.name_out().index('object')
            self._path = node.create_publisher(Path, PATH, EVENT)
            timer = node.create_timer(PERIOD, self._publish)
            node.at_cleanup(lambda: node.destroy_publisher(self._path))
            node.at_cleanup(lambda: node.destroy_timer(timer))
            node.at_cleanup(lambda: self.show(None))

    def show(self, law: Law[Any] | None) -> None:
        """Show the predictions of a law from now on, if it makes any."""
        self._law = law if isinstance(law, PredictingBeside) else None
        self.pursuit = None if self._law is None else self._law.pursuit

    def health(self, level: bytes, text: str, values: dict[str, Any]) -> Health:
        """Return what diagnostics report, with predictions, and a fault of the law, added."""
        law = self._law
        if law is None:
            return level, text, values
        values, record = values | law.health(), law.law.record
        if record.safe:
            why = record.trouble or f'the newest prediction is {law.age:.2f} s old'
            return ERROR, f'fault of the law, the safe command is given: {why}', values
        if record.trouble:
            why = f'fault of the law, the previous prediction stays in use: {record.trouble}'
            return max(level, WARN), why, values
        return level, text, values

    def _publish(self) -> None:
        law = self._law
        if law is None:
            return
        poses = [np.array(self._pose(x, self._params)[self._object]) for x in law.predicted()]
        stamp = self._node.get_clock().now().to_msg()
        self._path.publish(path_message(poses, stamp, WORLD))
