"""Panel of the viewer: controls of time, layers and the followed body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
import math
import re
import threading
import time
from typing import Any

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.robots.view import CURVES
from rolling_robotics.scene.scene import Colour, Pose, resample, Scene, Strip
from rolling_robotics.viewer.scene_server import (
    LAYERS,
    look_at_motion,
    served,
    Stage,
    stop_request,
    ticks,
)
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
    Follower that keeps the cameras of all visitors on the rolling body while a box is ticked.

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

    def go_to(self, place: Sequence[float] | Array) -> None:
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
        """Position of the goal [m]."""
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


RATE = 30.0  # updates, and pictures of a page, per second
LIMIT = 'limit'
CURVE_POINTS = 240
CURVE_PERIOD = 0.4  # s between two marks of the present in the curves
SLIDER_PERIOD = 0.1  # s between two moves of the slider while it plays
SPEEDS = ('0.1', '0.25', '0.5', '1', '2', '4')


def rounded_step(length: float) -> float:
    """Return a step of a slider: a power of ten, a thousandth of its length or less."""
    return float(10.0 ** math.floor(math.log10(max(length, 1e-3) / 1000)))


class Player:
    """Plays a recorded scene: the time of the slider is the time that is shown."""

    def __init__(self, server: viser.ViserServer, scene: Scene, speed: float = 1.0) -> None:
        """
        Build the panel and show the start.

        Parameters
        ----------
        server
            The server.
        scene
            The scene.
        speed
            Times as fast as it was.

        """
        self._scene, self._stage = scene, Stage(server, scene)
        self._start, self._end = float(scene.times[0]), float(scene.times[-1])
        self._time, self._index, self.sent = self._start, -1, 0
        self._slid = -SLIDER_PERIOD
        self._lock = threading.Lock()
        gui = server.gui
        gui.add_markdown(f'**{scene.title.replace("_", " ")}**')
        gui.add_html(legend_of(scene.legend))
        step = rounded_step(self._end - self._start)
        self.slider = gui.add_slider(
            f'time [{scene.time_unit}]', self._start, self._end, step, self._start
        )
        self.playing = gui.add_checkbox('play', initial_value=True)
        choices = sorted({*SPEEDS, f'{speed:g}'}, key=float)
        self.speed = gui.add_dropdown('speed', choices, initial_value=f'{speed:g}')
        moving = [b for b in scene.bodies if b.layer and np.ptp(b.position, axis=0).any()]
        self._path = moving[-1].position if moving else None
        self._follow = Follow(server, on=False)
        layer_switches(server, self._stage)
        self._curves = [
            (server.gui.add_html(_drawn(scene, s, self._start)), s) for s in scene.strips
        ]
        self.slider.on_update(self._moved)
        self._show()

    def _moved(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
        """Follow the slider, where a person moved it."""
        if event.client is not None:
            with self._lock:
                self._time = float(event.target.value)

    def advance(self, dt: float) -> None:
        """Advance by a wall-clock time [s], from the end back to the start."""
        with self._lock:
            if self.playing.value:
                self._time += dt * float(self.speed.value)
                if self._time > self._end:
                    self._time = self._start
        self._show()

    def _show(self) -> None:
        k = int(np.argmin(np.abs(self._scene.times - self._time)))
        if k == self._index:
            return
        self._index = k
        self._stage.show(k)
        if self._path is not None:
            self._follow.go_to(self._path[k])
        self.sent += 1
        at = time.monotonic()
        if self.playing.value and at - self._slid >= SLIDER_PERIOD:
            self._slid = at
            now = float(np.clip(self._time, self._start, self._end))
            self.slider.value = now  # type: ignore[misc]

    def mark(self) -> None:
        """Mark the present in the curves."""
        for handle, strip in self._curves:
            handle.content = _drawn(self._scene, strip, self._time)

    def run(self, stop: threading.Event) -> None:
        """Play until asked to stop."""
        before = marked = time.monotonic()
        for now in ticks(stop, RATE):
            self.advance(now - before)
            before = now
            if now - marked > CURVE_PERIOD:
                self.mark()
                marked = now


def play(
    scene: Scene, host: str, port: int, speed: float, on_ready: Callable[[str], None]
) -> None:
    """
    Serve a scene until SIGINT or SIGTERM.

    Parameters
    ----------
    scene
        The scene.
    host, port
        Where; see :func:`served`.
    speed
        Times as fast as it was.
    on_ready
        Called with the address.

    """
    with served(host, port) as server:
        player = Player(server, scene, speed)
        look_at_motion(server, scene)
        on_ready(f'http://{server.get_host()}:{server.get_port()}')
        player.run(stop_request())


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
        return _with_curves(recording.as_html(), scene, speed)


STYLE = """<style>
#curves{position:fixed;right:1em;top:1em;width:21em;max-height:calc(100vh - 6em);overflow:auto;
 z-index:9;font:15px sans-serif;color-scheme:light dark;color:light-dark(#1c2733,#e3e9ef);
 background:light-dark(rgba(255,255,255,.8),rgba(18,23,29,.85));padding:.5em;border-radius:6px}
#curves svg{background:light-dark(#fff,#1b232c)} #curves svg *{vector-effect:non-scaling-stroke}
#root{width:calc(100vw - 23.5em)!important;overflow:hidden}
@media(prefers-color-scheme:dark){body{background:#12171d}}
@media(max-width:900px){#curves{inset:62vh 0 0 0;width:auto;max-height:none;padding:.3em .6em}
 #root{width:100vw!important;height:62vh!important}}</style>"""
SCRIPT = """<script>setInterval(() => { // the time that the slider of the page shows
  const values = [...document.querySelectorAll('input')].map(i => parseFloat(i.value));
  const shown = values.find(Number.isFinite);
  if (shown !== undefined) for (const now of document.querySelectorAll('#curves line'))
    for (const end of ['x1', 'x2']) now.setAttribute(end, Math.min(shown * RATE, 240));
}, 100);</script>"""


def _with_curves(page: str, scene: Scene, speed: float) -> str:
    """Return the page with title, legend and curves to the right of the picture, or below it."""
    title = escape(scene.title.replace('_', ' '))
    rate = speed * CURVE_POINTS / max(float(np.ptp(scene.times)), 1e-9)
    curves = ''.join(_drawn(scene, s, float(scene.times[0])) for s in scene.strips)
    script = SCRIPT.replace('RATE', f'{rate:.6g}')
    box = f'{STYLE}<div id="curves"><b>{title}</b>{legend_of(scene.legend)}{curves}</div>{script}'
    body, end, rest = page.rpartition('</body>')
    return f'{body}{box}{end}{rest}' if end else f'{page}{box}'


def _drawn(scene: Scene, strip: Strip, now: float) -> str:
    """Return HTML with the curves of a strip, and a line that marks a time."""
    times = np.linspace(scene.times[0], scene.times[-1], CURVE_POINTS)
    values = {n: resample(scene.times, np.nan_to_num(v), times) for n, v in strip.curves.items()}
    if strip.limit is not None:
        values[LIMIT] = np.full(CURVE_POINTS, strip.limit)
    every = np.concatenate([*values.values(), np.zeros(0 if values else 1)])
    low, high = (
        float(v) if abs(v) > 1e-12 * np.ptp(every) else 0.0 for v in (every.min(), every.max())
    )
    room = max(high - low, 1e-9 * abs(high)) or 1.0
    lines = ''
    for name, colour in curve_colours(strip).items():
        up = (58 - 56 * (values[name] - low) / room).round(1).tolist()
        points = ' '.join(f'{k},{y:g}' for k, y in enumerate(up))
        lines += f'<polyline fill="none" stroke="{colour}" points="{points}"/>'
    at = float(np.interp(now, times, np.arange(CURVE_POINTS)))
    unit = f' [{escape(strip.unit)}]' if strip.unit else ''
    return (
        f'<div>{escape(strip.title)}{unit}, {low:.3g} to {high:.3g}</div>'
        f'<svg viewBox="0 0 {CURVE_POINTS} 60" preserveAspectRatio="none" role="img" '
        'style="width:100%;height:84px" '
        f'aria-label="{escape(strip.title)}">{lines}'
        f'<line stroke="currentColor" x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="60"/></svg>'
        f'{_rows(curve_colours(strip))}'
    )


def curve_colours(strip: Strip) -> dict[str, str]:
    """Return the colours of the curves of a strip by their names, its limit among them."""
    names = [*strip.curves, *([LIMIT] if strip.limit is not None else [])]
    return {name: CURVES[i % len(CURVES)] for i, name in enumerate(names)}


def legend_of(drawn: Mapping[str, Colour]) -> str:
    """Return the legend of the scene in HTML, by the colours of its labels."""
    return _rows({name: _hex(colour) for name, colour in drawn.items()})


def _rows(entries: dict[str, str]) -> str:
    spans = (
        f'<span style="white-space:nowrap;margin-right:0.9em"><span style="color:{colour}">&#9632;'
        f'</span> {escape(name)}</span>'
        for name, colour in entries.items()
    )
    return f'<div style="font-size:0.8em;padding:0.2em 1em">{" ".join(spans)}</div>'


def _hex(colour: Colour) -> str:
    return '#' + ''.join(f'{round(255 * c):02x}' for c in colour)
