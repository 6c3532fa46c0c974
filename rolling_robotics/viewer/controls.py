"""Controls next to a scene: layers, cameras that follow, a goal to be dragged, pushes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_robotics.scene.poses import Pose
from rolling_robotics.viewer.scene_server import LAYERS, Stage
import viser

Report = Callable[[str], None]
SIZE = 0.6  # of the handle of a goal, in sizes of what rolls
SPEED = 0.05  # of a push: impulse over mass [m/s]
HEADINGS = {'-x': (-1.0, 0.0), '+x': (1.0, 0.0), '-y': (0.0, -1.0), '+y': (0.0, 1.0)}


def layer_switches(server: viser.ViserServer, stage: Stage) -> viser.GuiFolderHandle:
    """Return a folder with a box for each layer that a stage has."""
    with server.gui.add_folder('show', expand_by_default=False) as folder:
        for layer in LAYERS:
            if stage.has(layer):
                box = server.gui.add_checkbox(layer, initial_value=True)
                box.on_update(partial(_switch, stage, layer))
    return folder


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


class GoalPanel:
    """
    Controls of a goal; hidden until something serves them.

    Attributes
    ----------
    handle
        The goal in the world, moved along x and y; where what rolls is until a person drags it.
    planning, executing
        The buttons.
    text
        What resulted of them.

    """

    def __init__(
        self,
        server: viser.ViserServer,
        plan: Callable[[tuple[float, float, float], Report], None],
        execute: Callable[[Report], None],
    ) -> None:
        """
        Build the controls.

        Parameters
        ----------
        server
            The server.
        plan
            Called with a position [m] and a function that reports, to have a motion there
            planned.
        execute
            Called likewise, to have the newest plan executed.

        """
        self._server, self._dragged = server, False
        self.handle: viser.TransformControlsHandle | None = None
        with server.gui.add_folder('goal', visible=False) as self._folder:
            self.text = server.gui.add_markdown('Drag the arrows to where it is to go.')
            self.planning = server.gui.add_button('plan')
            self.executing = server.gui.add_button('execute')
        self.planning.on_click(lambda _: plan(self.position, self.report))
        self.executing.on_click(lambda _: execute(self.report))

    @property
    def position(self) -> tuple[float, float, float]:
        """Where the goal is [m]."""
        x, y, z = (0.0, 0.0, 0.0) if self.handle is None else self.handle.position.tolist()
        return x, y, z

    def report(self, text: str) -> None:
        """Show how it goes."""
        self.text.content = re.sub(r"[^\w/.,;:'()= -]", '?', text)  # nothing in it is markup

    def update(self, served: bool, pose: Pose | None, size: float) -> None:
        """
        Show the controls where they are of use.

        Parameters
        ----------
        served
            Whether there is a planner and a controller.
        pose
            Of what rolls; None if it is not known.
        size
            Of it [m].

        """
        if self._folder.visible != served:
            self._folder.visible = served
        if not served or pose is None:
            return
        if self.handle is None:
            self.handle = self._server.scene.add_transform_controls(
                '/goal',
                scale=SIZE * size,
                active_axes=(True, True, False),
                disable_rotations=True,
                depth_test=False,
                position=np.array(pose[:3]),
            )
            self.handle.on_update(self._drag)
        elif not self._dragged and np.linalg.norm(self.handle.position - pose[:3]) > 0.01 * size:
            self.handle.position = np.array(pose[:3])

    def _drag(self, event: viser.TransformControlsEvent) -> None:
        if event.client is not None:
            self._dragged = True


class PushPanel:
    """
    Controls of a push; hidden until something takes pushes.

    Attributes
    ----------
    speed
        Slider: impulse over mass [m/s].
    headings
        The buttons, by the axis of the world along which they push.

    """

    def __init__(self, server: viser.ViserServer, push: Callable[[float, float], None]) -> None:
        """Build the controls; ``push`` is called with the impulse over mass along x and y."""
        with server.gui.add_folder('push', visible=False) as self._folder:
            self.speed = server.gui.add_slider('speed [m/s]', 0.01, 0.2, 0.01, SPEED)
            self.headings = server.gui.add_button_group('along', tuple(HEADINGS))
        self.headings.on_click(lambda _: push(*self._impulse()))

    def _impulse(self) -> tuple[float, float]:
        x, y = HEADINGS[self.headings.value]
        return x * self.speed.value, y * self.speed.value

    def update(self, served: bool) -> None:
        """Show the controls where something takes pushes."""
        if self._folder.visible != served:
            self._folder.visible = served
