"""Problems of gaits: waypoints, obstacles, what sees what, and their sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
import heapq
import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from rolling_dynamics.pendulum_sphere.system import STATE
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.document import line_numbers
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.scenario.fields import Brought, entry, quantity, SECTION, several
from rolling_dynamics.scenario.pendulum_sphere import read_sphere

Point = tuple[float, float]
AMPLITUDE = 1.2  # rad, of a planned swing; beyond, more angle gives little more speed


@dataclass(frozen=True, kw_only=True)
class Waypoint:
    """
    A point to pass.

    Attributes
    ----------
    position
        Of the contact point, on the floor [m].
    tolerance
        Greatest distance of the path from it [m].
    wait
        Time to rest there [s]; None to pass without stopping.

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    position: Annotated[Point, entry(several(count=2, made=tuple), 'contact point', 'm')]
    tolerance: Annotated[float, quantity('maximum distance of the path', 'm', positive=True)] = (
        0.02
    )
    wait: Annotated[
        float | None,
        quantity('time to rest there; passed without stopping if left out', 's', least=0),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Circle:
    """
    A circle that the shell must not touch.

    Attributes
    ----------
    center, radius
        On the floor [m].

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    center: Annotated[Point, entry(several(count=2, made=tuple), 'on the floor', 'm')]
    radius: Annotated[float, quantity('of the obstacle', 'm', positive=True)]


@dataclass(frozen=True, kw_only=True)
class GaitProblem:
    """
    A manoeuvre from rest to rest.

    Attributes
    ----------
    params
        The sphere, with its slope.
    start
        Contact point at the start [m].
    waypoints
        In order; at the last one the sphere comes to rest.
    obstacles
        Keep-out circles.
    limits
        Of contact and drive.
    reserve
        Fraction of friction and torque that the plan may use; the rest is left to the feedback.
    clearance
        Least distance between shell and obstacle [m].
    max_speed
        Greatest speed [m/s].

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    params: Brought[SphereParameters]
    start: Brought[Point]
    waypoints: Annotated[
        Sequence[Waypoint],
        Field(
            description='points to pass, in order; the sphere comes to rest at the last one',
            min_length=1,
        ),
    ]
    obstacles: Annotated[
        Sequence[Circle], Field(description='circles that the shell must not touch')
    ] = ()
    limits: Annotated[GaitLimits, Field(description='of contact and drive')] = field(
        default_factory=GaitLimits
    )
    reserve: Annotated[
        float,
        quantity('fraction of friction and torque that the plan may use', positive=True, most=1),
    ] = 0.7
    clearance: Annotated[float, quantity('between shell and obstacle', 'm', least=0)] = 0.04
    max_speed: Annotated[float, quantity('(default: none)', 'm/s', positive=True)] = math.inf

    def __post_init__(self) -> None:
        """Refuse what no plan can meet."""
        if not self.waypoints:
            raise ParameterError('waypoints: one or more are needed, the last one is the goal')
        if not 0 < self.reserve <= 1:
            raise ParameterError(f'reserve is a share, above 0 and up to 1, got {self.reserve!r}')
        if not self.clearance >= 0:
            raise ParameterError(f'clearance must be zero or positive [m], got {self.clearance!r}')
        if not self.max_speed > 0:
            raise ParameterError(f'max_speed must be positive [m/s], got {self.max_speed!r}')
        for k, circle in enumerate(self.obstacles):
            if not (circle.radius > 0 and np.all(np.isfinite(circle.center))):
                raise ParameterError(f'obstacles[{k}]: a centre and a positive radius are needed')
        _ = self.params.equilibrium  # refuses a slope that cannot be held
        self._check_points()

    def _check_points(self) -> None:
        named = [('start', self.start)]
        named += [(f'waypoints[{k}]', w.position) for k, w in enumerate(self.waypoints)]
        for name, point in named:
            if not (len(point) == 2 and np.all(np.isfinite(point))):
                raise ParameterError(f'{name}: two finite numbers are needed [m], got {point!r}')
            for k, circle in enumerate(self.obstacles):
                keep = circle.radius + self.keep_off
                away = np.subtract(point, circle.center)
                distance = float(np.hypot(*away))
                if distance < keep:
                    out = away / distance if distance > 0 else np.array([1.0, 0.0])
                    near = np.add(circle.center, out * keep * (1 + 1e-9))
                    raise ParameterError(
                        f'{name} ({point[0]:.6g}, {point[1]:.6g}) lies inside obstacles[{k}]: '
                        f'{distance:.6g} m from its centre, {keep:.6g} m are needed (its radius, '
                        f"the shell's and the clearance); the nearest free point is "
                        f'({near[0]:.6g}, {near[1]:.6g})'
                    )
        for k, w in enumerate(self.waypoints):
            if not w.tolerance > 0 or (w.wait is not None and not w.wait >= 0):
                raise ParameterError(
                    f'waypoints[{k}]: tolerance must be positive [m] and wait zero or positive [s]'
                )

    @property
    def keep_off(self) -> float:
        """Distance that the contact point keeps from the rim of an obstacle [m]."""
        return self.params.shell_radius + self.clearance

    @property
    def planning_limits(self) -> GaitLimits:
        """Limits less the reserve."""
        mu = self.params.mu if self.limits.friction is None else self.limits.friction
        return GaitLimits(
            torque=self.limits.torque * self.reserve,
            friction=mu * self.reserve,
            normal_force=1 - (1 - self.limits.normal_force) * self.reserve,
            amplitude=min(self.limits.amplitude, AMPLITUDE),
        )

    def blocked(self, points: NDArray[np.float64], slack: float = 0.0) -> NDArray[np.bool_]:
        """Report which points, shape (k, 2) [m], are too near an obstacle."""
        out = np.zeros(len(points), dtype=bool)
        for c in self.obstacles:
            away = np.hypot(*(points - np.asarray(c.center)).T)
            out |= away < c.radius + self.keep_off - slack
        return out


@line_numbers
def read_gait_problem(scenario: Scenario) -> GaitProblem:
    """
    Return the manoeuvre that a scenario asks for.

    Parameters
    ----------
    scenario
        Of a sphere with a pendulum, with a section ``plan``; it begins at rest.

    Raises
    ------
    ScenarioError
        There is no such section, or an entry is wrong; the text begins with its path.

    """
    raw = scenario.raw.get('plan')
    if raw is None:
        raise ScenarioError('plan: is missing (the section with the waypoints of a manoeuvre)')
    velocities = [scenario.x0[STATE.slice(name)] for name in ('w_WS_W', 'w_WP_W')]
    if np.any(np.concatenate(velocities)):
        raise ScenarioError('initial: a manoeuvre begins at rest; leave velocity and spin out')
    x, y = scenario.x0[STATE.slice('contact')].tolist()
    return check(GaitProblem, raw, 'plan', {'params': read_sphere(scenario.raw), 'start': (x, y)})


CORNERS = 10  # of the polygon around a circle


class VisibilityGraph:
    """Polygons around circles, and which of their corners see each other."""

    def __init__(self, circles: Sequence[Circle], keep_off: float) -> None:
        """
        Build the graph.

        Parameters
        ----------
        circles
            Obstacles.
        keep_off
            Distance kept from their rims [m].

        """
        self.centers = np.array([c.center for c in circles], dtype=float).reshape(-1, 2)
        self.radii = np.array([c.radius + keep_off for c in circles])
        turn = 2 * np.pi * np.arange(CORNERS) / CORNERS
        ring = np.column_stack([np.cos(turn), np.sin(turn)]) / np.cos(np.pi / CORNERS)
        corners = [c + 1.001 * r * ring for c, r in zip(self.centers, self.radii, strict=True)]
        nodes = np.vstack(corners) if corners else np.zeros((0, 2))
        self.nodes = nodes[self._free(nodes)]
        self.lengths = self._edges(self.nodes, self.nodes)

    def shortest(
        self, start: Array, goal: Array, banned: frozenset[int] = frozenset()
    ) -> tuple[list[Array], list[int]] | None:
        """
        Return the shortest polyline from start to goal, and the corners that it uses.

        Parameters
        ----------
        start, goal
            Points [m].
        banned
            Corners that must not be used.

        Returns
        -------
        tuple or None
            Points from start to goal and the numbers of the corners in between; None if there
            is no way.

        """
        n = len(self.nodes)
        points = np.vstack([self.nodes, start, goal])
        ends = self._edges(points[n:], points)
        cost = np.full(n + 2, np.inf)
        cost[n] = 0
        before = np.full(n + 2, -1)
        queue, done = [(0.0, n)], np.zeros(n + 2, dtype=bool)
        done[list(banned)] = True
        while queue:
            d, k = heapq.heappop(queue)
            if done[k]:
                continue
            done[k] = True
            if k == n + 1:
                return self._trace(points, before, n)
            row = ends[k - n] if k >= n else np.append(self.lengths[k], ends[:, k])
            better = (d + row < cost - 1e-12) & ~done
            cost[better], before[better] = d + row[better], k
            for j in np.flatnonzero(better):
                heapq.heappush(queue, (float(cost[j]), int(j)))
        return None

    def _trace(
        self, points: Array, before: NDArray[np.int_], n: int
    ) -> tuple[list[Array], list[int]]:
        chain = [n + 1]
        while chain[-1] != n:
            chain.append(int(before[chain[-1]]))
        chain.reverse()
        return [points[k] for k in chain], chain[1:-1]

    def _free(self, points: Array) -> NDArray[np.bool_]:
        if not len(self.centers):
            return np.ones(len(points), dtype=bool)
        away = np.linalg.norm(points[:, None] - self.centers, axis=2)
        return np.array((away >= self.radii * (1 - 1e-9)).all(axis=1))

    def _edges(self, a: Array, b: Array) -> Array:
        """Return lengths from each of a to each of b; infinite where a circle is in between."""
        d = b[None] - a[:, None]
        length = np.linalg.norm(d, axis=2)
        blocked = length < 1e-12
        for c, r in zip(self.centers, self.radii, strict=True):
            to = c - a[:, None]
            share = np.clip((to * d).sum(axis=2) / np.maximum(length, 1e-12) ** 2, 0, 1)
            near = np.linalg.norm(to - share[..., None] * d, axis=2)
            blocked |= near < r * (1 - 1e-9)
        return np.where(blocked, np.inf, length)
