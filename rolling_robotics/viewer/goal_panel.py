"""A goal to be dragged over the floor, and the buttons that plan a motion there and execute it."""

from __future__ import annotations

from collections.abc import Callable
import re

import numpy as np
from rolling_robotics.scene.poses import Pose
import viser

Tell = Callable[[str], None]
SIZE = 0.6  # of the handle, in sizes of what rolls


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
        What became of them.

    """

    def __init__(
        self,
        server: viser.ViserServer,
        plan: Callable[[tuple[float, float, float], Tell], None],
        execute: Callable[[Tell], None],
    ) -> None:
        """
        Build the controls.

        Parameters
        ----------
        server
            The server.
        plan
            Called with a place [m] and what tells how it went, to have a motion there planned.
        execute
            Called likewise, to have the newest plan executed.

        """
        self._server, self._dragged = server, False
        self.handle: viser.TransformControlsHandle | None = None
        with server.gui.add_folder('goal', visible=False) as self._folder:
            self.text = server.gui.add_markdown('Drag the arrows to where it is to go.')
            self.planning = server.gui.add_button('plan')
            self.executing = server.gui.add_button('execute')
        self.planning.on_click(lambda _: plan(self.place, self.tell))
        self.executing.on_click(lambda _: execute(self.tell))

    @property
    def place(self) -> tuple[float, float, float]:
        """Where the goal is [m]."""
        x, y, z = (0.0, 0.0, 0.0) if self.handle is None else self.handle.position.tolist()
        return x, y, z

    def tell(self, text: str) -> None:
        """Say how it goes."""
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
