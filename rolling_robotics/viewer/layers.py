"""Switches beside a scene: what of it is drawn, and whether the cameras follow what rolls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
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
    Keeps the cameras of all visitors on what rolls, where the box says so.

    Attributes
    ----------
    box
        The box.

    """

    def __init__(self, server: viser.ViserServer, *, on: bool) -> None:
        """
        Build the box.

        Parameters
        ----------
        server
            The server.
        on
            How the box is at first: off where the whole motion is in the picture.

        """
        self._server = server
        self.box = server.gui.add_checkbox('follow', initial_value=on)

    def go_to(self, place: Sequence[float] | NDArray[np.float64]) -> None:
        """Look at where it is now, 3 numbers [m], from the same side; one not finite is left."""
        if not (self.box.value and np.isfinite(place).all()):
            return
        initial, now = self._server.initial_camera, np.asarray(place, dtype=float)
        initial.position, initial.look_at = initial.position + now - initial.look_at, now
        for client in self._server.get_clients().values():
            camera = client.camera  # takes where it looks along
            camera.position = camera.position + now - camera.look_at
