"""A scene as one page that plays by itself, without a server."""

from __future__ import annotations

from html import escape

import numpy as np
from rolling_robotics.scene.scene import Scene
from rolling_robotics.viewer.legend import legend_of
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
        look_at_motion(server, scene)
        stage.show(0)
        recording = server.get_scene_serializer()
        for time in shown:
            stage.show(int(np.argmin(np.abs(scene.times - time))))
            recording.insert_sleep(1 / RATE)
        return _with_legend(recording.as_html(), scene)


def _with_legend(page: str, scene: Scene) -> str:
    """Return the page with title and legend over the picture."""
    title = escape(scene.title.replace('_', ' '))
    box = (
        '<div style="position:fixed;right:1em;top:1em;max-width:22em;z-index:9;'
        'font-family:sans-serif;'
        f'background:rgba(255,255,255,0.8);padding:0.5em"><b>{title}</b>{legend_of(scene)}</div>'
    )
    body, end, rest = page.rpartition('</body>')
    return f'{body}{box}{end}{rest}' if end else f'{page}{box}'
