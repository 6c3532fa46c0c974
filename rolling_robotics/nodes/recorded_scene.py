"""The scene of a recording: poses and markers by time."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from rolling_dynamics.errors import ParameterError
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.scene.parts import (
    box_mesh,
    cylinder_mesh,
    error_strips,
    moved_mesh,
    ON_BODY,
    ON_GROUND,
    sphere_mesh,
)
from rolling_robotics.scene.scene import (
    ABOVE,
    Body,
    Colour,
    Frame,
    GROUND,
    in_body,
    layer_of,
    Line,
    Mesh,
    NANOSECONDS,
    resample,
    resample_attitude,
    rotation_matrices,
    Scene,
    Strip,
    Trace,
    Transforms,
    Values,
    Wrench,
)

CUBE, SPHERE, CYLINDER, LINE_STRIP, TRIANGLE_LIST = 1, 2, 3, 4, 11  # of visualization_msgs/Marker
ROUND = 12  # cells of a small ball


Shapes = tuple[tuple[Mesh, ...], tuple[Line, ...]]


def marker_shapes(marker: Any) -> Shapes:
    """Return the mesh of a marker in its frame; nothing if its type is not drawn."""
    rgba = (marker.color.r, marker.color.g, marker.color.b, marker.color.a)
    colour: Colour = (float(rgba[0]), float(rgba[1]), float(rgba[2]))
    if marker.type == TRIANGLE_LIST and len(marker.points):
        return (_placed(_triangles(marker), marker),), ()
    if marker.type == LINE_STRIP and len(marker.points) > 1:
        return (), (Line(points=_points(marker), colour=colour, width=1.5),)
    scale = np.array([marker.scale.x, marker.scale.y, marker.scale.z])
    opacity = float(rgba[3])
    if marker.type == SPHERE:
        ball = sphere_mesh(0.5, (colour, colour), opacity=opacity, cells=ROUND)
        return (_placed(replace(ball, vertices=ball.vertices * scale), marker),), ()
    if marker.type == CYLINDER:
        tin = cylinder_mesh(0.5, 0.5, (colour, colour), opacity=opacity)
        return (_placed(replace(tin, vertices=tin.vertices * scale), marker),), ()
    if marker.type == CUBE:
        box = box_mesh(scale.tolist(), colour, opacity=opacity)
        return (_placed(replace(box, layer=layer_of(marker.ns)), marker),), ()
    return (), ()


def _points(marker: Any) -> Values:
    return np.array([[p.x, p.y, p.z] for p in marker.points])


def _triangles(marker: Any) -> Mesh:
    points = _points(marker)
    corners = np.arange(len(points)).reshape(-1, 3)
    if len(marker.colors) == len(points):
        rgba = np.array([[c.r, c.g, c.b, c.a] for c in marker.colors])[::3]
    else:
        c = marker.color
        rgba = np.tile([c.r, c.g, c.b, c.a], (len(corners), 1))
    return Mesh(
        vertices=points,
        faces=corners[:, [0, 1, 2, 2]],
        colours=rgba[:, :3],
        opacity=float(rgba[:, 3].mean()),
        closed=False,
    )


def _placed(mesh: Mesh, marker: Any) -> Mesh:
    """Return a mesh at the pose of its marker."""
    p, q = marker.pose.position, marker.pose.orientation
    R = rotation_matrices(np.array([[q.w, q.x, q.y, q.z]]))[0]
    return moved_mesh(mesh, R, np.array([p.x, p.y, p.z]))


RATE = 50.0  # times of the scene a second
MOST = 20_000  # of them
CONTACT_FRAMES = ('contact_hand', 'contact_object', 'contact_link')
BASE = 'base_footprint'  # below a robot on a floor
STILL = ('world', 'odom', 'hand')  # frames of what lies under the rest
LATCHED = ('simulator/surfaces', 'simulator/markers')
GHOST_TOPIC = 'plan/object'


def recorded_scene(recorded: Recorded, frame_prefix: str = '') -> Scene:
    """
    Return the scene of a recording.

    Parameters
    ----------
    recorded
        It must hold ``/tf``; ``simulator/surfaces`` and ``simulator/markers`` give bodies,
        ``contact/wrench`` and ``contact/state`` forces and curves.
    frame_prefix
        Put before the names of the robot's frames; they are named without it.

    Raises
    ------
    ParameterError
        There is no motion in it.

    """
    frames = Transforms(frame_prefix)
    for _, _, message in recorded.messages(['tf']):
        frames.take(message.transforms)
    stamps = frames.stamps
    if len(stamps) < 2:
        which = f' with frames that begin with {frame_prefix!r}' if frame_prefix else ''
        raise ParameterError(f'{recorded.path}: holds no /tf{which}, there is nothing to show')
    count = int(np.clip((stamps[-1] - stamps[0]) * RATE, 2, MOST))
    times = np.linspace(stamps[0], stamps[-1], count)
    bodies = _bodies(recorded, frames, times, frame_prefix)
    acts_in = (m.header.frame_id for _, _, m in recorded.messages(['contact/wrench']))
    contact = contact_frames(frames.frames, next(acts_in, '').removeprefix(frame_prefix))
    force = _series(recorded, 'contact/wrench', times, _force)
    state = _series(recorded, 'contact/state', times, _state)
    size = max((np.ptp(m.vertices) for b in bodies if b.layer for m in b.meshes), default=1.0)
    rolling = rolling_frame(frames.frames, [b.name for b in bodies])
    ghosts = _ghosts(recorded, [b for b in bodies if b.name == rolling], times)
    wrench = _wrench(force, state, float(size))
    return Scene(
        title=recorded.path.name,
        system='recording',
        times=times - times[0],
        bodies=tuple(bodies),
        ghosts=ghosts,
        frames=tuple(
            Frame(f, *frames.poses(f, times), None if k else wrench) for k, f in enumerate(contact)
        ),
        traces=_traces(
            contact, [b for b in bodies if b.name == rolling or not b.is_above], frames, times
        ),
        strips=(*_strips(force, state), *error_strips(bodies, ghosts)),
    )


def contact_frames(known: Container[str], acts_in: str) -> list[str]:
    """Return the frames at the contact, the one in which the force acts first."""
    found = [f for f in dict.fromkeys((acts_in, *CONTACT_FRAMES)) if f in known]
    return found if found or BASE not in known else [BASE]


def rolling_frame(known: Container[str], bodies: Iterable[str]) -> str:
    """Return the frame of what rolls: an object, or a robot's first body; empty if neither is."""
    first = next((name for name in bodies if name not in STILL), '')
    return 'object' if 'object' in known else first if BASE in known else ''


def _bodies(recorded: Recorded, frames: Transforms, times: Values, prefix: str) -> list[Body]:
    """Return one body for each frame that has shapes."""
    markers: dict[tuple[str, str, int], Any] = {}
    for topic, _, message in recorded.messages(LATCHED):
        for marker in message.markers:
            moves = topic == 'simulator/markers' and not marker.frame_locked
            if not moves and not (marker.type == LINE_STRIP and marker.ns == 'contact'):
                frame = marker.header.frame_id.removeprefix(prefix)
                markers[frame, marker.ns, marker.id] = marker
    shapes = {key: marker_shapes(marker) for key, marker in markers.items()}
    return bodies_of(shapes, lambda frame: frames.poses(frame, times))


def bodies_of(
    shapes: Mapping[tuple[str, str, int], Shapes], pose: Callable[[str], tuple[Values, Values]]
) -> list[Body]:
    """
    Return one body for each frame that has shapes.

    Parameters
    ----------
    shapes
        By frame, namespace and number of their marker.
    pose
        From a frame to its position [m], shape (T, 3), and attitude (w, x, y, z), shape (T, 4).

    """
    out = []
    for name in dict.fromkeys(key[0] for key in shapes):
        parts = [shapes[key] for key in shapes if key[0] == name]
        position, attitude = pose(name)
        body = Body(
            name=name,
            position=position,
            attitude=attitude,
            meshes=tuple(m for meshes, _ in parts for m in meshes),
            lines=tuple(line for _, lines in parts for line in lines),
            layer=GROUND if name in STILL else ABOVE,
        )
        out.append(body)
    return out


def _ghosts(recorded: Recorded, rolling: list[Body], times: Values) -> tuple[Body, ...]:
    """Return what rolls as the plan moves it; where none was executed yet, at its start."""
    starts_sent = [_seconds(m.header.stamp) for _, _, m in recorded.messages(['execution/plan'])]
    ghosts = []
    for _, _, message in recorded.messages([GHOST_TOPIC]):
        if not len(message.points):
            continue
        rows = [(_seconds(p.time_from_start), p.transforms[0]) for p in message.points]
        at = np.array([t for t, _ in rows])
        starts = np.array(sorted(starts_sent) or [_seconds(message.header.stamp) or times[0]])
        latest = np.clip(np.searchsorted(starts, times, side='right') - 1, 0, None)
        now = times - starts[latest]
        place = np.array([[x.translation.x, x.translation.y, x.translation.z] for _, x in rows])
        turn = np.array(
            [[x.rotation.w, x.rotation.x, x.rotation.y, x.rotation.z] for _, x in rows]
        )
        ghosts = [
            Body(
                name=body.name,
                position=resample(at, place, now),
                attitude=resample_attitude(at, turn, now),
                meshes=body.meshes,
            )
            for body in rolling
        ]
    return tuple(ghosts)


def _seconds(stamp: Any) -> float:
    return float(stamp.sec + stamp.nanosec / NANOSECONDS)


def _force(message: Any) -> list[float]:
    f = message.wrench.force
    return [f.x, f.y, f.z]


def _state(message: Any) -> list[float]:
    return [message.friction_utilisation, message.spin_utilisation, message.required_friction]


def _series(recorded: Recorded, topic: str, times: Values, read: Any) -> Values | None:
    """Return values of a topic at times, or None if there are not two messages of it."""
    rows = {_seconds(m.header.stamp): read(m) for _, _, m in recorded.messages([topic])}
    if len(rows) < 2:
        return None
    at = np.array(sorted(rows))
    return resample(at, np.array([rows[t] for t in at]), times)


def _wrench(force: Values | None, state: Values | None, size: float) -> Wrench | None:
    if force is None:
        return None
    top = float(np.nanmax(np.abs(force[:, 2]))) or 1.0
    mu = np.ones(len(force))
    if state is not None:  # required friction and its fraction of mu
        with np.errstate(divide='ignore', invalid='ignore'):
            found = state[:, 2] / state[:, 0]
        mu[:] = np.nanmedian(found[np.isfinite(found)]) if np.isfinite(found).any() else 1.0
    return Wrench(force=force, mu=mu, scale=0.6 * size / top)


def _strips(force: Values | None, state: Values | None) -> tuple[Strip, ...]:
    strips = []
    if state is not None:
        curves: Mapping[str, Values] = {'|f_t| / mu f_n': state[:, 0]}
        strips.append(Strip(title='friction used', unit='', curves=curves, limit=1.0))
    if force is not None:
        strips.append(
            Strip(title='normal force', unit='N', curves={'f_n': force[:, 2]}, limit=0.0)
        )
    return tuple(strips)


def _traces(
    contact: list[str], bodies: list[Body], frames: Transforms, times: Values
) -> tuple[Trace, ...]:
    """Return the path of the contact point over both surfaces, or else in the world."""
    if not contact:
        return ()
    points = frames.poses(contact[0], times)[0]
    traces = tuple(
        Trace(
            name=f'on {body.name}',
            body=body.name,
            points=in_body(body.position, body.attitude, points),
            colour=ON_BODY if body.is_above else ON_GROUND,
        )
        for body in bodies
    )
    return traces or (Trace(name='contact', body='', points=points, colour=ON_GROUND),)
