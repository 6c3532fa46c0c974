"""What a live scene draws of its past: the contact's path on the surfaces, and curves."""

from __future__ import annotations

from collections import deque
import math

import numpy as np
from rolling_dynamics.robots.palette import CURVES, PREDICTED
from rolling_robotics.scene.poses import Vector
from rolling_robotics.scene.scene import Colour, Values
from rolling_robotics.viewer.history import History
from rolling_robotics.viewer.panel import RATE
from rolling_robotics.viewer.scene_server import rgb
import viser
from viser import uplot

PIECE = 15  # points of a piece of a trace; the last one begins the next piece
SAMPLES = 200  # of a curve


class LivePath:
    """A path in the world that is drawn anew each time it is another."""

    def __init__(self, server: viser.ViserServer, name: str, thickness: float) -> None:
        """Draw nothing yet, below a name of the scene; thickness of the line in m."""
        self._line = server.scene.add_line_segments(
            name, np.zeros((0, 2, 3)), rgb(PREDICTED), thickness=thickness, visible=False
        )
        self._drawn: Values | None = None

    def show(self, points: Values | None) -> None:
        """Draw a path [m], shape (k, 3), or nothing."""
        if points is self._drawn:
            return
        self._drawn = points
        self._line.visible = points is not None and len(points) > 1
        if points is not None and len(points) > 1:
            self._line.points = np.stack([points[:-1], points[1:]], axis=1, dtype=np.float32)


class LiveTrace:
    """The path of the contact over one body, that grows at its end and is forgotten behind."""

    def __init__(
        self,
        server: viser.ViserServer,
        body: str,
        colour: Colour,
        thickness: float,
        span: float,
    ) -> None:
        """
        Begin a path.

        Parameters
        ----------
        server
            The server.
        body
            Name of the body on which it lies.
        colour, thickness
            Of the line; thickness in m.
        span
            How long a part of it is kept [s].

        """
        self._server, self._path, self._thickness = server, f'/bodies/{body}/trace', thickness
        self._colour = rgb(colour)
        self._most = math.ceil(span * RATE / (PIECE - 1))
        self._points: list[Vector] = []
        self._since = 0.0  # time of the first of them
        self._pieces: deque[tuple[viser.LineSegmentsHandle, float]] = deque()
        self._count = 0

    def add(self, time: float, point: Vector) -> None:
        """Go on to a point in the frame of the body [m] at a time [s]."""
        if not self._points:
            self._since = time
        self._points.append(point)
        if len(self._points) < PIECE:
            return
        points, since = np.array(self._points), self._since
        self._points, self._since = [point], time
        handle = self._server.scene.add_line_segments(
            f'{self._path}/{self._count}',
            np.stack([points[:-1], points[1:]], axis=1),
            self._colour,
            thickness=self._thickness,
        )
        self._pieces.append((handle, since))
        self._count += 1
        if len(self._pieces) > self._most:
            self._pieces.popleft()[0].remove()

    def lift(self) -> None:
        """Go on elsewhere: the next point is not joined to the last one."""
        self._points = []

    def show(self, time: float) -> None:
        """Show what there was of it at a time [s]."""
        for handle, since in self._pieces:
            visible = since <= time
            if handle.visible != visible:
                handle.visible = visible

    @property
    def length(self) -> int:
        """Number of pieces that are shown."""
        return sum(handle.visible for handle, _ in self._pieces)


class LiveCurve:
    """A curve of the last seconds with its limit, and a mark at what is shown."""

    def __init__(
        self, server: viser.ViserServer, history: History, title: str, limit: float
    ) -> None:
        """Show the curve of a title."""
        self._history, self._title, self._limit = history, title, limit
        series = (
            uplot.Series(label='s'),
            uplot.Series(label=title, stroke=CURVES[0], width=2),
            uplot.Series(label='limit', stroke='#000000', width=1),
            uplot.Series(label='shown', stroke='#000000', width=2),
        )
        self._plot = server.gui.add_uplot(
            self.data(history.end),
            series,
            title=title,
            scales={'x': uplot.Scale(time=False)},
            legend=uplot.Legend(show=False),
            aspect=2.2,
        )

    def data(self, shown: float) -> tuple[Values, Values, Values, Values]:
        """
        Return times before the newest, values, limit, and a spike at what is shown.

        Parameters
        ----------
        shown
            Time of what is shown [s]; there is no spike at the newest.

        Returns
        -------
        times, values, limit, mark
            Shape (SAMPLES,) each.

        """
        history = self._history
        times = np.linspace(-history.span, 0.0, SAMPLES)
        limit = np.full(SAMPLES, self._limit)
        at, known = history.curve(self._title)
        values = np.interp(history.end + times, at, known) if len(at) else limit.copy()
        mark = np.full(SAMPLES, min(values.min(), self._limit))
        if shown < history.end:
            k = int(np.clip(np.searchsorted(times, shown - history.end), 0, SAMPLES - 1))
            mark[k] = max(values.max(), self._limit)
        return times, values, limit, mark

    def show(self, shown: float) -> None:
        """Send the curve as it is, with a mark at the time that is shown [s]."""
        self._plot.data = self.data(shown)
