"""A scene as one page that plays by itself, without a server."""

from __future__ import annotations

import numpy as np
from rolling_robotics.scene.scene import Scene
from rolling_robotics.viewer.scene_server import Stage
from rolling_robotics.viewer.serve import look_at_motion, served

RATE = 30.0  # pictures a second


def page_of(scene: Scene, speed: float = 1.0) -> str:
    """
    Return HTML that shows a scene in any browser, with a time slider, and opens nothing else.

    Parameters
    ----------
    scene
        The scene.
    speed
        Times as fast as it was.

    Raises
    ------
    ParameterError
        No port of this machine is free.

    """
    start, end = float(scene.times[0]), float(scene.times[-1])
    shown = np.arange(start, end + speed / RATE, speed / RATE)
    with served('127.0.0.1', 0) as server:
        stage = Stage(server, scene)
        look_at_motion(server, scene, stage.size)
        stage.show(0)
        recording = server.get_scene_serializer()
        for time in shown:
            stage.show(int(np.argmin(np.abs(scene.times - time))))
            recording.insert_sleep(1 / RATE)
        return recording.as_html()
