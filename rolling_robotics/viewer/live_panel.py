"""The panel of a live scene: live or paused, a slider back through what was seen, play."""

from __future__ import annotations

import threading

from rolling_robotics.viewer.history import History, Snapshot
from rolling_robotics.viewer.panel import SLIDER_PERIOD, speed_choice
import viser


class LivePanel:
    """
    Chooses the instant that is shown: the newest, or one of the last seconds.

    To move the slider, or to switch ``live`` off, holds what was seen; ``live`` goes on.

    Attributes
    ----------
    live, slider, playing, speed
        Handles of the controls; the slider has the time before the newest snapshot [s].

    """

    def __init__(self, server: viser.ViserServer, history: History, speed: float = 1.0) -> None:
        """
        Build the controls.

        Parameters
        ----------
        server
            The server.
        history
            What was seen; grows as long as it is live.
        speed
            Times as fast as it was, where it is played again.

        """
        self._history, self._lock = history, threading.Lock()
        self._before, self._unslid = 0.0, 0.0
        gui, span = server.gui, history.span
        self.live = gui.add_checkbox(
            'live', initial_value=True, hint='show the newest; else hold what was seen'
        )
        self.slider = gui.add_slider(
            'time before now [s]', -span, 0.0, max(span / 1000, 0.01), 0.0
        )
        self.playing = gui.add_checkbox('play', initial_value=False, disabled=True)
        self.speed = speed_choice(server, speed)
        self.speed.disabled = True
        self.live.on_update(self._switched)
        self.slider.on_update(self._moved)

    @property
    def is_live(self) -> bool:
        """Whether the newest is shown."""
        return bool(self.live.value)

    def _switched(self, event: viser.GuiEvent[viser.GuiCheckboxHandle]) -> None:
        """Hold, or go on with the newest."""
        live = event.target.value
        if live:
            with self._lock:
                self._before = 0.0
            self.slider.value = 0.0  # type: ignore[misc]
            self.playing.value = False  # type: ignore[misc]
        self.playing.disabled = self.speed.disabled = live

    def _moved(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
        """Follow the slider, where a person moved it."""
        if event.client is not None:
            self.hold_at(float(event.target.value))

    def hold_at(self, before: float) -> None:
        """Hold, and show a time before the newest snapshot [s], not positive."""
        with self._lock:
            self._before = before
        self.live.value = False  # type: ignore[misc]

    def advance(self, dt: float) -> Snapshot:
        """Return the instant to be shown, a time of the clock [s] after the last one."""
        history = self._history
        first = max(history.begin - history.end, -history.span)
        with self._lock:
            plays = not self.is_live and self.playing.value
            if plays:
                self._before += dt * float(self.speed.value)
                if self._before > 0.0:  # from the end back to the oldest
                    self._before = first
            self._before = max(self._before, first)
            before = self._before
        self._unslid += dt
        if plays and self._unslid >= SLIDER_PERIOD:
            self._unslid = 0.0
            self.slider.value = before  # type: ignore[misc]
        return history.at(history.end + before)
