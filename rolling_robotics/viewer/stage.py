"""A scene on a server: what is sent once, and what changes with time."""

from __future__ import annotations

from typing import Any

import numpy as np
from rolling_robotics.scene.scene import Body, Colour, Frame, Mesh, Scene, Trace, Values, Wrench
import viser

GHOST: Colour = (0.0, 0.62, 0.45)
CONE: Colour = (0.8, 0.47, 0.65)
FORCE: Colour = (0.0, 0.35, 0.25)
PIECES = 24  # of a trace: as many parts come into sight one after the other
POINTS = 800  # of a trace that are sent
TURN = np.linspace(0, 2 * np.pi, 33)


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
        self.size = _size(scene)
        self._moving: list[Any] = []  # handles of bodies, ghosts and frames, in this order
        self._pieces: list[tuple[Any, int]] = []
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
        for trace in scene.traces:
            self._add_trace(server, trace)
        self._force: Any = None
        if scene.wrench is not None and scene.frames:
            self._add_wrench(server, scene.frames[0], scene.wrench)

    def show(self, k: int) -> None:
        """Show the time with this index."""
        scene = self._scene
        items: list[Body | Frame] = [*scene.bodies, *scene.ghosts, *scene.frames]
        for handle, item in zip(self._moving, items, strict=True):
            seen = bool(np.isfinite(item.attitude[k]).all())
            if handle.visible != seen:
                handle.visible = seen
            if seen:
                handle.position, handle.wxyz = item.position[k], item.attitude[k]
        for handle, since in self._pieces:
            visible = since <= k
            if handle.visible != visible:
                handle.visible = visible
        if self._force is not None:
            self._show_force(k)

    def move_to(self, scene: Scene) -> None:
        """Show the first time of another scene with the same bodies, ghosts and frames."""
        if self._force is None and scene.wrench is not None and scene.frames:
            self._add_wrench(self._server, scene.frames[0], scene.wrench)
        self._scene = scene
        self.show(0)

    def _add_body(self, server: viser.ViserServer, path: str, body: Body, *, ghost: bool) -> None:
        self._moving.append(server.scene.add_frame(path, show_axes=False))
        for i, mesh in enumerate(body.meshes):
            _add_mesh(server, f'{path}/mesh_{i}', mesh, ghost=ghost)
        for i, line in enumerate(body.lines):
            server.scene.add_line_segments(
                f'{path}/line_{i}',
                np.stack([line.points[:-1], line.points[1:]], axis=1),
                rgb(line.colour),
                thickness=0.003 * self.size * line.width,
            )

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
                    f'{path}/{part[0]}', segments, rgb(trace.colour), thickness=0.008 * self.size
                )
                self._pieces.append((handle, int(steps[part[0]])))

    def _add_wrench(self, server: viser.ViserServer, frame: Frame, wrench: Wrench) -> None:
        path = f'/frames/{frame.name}'
        self._force = server.scene.add_arrows(
            f'{path}/force',
            np.zeros((1, 2, 3)),
            rgb(FORCE),
            shaft_radius=0.008 * self.size,
            head_radius=0.02 * self.size,
            head_length=0.04 * self.size,
        )
        mu = float(np.nanmedian(wrench.mu))
        rim = np.column_stack([mu * np.cos(TURN), mu * np.sin(TURN), np.ones_like(TURN)])
        self._cone = server.scene.add_mesh_simple(
            f'{path}/cone',
            np.vstack([np.zeros(3), rim]),
            np.array([[0, i, i + 1] for i in range(1, len(TURN))]),
            color=rgb(CONE),
            opacity=0.2,
            side='double',
            cast_shadow=False,
            receive_shadow=False,
        )

    def _show_force(self, k: int) -> None:
        wrench = self._scene.wrench
        if wrench is None:
            return
        force = wrench.force[k] * wrench.scale
        pushes = bool(np.isfinite(force).all() and force[2] > 0)
        if self._force.visible != pushes:
            self._force.visible = self._cone.visible = pushes
        if pushes:
            self._force.points = np.array([[np.zeros(3), force]])
            self._cone.scale = float(force[2])


def _size(scene: Scene) -> float:
    """Return the size of what moves [m]."""
    vertices = [m.vertices for b in scene.bodies if b.layer for m in b.meshes]
    return float(max((np.ptp(v, axis=0).max() for v in vertices), default=1.0)) or 1.0


def _add_mesh(server: viser.ViserServer, path: str, mesh: Mesh, *, ghost: bool) -> None:
    """Send a mesh: one for each of its colours."""
    kinds, which = np.unique(mesh.colours, axis=0, return_inverse=True)
    opacity = 0.25 if ghost else mesh.opacity
    for i, colour in enumerate([np.array(GHOST)] if ghost else kinds):
        chosen: Values = np.ones(len(which), dtype=bool) if ghost else which.ravel() == i
        quads = mesh.faces[chosen]
        server.scene.add_mesh_simple(
            f'{path}/{i}',
            mesh.vertices,
            quads[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3),
            color=rgb((float(colour[0]), float(colour[1]), float(colour[2]))),
            opacity=None if opacity == 1 else opacity,
            side='double' if mesh.opacity < 1 or not mesh.closed else 'front',
            cast_shadow=False,
            receive_shadow=False,
        )
