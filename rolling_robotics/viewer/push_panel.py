"""Buttons that push what rolls, so that one can see how its feedback answers."""

from __future__ import annotations

from collections.abc import Callable

import viser

SPEED = 0.05  # of a push: impulse over mass [m/s]
HEADINGS = {'-x': (-1.0, 0.0), '+x': (1.0, 0.0), '-y': (0.0, -1.0), '+y': (0.0, 1.0)}


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
