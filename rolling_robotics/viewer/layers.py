"""Switches beside a scene: what of it is drawn, and whether the cameras follow what rolls."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from rolling_robotics.scene.scene import Scene
from rolling_robotics.viewer.scene_server import LAYERS, Stage
import viser


def layer_switches(server: viser.ViserServer, stage: Stage) -> None:
    """Build a box for each layer of a stage that is there."""
    with server.gui.add_folder('show', expand_by_default=False):
        for layer in LAYERS:
            if stage.has(layer):
                box = server.gui.add_checkbox(layer, initial_value=True)
                box.on_update(partial(_switch, stage, layer))


def _switch(stage: Stage, layer: str, event: viser.GuiEvent[Any]) -> None:
    stage.switch(layer, event.target.value)


class Follow:
    """
    Moves the cameras of all visitors along with what rolls, where the box says so.

    Attributes
    ----------
    box
        The box, off at first: the whole motion is in the picture then.

    """

    def __init__(self, server: viser.ViserServer, scene: Scene) -> None:
        """Build the box."""
        moving = [b for b in scene.bodies if b.layer and np.ptp(b.position, axis=0).any()]
        self._server = server
        self._path = moving[-1].position if moving else None
        self._last = 0
        self.box = server.gui.add_checkbox('follow', initial_value=False)

    def go_to(self, k: int) -> None:
        """Go on to the instant with this index."""
        if self._path is not None and self.box.value:
            way = self._path[k] - self._path[self._last]
            for client in self._server.get_clients().values():
                client.camera.position = client.camera.position + way
        self._last = k
