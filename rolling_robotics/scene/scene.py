"""A scene: bodies with their surfaces, moving, and what is drawn about their contact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.attitudes import without_jumps
from rolling_dynamics.errors import ParameterError

Values = NDArray[np.float64]
Colour = tuple[float, float, float]
GROUND, ABOVE = 0, 1  # layers: what lies under everything else, and the rest


def layer_of(part: str) -> int:
    """Return the layer of a part by its name: board and plate lie under what rolls on them."""
    return GROUND if part in ('board', 'plate') else ABOVE


@dataclass(frozen=True, eq=False, kw_only=True)
class Mesh:
    """
    A surface made of quadrilaterals.

    Attributes
    ----------
    vertices
        Shape (N, 3) [m], in the frame of the body; anticlockwise as seen from outside.
    faces
        Shape (M, 4), indices of vertices; a triangle repeats its last one.
    colours
        Shape (M, 3), red, green, blue from 0 to 1.
    opacity
        1 for a body that hides what is in it.
    closed
        Whether its inside is never seen.
    layer
        GROUND or ABOVE.

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
        What it looks like.
    layer
        GROUND or ABOVE.

    """

    name: str
    position: Values
    attitude: Values
    meshes: tuple[Mesh, ...] = ()
    lines: tuple[Line, ...] = ()
    layer: int = ABOVE


@dataclass(frozen=True, eq=False, kw_only=True)
class Frame:
    """A frame that moves: ``position`` (T, 3) [m] and ``attitude`` (T, 4), NaN where none is."""

    name: str
    position: Values
    attitude: Values


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """Path of the contact over a body: ``points`` (T, 3) [m] in its frame; '' is the world."""

    name: str
    body: str
    points: Values
    colour: Colour


@dataclass(frozen=True, eq=False, kw_only=True)
class Wrench:
    """
    Contact force and its friction cone.

    Attributes
    ----------
    force
        On the object, shape (T, 3) [N], in the contact frame ``Scene.frames[0]``.
    mu
        Coefficient of friction, shape (T,).
    scale
        Length of the arrow for one newton [m].

    """

    force: Values
    mu: Values
    scale: float


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
        Contact frames; the first is that of the hand or the floor.
    traces, wrench, strips
        Paths of the contact, its force, and curves.

    """

    title: str
    system: str
    times: Values
    bodies: tuple[Body, ...]
    ghosts: tuple[Body, ...] = ()
    frames: tuple[Frame, ...] = ()
    traces: tuple[Trace, ...] = ()
    wrench: Wrench | None = None
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
                )
                for f in self.frames
            ),
            traces=tuple(replace(t, points=at(t.points)) for t in self.traces),
            wrench=self.wrench
            and replace(self.wrench, force=at(self.wrench.force), mu=at(self.wrench.mu)),
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
    share = np.clip((new - times[k]) / width, 0, 1).reshape(-1, *([1] * (values.ndim - 1)))
    out: Values = np.where(
        share == 0, values[k], np.where(share == 1, values[k + 1], _mix(values, k, share))
    )
    return out


def _mix(values: Values, k: NDArray[np.int64], share: Values) -> Values:
    mixed: Values = values[k] * (1 - share) + values[k + 1] * share
    return mixed


def resample_attitude(times: Values, attitude: Values, new: Values) -> Values:
    """Return unit quaternions at new times, shape (N, 4), the short way between two."""
    q = resample(times, without_jumps(attitude), new)
    unit: Values = q / np.linalg.norm(q, axis=1, keepdims=True)
    return unit


def still(count: int) -> tuple[Values, Values]:
    """Return position and attitude of what does not move, at ``count`` times."""
    return np.zeros((count, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))


def rotation_matrices(attitude: Values) -> Values:
    """Return rotation matrices, shape (T, 3, 3), of unit quaternions wxyz."""
    w, x, y, z = attitude.T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.moveaxis(np.array(rows), 2, 0)
