"""Scene of a motion: bodies, lines, poses and frames by time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.robots.view import BOARDS, CONE, FORCE, GHOST
from rolling_dynamics.rotations import without_jumps
from transforms3d.quaternions import qmult, rotate_vector

Values = Array
Colour = tuple[float, float, float]
AXES: tuple[Colour, ...] = ((0.8, 0.1, 0.1), (0.1, 0.6, 0.1), (0.1, 0.1, 0.8))  # x, y, z
UNDER, GROUND, ABOVE = -1, 0, 1  # layers: under a plate, what lies under the rest, and the rest


def layer_of(part: str) -> int:
    """Return the layer of a part by its name: board and plate lie under what rolls on them."""
    return GROUND if part in BOARDS else ABOVE


@dataclass(frozen=True, eq=False, kw_only=True)
class Mesh:
    """
    A surface made of quadrilaterals.

    Attributes
    ----------
    vertices
        Shape (N, 3) [m], in the frame of the body; anticlockwise from outside.
    faces
        Shape (M, 4), indices of vertices; a triangle repeats its last one.
    colours
        Shape (M, 3), red, green, blue from 0 to 1.
    opacity
        1 for a body that hides its inside.
    closed
        Whether its inside is never visible.
    layer
        UNDER, GROUND or ABOVE.

    """

    vertices: Values
    faces: NDArray[np.int64]
    colours: Values
    opacity: float = 1.0
    closed: bool = True
    layer: int = ABOVE

    @property
    def triangles(self) -> NDArray[np.int64]:
        """The faces cut in two, each by the index of its corners, shape (2M, 3)."""
        return self.faces[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)


@dataclass(frozen=True, eq=False, kw_only=True)
class Line:
    """A line through points of shape (N, 3) [m] in the frame of a body."""

    points: Values
    colour: Colour = (0.35, 0.35, 0.35)
    width: float = 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Body:
    """
    A body that moves.

    Attributes
    ----------
    name
        Name of the body.
    position, attitude
        Shapes (T, 3) [m] and (T, 4), unit quaternion wxyz, in the world.
    meshes, lines
        Meshes and lines of the body.
    layer
        GROUND or ABOVE.

    """

    name: str
    position: Values
    attitude: Values
    meshes: tuple[Mesh, ...] = ()
    lines: tuple[Line, ...] = ()
    layer: int = ABOVE

    @property
    def is_above(self) -> bool:
        """True if all of it lies above the rest."""
        return {self.layer, *(m.layer for m in self.meshes)} == {ABOVE}


@dataclass(frozen=True, eq=False, kw_only=True)
class Wrench:
    """
    Contact force and its friction cone.

    Attributes
    ----------
    force
        On the object, shape (T, 3) [N], in the frame that holds it.
    mu
        Coefficient of friction, shape (T,).
    scale
        Length of the arrow for one newton [m].

    """

    force: Values
    mu: Values
    scale: float


@dataclass(frozen=True, eq=False)
class Frame:
    """
    A frame that moves.

    Attributes
    ----------
    name
        Name of the frame.
    position, attitude
        Shapes (T, 3) [m] and (T, 4), in the world; NaN where there is none.
    wrench
        Force of the contact that acts at its origin, if one does.

    """

    name: str
    position: Values
    attitude: Values
    wrench: Wrench | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """Path of the contact over a body: ``points`` (T, 3) [m] in its frame; '' is the world."""

    name: str
    body: str
    points: Values
    colour: Colour


@dataclass(frozen=True, eq=False, kw_only=True)
class Strip:
    """Curves over time below the picture: name -> shape (T,), in one unit, perhaps a limit."""

    title: str
    unit: str
    curves: Mapping[str, Values]
    limit: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """
    Everything that is drawn, over time.

    Attributes
    ----------
    title, system
        For people.
    times, time_unit
        Shape (T,); ``s``, or ``m`` where the arc length drives.
    bodies, ghosts
        Bodies as they moved, and as they were planned to move.
    frames
        Contact frames, with the force of each; the first belongs to the hand or the floor.
    traces, strips
        Paths of the contact, and curves.

    """

    title: str
    system: str
    times: Values
    bodies: tuple[Body, ...]
    ghosts: tuple[Body, ...] = ()
    frames: tuple[Frame, ...] = ()
    traces: tuple[Trace, ...] = ()
    strips: tuple[Strip, ...] = field(default=())
    time_unit: str = 's'

    def body(self, name: str) -> Body:
        """Return a body; ParameterError if there is none of this name."""
        for body in self.bodies:
            if body.name == name:
                return body
        raise ParameterError(
            f'no body {name!r}; there are: {", ".join(b.name for b in self.bodies)}'
        )

    @property
    def legend(self) -> dict[str, Colour]:
        """Labels of bodies and paths in space, and their colours."""
        moves = any(np.ptp(ghost.position, axis=0).any() for ghost in self.ghosts)
        out = {'plan' if moves else 'where the plan ends': GHOST[0]} if self.ghosts else {}
        if any(frame.wrench for frame in self.frames):
            out |= {'contact force': FORCE, 'friction cone': CONE}
        out |= {f'path {t.name.removeprefix("path ")}': t.colour for t in self.traces}
        if self.frames:
            out |= {f'contact frame, {n}': c for n, c in zip('xyz', AXES, strict=True)}
        return out

    def remaining(self, ghost: Body) -> Values:
        """
        Return how far a body is from its ghost, shape (T,): from 1, in its sizes and rad, to 0.

        It is 1 all the time for a ghost that moves.
        """
        body = self.body(ghost.name)
        if np.ptp(ghost.position, axis=0).any():
            return np.ones(len(self.times))
        points = np.vstack([np.ones((1, 3)) * 1e-9, *(line.points for line in ghost.lines)])
        size = float(np.nanmax(np.linalg.norm(points, axis=1)))
        away = np.linalg.norm(body.position - ghost.position, axis=1) / size
        cosine = np.abs((body.attitude * ghost.attitude).sum(axis=1))
        left: Values = np.maximum(away, 2 * np.arccos(np.minimum(cosine, 1.0))).clip(0.0, 1.0)
        return left

    def resampled(self, times: ArrayLike) -> Scene:
        """Return the scene at other times [s], shape (N,), by interpolation between its own."""
        new = np.asarray(times, dtype=float)

        def moved(item: Body) -> Body:
            return replace(
                item,
                position=resample(self.times, item.position, new),
                attitude=resample_attitude(self.times, item.attitude, new),
            )

        def at(values: Values) -> Values:
            return resample(self.times, values, new)

        return replace(
            self,
            times=new,
            bodies=tuple(moved(b) for b in self.bodies),
            ghosts=tuple(moved(b) for b in self.ghosts),
            frames=tuple(
                replace(
                    f,
                    position=at(f.position),
                    attitude=resample_attitude(self.times, f.attitude, new),
                    wrench=f.wrench
                    and replace(f.wrench, force=at(f.wrench.force), mu=at(f.wrench.mu)),
                )
                for f in self.frames
            ),
            traces=tuple(replace(t, points=at(t.points)) for t in self.traces),
            strips=tuple(
                replace(s, curves={n: at(v) for n, v in s.curves.items()}) for s in self.strips
            ),
        )


def resample(times: Values, values: Values, new: Values) -> Values:
    """Return values, shape (T, ...), at new times, linearly between and constant beyond."""
    if len(times) < 2:
        return np.repeat(values[:1], len(new), axis=0)
    k = np.clip(np.searchsorted(times, new, side='right') - 1, 0, len(times) - 2)
    width = np.maximum(times[k + 1] - times[k], 1e-300)
    fraction = np.clip((new - times[k]) / width, 0, 1).reshape(-1, *([1] * (values.ndim - 1)))
    out: Values = np.where(
        fraction == 0, values[k], np.where(fraction == 1, values[k + 1], _mix(values, k, fraction))
    )
    return out


def _mix(values: Values, k: NDArray[np.int64], fraction: Values) -> Values:
    mixed: Values = values[k] * (1 - fraction) + values[k + 1] * fraction
    return mixed


def resample_attitude(times: Values, attitude: Values, new: Values) -> Values:
    """Return unit quaternions at new times, shape (N, 4), the short way between two."""
    q = resample(times, without_jumps(attitude), new)
    unit: Values = q / np.linalg.norm(q, axis=1, keepdims=True)
    return unit


def still(count: int) -> tuple[Values, Values]:
    """Return position and attitude of what does not move, at ``count`` times."""
    return np.zeros((count, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))


def fixed_body(name: str, count: int, *meshes: Mesh) -> Body:
    """Return a body that does not move, at ``count`` times."""
    position, attitude = still(count)
    return Body(name=name, position=position, attitude=attitude, meshes=meshes)


def rotation_matrices(attitude: Values) -> Values:
    """Return rotation matrices, shape (T, 3, 3), of unit quaternions wxyz."""
    w, x, y, z = attitude.T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.moveaxis(np.array(rows), 2, 0)


Pose = tuple[float, ...]  # x, y, z [m] and a unit quaternion w, x, y, z
IDENTITY: Pose = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


def compose(a: Sequence[float], b: Sequence[float]) -> Pose:
    """Return the product of two poses: ``a`` of B in A, and ``b`` of a body in B."""
    place = np.add(a[:3], rotate_vector(b[:3], a[3:]))
    return (*place.tolist(), *qmult(a[3:], b[3:]).tolist())


NANOSECONDS = 1_000_000_000
MOST_OTHERS = 20  # names that are kept; anybody may send any number


class Transforms:
    """
    All transforms of a robot by child frame.

    Attributes
    ----------
    others
        Some frames that were left out, as their names lack the prefix of the robot.

    """

    def __init__(self, prefix: str = '') -> None:
        """Take the frames whose names start with a prefix, and remove the prefix."""
        self._prefix = prefix
        self._parents: dict[str, str] = {}
        self._rows: dict[str, list[tuple[float, ...]]] = {}
        self.others: set[str] = set()

    def take(self, transforms: Iterable[Any]) -> None:
        """Take the transforms of a message."""
        for t in transforms:
            if not t.child_frame_id.startswith(self._prefix):
                if len(self.others) < MOST_OTHERS:
                    self.others.add(t.child_frame_id)
                continue
            child = t.child_frame_id.removeprefix(self._prefix)
            stamp = t.header.stamp.sec + t.header.stamp.nanosec / NANOSECONDS
            p, q = t.transform.translation, t.transform.rotation
            row = (stamp, p.x, p.y, p.z, q.w, q.x, q.y, q.z)
            self._parents[child] = t.header.frame_id.removeprefix(self._prefix)
            self._put(self._rows.setdefault(child, []), row)

    def _put(self, rows: list[tuple[float, ...]], row: tuple[float, ...]) -> None:
        rows.append(row)

    @property
    def frames(self) -> set[str]:
        """Frames that are known, the root too."""
        return {*self._parents, *self._parents.values()}

    @property
    def stamps(self) -> Values:
        """All stamps in order [s]."""
        every = {row[0] for rows in self._rows.values() for row in rows}
        return np.array(sorted(every))

    def poses(self, frame: str, times: Values) -> tuple[Values, Values]:
        """
        Return position and attitude of a frame in the root.

        Parameters
        ----------
        frame
            Name of the frame; the root is fixed.
        times
            Times [s], shape (T,).

        Returns
        -------
        position, attitude
            Shapes (T, 3) [m] and (T, 4), unit quaternions wxyz.

        """
        position, attitude = still(len(times))
        passed = set()
        while frame in self._parents and frame not in passed:
            passed.add(frame)
            p, q = self._own(frame, times)
            position = p + np.einsum('tij,tj->ti', rotation_matrices(q), position)
            attitude = np.array([qmult(a, b) for a, b in zip(q, attitude, strict=True)])
            frame = self._parents[frame]
        return position, attitude

    def _own(self, frame: str, times: Values) -> tuple[Values, Values]:
        rows = np.array(self._rows[frame])
        rows = rows[np.unique(rows[:, 0], return_index=True)[1]]
        return (
            resample(rows[:, 0], rows[:, 1:4], times),
            resample_attitude(rows[:, 0], rows[:, 4:8], times),
        )


class NewestFrames(Transforms):
    """The newest transform of every frame of a robot."""

    def __init__(self, prefix: str = '') -> None:
        """Take the frames whose names start with a prefix, and remove the prefix."""
        super().__init__(prefix)
        self._known: dict[str, Pose] = {}  # poses in the root since the last transform

    def _put(self, rows: list[tuple[float, ...]], row: tuple[float, ...]) -> None:
        rows[:] = [row]
        self._known.clear()

    def __contains__(self, frame: object) -> bool:
        """Return whether a frame came as a child."""
        return frame in self._rows

    def __bool__(self) -> bool:
        """Return whether there is any."""
        return bool(self._rows)

    def pose(self, frame: str) -> Pose:
        """Return the pose of a frame in the root; an unknown one is fixed."""
        chain: list[str] = []
        while frame in self._rows and frame not in self._known and frame not in chain:
            chain.append(frame)
            frame = self._parents[frame]
        pose = self._known.get(frame, IDENTITY)
        for name in reversed(chain):
            pose = self._known[name] = compose(pose, self._rows[name][0][1:])
        return pose


def in_body(position: Values, attitude: Values, points: Values) -> Values:
    """Return points of the root in a body that moves: shapes (T, 3), (T, 4), (T, 3)."""
    out: Values = np.einsum('tji,tj->ti', rotation_matrices(attitude), points - position)
    return out
