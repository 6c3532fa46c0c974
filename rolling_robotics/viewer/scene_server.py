"""A scene in the browser: meshes on a server, and the loop that shows a motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
import io
from itertools import product
import logging
import math
import re
import signal
import socket
import threading
import time
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.robots.view import CONE, FORCE
from rolling_robotics.scene.scene import (
    Body,
    Colour,
    Frame,
    IDENTITY,
    Mesh,
    Pose,
    rotation_matrices,
    Scene,
    Trace,
    Values,
)
import viser
from websockets.asyncio import server as web_sockets

PIECES = 24  # of a trace: as many parts come into sight one after the other
POINTS = 800  # of a trace that are sent
LAYERS = ('ghost', 'paths', 'force', 'frames')
TURN = np.linspace(0, 2 * np.pi, 33)
SEEN_THROUGH = 0.45  # opacity of a body that would hide the force


def rgb(colour: Colour) -> tuple[int, int, int]:
    """Return a colour as the server takes it."""
    r, g, b = (round(255 * c) for c in colour)
    return r, g, b


class Stage:
    """Puts a scene on a server and moves it through time."""

    def __init__(self, server: viser.ViserServer, scene: Scene) -> None:
        """
        Send everything once.

        Parameters
        ----------
        server
            The server.
        scene
            The scene; its times are those that can be shown.

        """
        self._server, self._scene = server, scene
        self.size, self.wide = _sizes(scene)
        self._shades: list[tuple[Any, Values, int]] = []  # lines of ghosts, and how far they are
        self._remaining = {ghost.name: scene.remaining(ghost) for ghost in scene.ghosts}
        self._moving: list[Any] = []  # handles of bodies, ghosts and frames, in this order
        self._pieces: list[tuple[Any, int]] = []
        self._axes: list[Any] = []
        self._solid: list[viser.MeshHandle] = []  # of bodies that roll
        self._ghosts = server.scene.add_frame('/ghosts', show_axes=False)
        for kind, bodies in (('bodies', scene.bodies), ('ghosts', scene.ghosts)):
            for body in bodies:
                self._add_body(server, f'/{kind}/{body.name}', body, ghost=kind == 'ghosts')
        for frame in scene.frames:
            handle = server.scene.add_frame(
                f'/frames/{frame.name}',
                axes_length=0.12 * self.size,
                axes_radius=0.003 * self.size,
                origin_radius=0.008 * self.size,
            )
            self._moving.append(handle)
            self._axes.append(handle)
        if scene.frames:
            server.scene.add_image(
                f'/frames/{scene.frames[0].name}/shadow',
                _shadow(),
                render_width=1.15 * self.size,
                render_height=1.15 * self.size,
                format='png',
                position=(0.0, 0.0, 2e-3 * self.size),
                cast_shadow=False,
                receive_shadow=False,
            )
        for trace in scene.traces:
            self._add_trace(server, trace)
        self._placed: list[Pose | None] = [IDENTITY] * len(self._moving)
        self._forces: dict[str, tuple[Any, Any]] = {}  # arrow and cone by frame
        self._hidden: set[str] = set()  # layers
        self._k = 0

    def has(self, layer: str) -> bool:
        """Return whether there is anything of a layer."""
        scene = self._scene
        there = {
            'ghost': scene.ghosts,
            'paths': scene.traces,
            'force': any(frame.wrench for frame in scene.frames),
            'frames': scene.frames,
        }
        return bool(there[layer])

    def switch(self, layer: str, on: bool) -> None:
        """Draw a layer, or no longer."""
        self._hidden = self._hidden - {layer} if on else self._hidden | {layer}
        self._ghosts.visible = 'ghost' not in self._hidden
        for handle in self._axes:
            handle.show_axes = 'frames' not in self._hidden
        self._show_layers(self._k)

    def show(self, k: int) -> None:
        """Show the time of the scene with this index."""
        scene, self._k = self._scene, k
        items: list[Body | Frame] = [*scene.bodies, *scene.ghosts, *scene.frames]
        self.place([_pose(item, k) for item in items])
        self._show_layers(k)

    def _show_layers(self, k: int) -> None:
        """Show the parts of traces, and the force, of a time."""
        scene = self._scene
        for handle, remains, shade in self._shades:
            visible = round(SHADES * float(remains[k])) == shade
            if handle.visible != visible:
                handle.visible = visible
        for handle, since in self._pieces:
            visible = since <= k and 'paths' not in self._hidden
            if handle.visible != visible:
                handle.visible = visible
        for frame in scene.frames:
            if (w := frame.wrench) is not None:
                self.push(frame, w.force[k] * w.scale, float(w.mu[k]))

    def place(self, poses: Sequence[Pose | None]) -> None:
        """
        Set the poses of bodies, ghosts and frames, in this order; send those that moved.

        Parameters
        ----------
        poses
            Poses in the world; None for an invisible one.

        """
        for i, (handle, pose) in enumerate(zip(self._moving, poses, strict=True)):
            if pose == self._placed[i]:
                continue
            self._placed[i] = pose
            if handle.visible != (pose is not None):
                handle.visible = pose is not None
            if pose is not None:
                handle.position, handle.wxyz = pose[:3], pose[3:]

    def remove(self) -> None:
        """Take everything away that is part of a body or a frame."""
        for handle in self._moving:
            handle.remove()

    def push(self, frame: Frame, arrow: Sequence[float] | Values, mu: float) -> None:
        """
        Show the contact force in a frame of the scene.

        Parameters
        ----------
        frame
            The frame.
        arrow
            From its origin, in its axes, as long as it is to be drawn [m].
        mu
            Coefficient of friction: of the cone.

        """
        if frame.name not in self._forces:
            self._forces[frame.name] = self._add_wrench(frame)
        force, cone = self._forces[frame.name]
        x, y, z = (float(v) for v in arrow)
        pushes = math.isfinite(x + y + z) and z > 0 and 'force' not in self._hidden
        if force.visible != pushes:
            force.visible = cone.visible = pushes
            shown = any(f.visible for f, _ in self._forces.values())
            for mesh in self._solid:  # else a body would hide the force under it
                mesh.opacity = SEEN_THROUGH if shown else None
        if pushes:
            force.points = np.array([[[0, 0, 0], [x, y, z]]], dtype=float)
            cone.scale = (mu * z, mu * z, z)

    def _add_body(self, server: viser.ViserServer, path: str, body: Body, *, ghost: bool) -> None:
        self._moving.append(server.scene.add_frame(path, show_axes=False))
        for i, mesh in enumerate(body.meshes):
            added = _add_mesh(server, f'{path}/mesh_{i}', mesh)
            if body.is_above and mesh.opacity == 1:
                self._solid += added
        for i, line in enumerate(body.lines):
            pieces = np.stack([line.points[:-1], line.points[1:]], axis=1)
            pieces = pieces[np.isfinite(pieces).all(axis=(1, 2))]
            for shade in range(1, SHADES + 1) if ghost else (SHADES,):  # of which one is shown
                part = shade / SHADES
                r, g, b = (
                    part * c + (1 - part) * o for c, o in zip(line.colour, BACK, strict=True)
                )
                handle = server.scene.add_line_segments(
                    f'{path}/line_{i}_{shade}',
                    pieces,
                    rgb((r, g, b)),
                    thickness=(0.009 * self.size if ghost else 0.003 * self.wide) * line.width,
                    visible=shade == SHADES,
                )
                if ghost:
                    self._shades.append((handle, self._remaining[body.name], shade))

    def _add_trace(self, server: viser.ViserServer, trace: Trace) -> None:
        steps = np.unique(np.linspace(0, len(trace.points) - 1, POINTS).astype(int))
        name = trace.name.replace(' ', '_')
        path = f'/bodies/{trace.body}/{name}' if trace.body else f'/traces/{name}'
        for part in np.array_split(np.arange(len(steps) - 1), PIECES):
            if not len(part):
                continue
            ends = trace.points[steps[part]], trace.points[steps[part + 1]]
            segments = np.stack(ends, axis=1)
            segments = segments[np.isfinite(segments).all(axis=(1, 2))]
            if len(segments):
                handle = server.scene.add_line_segments(
                    f'{path}/{part[0]}', segments, rgb(trace.colour), thickness=0.008 * self.wide
                )
                self._pieces.append((handle, int(steps[part[0]])))

    def _add_wrench(self, frame: Frame) -> tuple[Any, Any]:
        path, scene = f'/frames/{frame.name}', self._server.scene
        force = scene.add_arrows(
            f'{path}/force',
            np.zeros((1, 2, 3)),
            rgb(FORCE),
            shaft_radius=0.008 * self.size,
            head_radius=0.02 * self.size,
            head_length=0.04 * self.size,
            visible=False,
        )
        rim = np.column_stack([np.cos(TURN), np.sin(TURN), np.ones_like(TURN)])
        cone = scene.add_mesh_simple(
            f'{path}/cone',
            np.vstack([np.zeros(3), rim]),
            np.array([[0, i, i + 1] for i in range(1, len(TURN))]),
            color=rgb(CONE),
            opacity=0.4,
            side='double',
            cast_shadow=False,
            receive_shadow=False,
            visible=False,
        )
        return force, cone


def _pose(item: Body | Frame, k: int) -> Pose | None:
    """Return the pose at the time with this index; None where there is none."""
    attitude = item.attitude[k].tolist()
    return (*item.position[k].tolist(), *attitude) if math.isfinite(sum(attitude)) else None


def _shadow() -> NDArray[np.uint8]:
    """Return the soft shadow of a body on a surface, darkest at the contact."""
    x, y = np.meshgrid(*[np.linspace(-1, 1, 65)] * 2)
    out = np.zeros((*x.shape, 4))
    out[..., 3] = DARK * np.clip(1 - np.hypot(x, y), 0, 1) ** 1.5
    return (255 * out).astype(np.uint8)


def _sizes(scene: Scene) -> tuple[float, float]:
    """Return the sizes of what rolls, and of all that moves [m]."""
    moving = [b for b in scene.bodies if b.layer and b.meshes]
    rolls = [b for b in moving if b.is_above]
    wide, size = (
        max((float(np.ptp(m.vertices, axis=0).max()) for b in of for m in b.meshes), default=1.0)
        for of in (moving, rolls or moving)
    )
    return size or 1.0, wide or 1.0


def _add_mesh(server: viser.ViserServer, path: str, mesh: Mesh) -> list[viser.MeshHandle]:
    """Send a mesh, one for each of its colours, and return these."""
    out = []
    kinds, which = np.unique(mesh.colours, axis=0, return_inverse=True)
    for i, colour in enumerate(kinds):
        quads = mesh.faces[which.ravel() == i]
        handle = server.scene.add_mesh_simple(
            f'{path}/{i}',
            mesh.vertices,
            quads[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3),
            color=rgb((float(colour[0]), float(colour[1]), float(colour[2]))),
            opacity=None if mesh.opacity == 1 else mesh.opacity,
            side='double' if mesh.opacity < 1 or not mesh.closed else 'front',
            cast_shadow=False,
            receive_shadow=False,
        )
        out.append(handle)
    return out


ASIDE = np.array([0.48, -0.64, 0.6])  # direction from which a scene is viewed
BACK: Colour = (0.93, 0.94, 0.95)  # in the middle of the background
SHADES = 6  # of the outline of a ghost as it is reached
DARK = 0.5  # of a shadow where bodies touch
VIEW = 0.55  # rad between bottom and top of a picture
USUAL, AIR = 1.25, 1.06  # width over height of a page, and size of the picture over its content
PANEL, PHONE = 340, 600  # width of the panel next to the picture [pixels], unless a page is narrow
_places: WeakKeyDictionary[viser.ViserServer, Values] = WeakKeyDictionary()  # that are visible


HERE = re.compile(r'https?://(localhost|127\.0\.0\.1|\[?::1\]?)(:\d+)?')  # pages of this machine


@contextmanager
def _origins_checked(host: str) -> Iterator[None]:
    """Let servers for this computer only reject pages from elsewhere in its browser."""
    logging.getLogger('websockets').setLevel(logging.CRITICAL)  # it logs tracebacks
    sockets, serve = vars(web_sockets), web_sockets.serve
    if HERE.fullmatch(f'http://{host}'):
        sockets['serve'] = partial(serve, origins=[HERE, None])
    try:
        yield
    finally:
        sockets['serve'] = serve


@contextmanager
def served(host: str, port: int) -> Iterator[viser.ViserServer]:
    """
    Yield a server, and stop it.

    Parameters
    ----------
    host
        Address on which it listens; 127.0.0.1 for this machine alone.
    port
        Its port; 0 for any that is free.

    Raises
    ------
    ParameterError
        The address cannot be used.

    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as e:
            raise ParameterError(
                f'--port: {host}:{port} cannot be used ({e}); give another, or 0 for any'
            ) from None
        chosen = probe.getsockname()[1]
    with redirect_stdout(io.StringIO()), _origins_checked(host):
        server = viser.ViserServer(host=host, port=chosen, label='rolling', verbose=False)
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    server.gui.main_panel.dock_right()
    height = np.linspace(0.97, 0.88, 64)[:, None, None] * np.array([1.0, 1.01, 1.02])
    server.scene.set_background_image((255 * np.minimum(height, 1.0)).astype(np.uint8))
    server.scene.set_up_direction('+z')
    # cheap for computers that render in software: no cast shadows, no reflections of the
    # surroundings, which an exported page would add to the lights unless they are dark
    server.scene.configure_default_lights(enabled=False)
    server.scene.configure_environment_map(None, environment_intensity=0.0)
    server.scene.add_light_hemisphere(
        '/sky',
        sky_color=(240, 246, 255),
        ground_color=(196, 186, 172),
        intensity=1.15,
        position=(0.0, 0.0, 1.0),
    )
    server.scene.add_light_directional(
        '/key', color=(255, 249, 240), intensity=1.5, position=(0.9, -0.35, 1.6)
    )
    server.on_client_connect(partial(_look_as_at_start, server, panel=PANEL))
    try:
        yield server
    finally:
        with redirect_stdout(io.StringIO()):
            server.stop()


def look_at(server: viser.ViserServer, places: Values) -> None:
    """Have visitors see places [m], shape (N, 3), from aside and above, as large as they can."""
    _places[server] = places
    server.initial_camera.up, server.initial_camera.fov = np.array([0.0, 0.0, 1.0]), VIEW
    position, middle = framed(places, VIEW, USUAL)
    server.initial_camera.position, server.initial_camera.look_at = position, middle
    for client in server.get_clients().values():
        _look_as_at_start(server, client)


def _look_as_at_start(
    server: viser.ViserServer, client: viser.ClientHandle, panel: int = 0
) -> None:
    """Reset the camera of a visitor; next to a panel [pixels] that appears later."""
    initial, away = server.initial_camera, 1.0
    if server in _places:
        wide, aspect = client.camera.image_width, client.camera.aspect
        aspect *= 1 - panel / wide if wide > PHONE else 1
        each = (framed(_places[server], VIEW, a) for a in (aspect, USUAL))
        own, usual = (float(np.linalg.norm(position - middle)) for position, middle in each)
        away = own / usual
    client.camera.fov = initial.fov
    client.camera.position = initial.look_at + away * (initial.position - initial.look_at)
    client.camera.look_at = initial.look_at


def framed(places: Values, fov: float, aspect: float) -> tuple[Values, Values]:
    """
    Return position and target of a camera whose picture points [m] fill, shape (N, 3).

    Parameters
    ----------
    places
        Points in the picture.
    fov
        Angle between bottom and top of the picture [rad].
    aspect
        Its width over its height.

    """
    right = np.cross([0.0, 0.0, 1.0], ASIDE)
    right /= np.linalg.norm(right)
    R = np.array([right, np.cross(ASIDE, right), ASIDE])
    turned, half = places @ R.T, np.tan(fov / 2) * np.array([aspect, 1.0]) / AIR
    centre = (turned.min(axis=0) + turned.max(axis=0)) / 2
    for _ in range(8):  # the nearer half is drawn larger: its middle is not the middle of the box
        from_middle = turned[:, :2] - centre[:2]
        away = float((turned[:, 2] + (np.abs(from_middle) / half).max(axis=1)).max())
        drawn = from_middle / (away - turned[:, 2:])
        centre[:2] += (drawn.min(axis=0) + drawn.max(axis=0)) / 2 * (away - centre[2])
    return R.T @ np.array([*centre[:2], away]), R.T @ centre


def look_at_motion(server: viser.ViserServer, scene: Scene, wide: float = 1.0) -> None:
    """Show visitors the ground and all positions of moving bodies, or a multiple of that."""
    places = []
    for body in scene.bodies:
        points = np.vstack([m.vertices for m in body.meshes] or [np.zeros((1, 3))])
        box = np.stack([points.min(axis=0), points.max(axis=0)])
        corners = np.array(list(product(*box.T)))
        turned = corners @ rotation_matrices(body.attitude).transpose(0, 2, 1)
        places.append((body.position[:, None] + turned).reshape(-1, 3))
    every = np.vstack(places)
    every = every[np.isfinite(every).all(axis=1)]
    middle = (every.min(axis=0) + every.max(axis=0)) / 2
    look_at(server, middle + wide * (every - middle))


def stop_request() -> threading.Event:
    """Return an event that SIGINT and SIGTERM set."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop


def ticks(
    stop: threading.Event, rate: float, clock: Callable[[], float] = time.monotonic
) -> Iterator[float]:
    """
    Yield the time [s] at each tick until asked to stop.

    Parameters
    ----------
    stop
        Set to end.
    rate
        Ticks per second. A tick that work or the machine made late does not move those after it;
        those that were missed altogether are left out.
    clock
        Steady clock [s].

    """
    begin, count = clock(), 0
    while not stop.wait(max(0.0, begin + count / rate - clock())):
        now = clock()
        yield now
        count = max(count + 1, int((clock() - begin) * rate))
