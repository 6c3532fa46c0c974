"""What a live scene keeps of its past: the contact's path on the surfaces, and curves."""

from __future__ import annotations

from collections import deque

import numpy as np
from rolling_robotics.scene.scene import Colour, Values
from rolling_robotics.viewer.stage import rgb
import viser
from viser import uplot

PIECE = 15  # points of a piece of a trace; the last one begins the next piece
PIECES = 60  # of a trace that are kept, half a minute
SAMPLES, SPAN = 200, 20.0  # of a curve, and the time that it shows [s]


class LiveTrace:
    """The path of the contact over one body, that grows at its end and is forgotten behind."""

    def __init__(
        self, server: viser.ViserServer, body: str, colour: Colour, thickness: float
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

        """
        self._server, self._path, self._thickness = server, f'/bodies/{body}/trace', thickness
        self._colour = rgb(colour)
        self._points: list[Values] = []
        self._pieces: deque[viser.LineSegmentsHandle] = deque()
        self._count = 0

    def add(self, point: Values) -> None:
        """Go on to a point in the frame of the body [m]."""
        self._points.append(point)
        if len(self._points) < PIECE:
            return
        points, self._points = np.array(self._points), [point]
        self._pieces.append(
            self._server.scene.add_line_segments(
                f'{self._path}/{self._count}',
                np.stack([points[:-1], points[1:]], axis=1),
                self._colour,
                thickness=self._thickness,
            )
        )
        self._count += 1
        if len(self._pieces) > PIECES:
            self._pieces.popleft().remove()

    @property
    def length(self) -> int:
        """Number of pieces that are shown."""
        return len(self._pieces)


class LiveCurve:
    """A curve of the last seconds with its limit."""

    def __init__(self, server: viser.ViserServer, title: str, limit: float) -> None:
        """Show nothing yet."""
        self._limit = limit
        self._rows: deque[tuple[float, float]] = deque()
        series = (
            uplot.Series(label='s'),
            uplot.Series(label=title, stroke='#0072B2', width=2),
            uplot.Series(label='limit', stroke='#000000', width=1),
        )
        self._plot = server.gui.add_uplot(
            self.data(0.0),
            series,
            title=title,
            scales={'x': uplot.Scale(time=False)},
            legend=uplot.Legend(show=False),
            aspect=2.2,
        )

    def add(self, now: float, value: float) -> None:
        """Take a value at a time [s]."""
        self._rows.append((now, value))
        while self._rows[0][0] < now - SPAN:
            self._rows.popleft()

    def data(self, now: float) -> tuple[Values, Values, Values]:
        """Return times before the present [s], values and limit, shape (SAMPLES,) each."""
        times = np.linspace(-SPAN, 0.0, SAMPLES)
        values = np.full(SAMPLES, self._limit)
        if self._rows:
            at, known = np.array(self._rows).T
            values = np.interp(now + times, at, known)
        return times, values, np.full(SAMPLES, self._limit)

    def show(self, now: float) -> None:
        """Send the curve as it is at a time [s]."""
        self._plot.data = self.data(now)
