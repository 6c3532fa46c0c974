"""Problems of the gait planner, and sequences of gaits over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
import math
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ConfigDict, Field
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import check_positive, ParameterError, PlanningError, ScenarioError
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits, greatest_change
from rolling_dynamics.pendulum_sphere.parameters import scales_of, SphereParameters
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing
from rolling_dynamics.pendulum_sphere.system import attitude_of, PendulumSphere, STATE
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.document import line_numbers
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.scenario.fields import Brought, entry, quantity, SECTION, several
from rolling_dynamics.scenario.pendulum_sphere import read_sphere
from rolling_planner.plan import Plan
from scipy.sparse.csgraph import csgraph_from_dense, dijkstra

Point = tuple[float, float]
AMPLITUDE = 1.2  # rad, of a planned swing; beyond, more angle gives little more speed


@dataclass(frozen=True, kw_only=True)
class Waypoint:
    """
    A point to pass.

    Attributes
    ----------
    position
        Position of the contact point on the floor [m].
    tolerance
        Maximum distance of the path from it [m].
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
        Centre and radius on the floor [m].

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
        Waypoints in order; at the last one the sphere comes to rest.
    obstacles
        Keep-out circles.
    limits
        Limits of contact and drive.
    reserve
        Fraction of friction and torque that the plan may use; the rest is left for feedback.
    clearance
        Minimum distance between shell and obstacle [m].
    max_speed
        Maximum speed [m/s].

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
        """Reject problems without a possible plan."""
        if not self.waypoints:
            raise ParameterError('waypoints: one or more are needed, the last one is the goal')
        if not 0 < self.reserve <= 1:
            raise ParameterError(f'reserve must be above 0 and at most 1, got {self.reserve!r}')
        check_positive('clearance', self.clearance, 'm', zero=True)
        check_positive('max_speed', self.max_speed, 'm/s', most=math.inf)
        for k, circle in enumerate(self.obstacles):
            if not (circle.radius > 0 and np.all(np.isfinite(circle.center))):
                raise ParameterError(f'obstacles[{k}]: a centre and a positive radius are needed')
        _ = self.params.equilibrium  # rejects a slope on which the sphere cannot be held
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
        """Distance of the contact point to keep from the rim of an obstacle [m]."""
        return self.params.shell_radius + self.clearance

    @property
    def planning_limits(self) -> GaitLimits:
        """Limits reduced by the reserve."""
        return less(self.limits, self.reserve, self.params)


def less(limits: GaitLimits, reserve: float, params: SphereParameters) -> GaitLimits:
    """Return a fraction of limits; the rest is left for feedback."""
    mu = params.mu if limits.friction is None else limits.friction
    return GaitLimits(
        torque=limits.torque * reserve,
        friction=mu * reserve,
        normal_force=1 - (1 - limits.normal_force) * reserve,
        amplitude=min(limits.amplitude, AMPLITUDE),
    )


@line_numbers
def read_gait_problem(scenario: Scenario) -> GaitProblem:
    """
    Return the manoeuvre of a scenario.

    Parameters
    ----------
    scenario
        Scenario of a sphere with a pendulum, with a section ``plan``; it starts at rest.

    Raises
    ------
    ScenarioError
        There is no such section, or an entry is wrong; the text starts with its path.

    """
    raw = scenario.raw.get('plan')
    if raw is None:
        raise ScenarioError('plan: is missing (the section with the waypoints of a manoeuvre)')
    velocities = [scenario.x0[STATE.slice(name)] for name in ('w_WS_W', 'w_WP_W')]
    if np.any(np.concatenate(velocities)):
        raise ScenarioError('initial: a manoeuvre starts at rest; leave velocity and spin out')
    x, y = scenario.x0[STATE.slice('contact')].tolist()
    return check(GaitProblem, raw, 'plan', {'params': read_sphere(scenario.raw), 'start': (x, y)})


CORNERS = 10  # of the polygon around a circle


class VisibilityGraph:
    """Visibility graph of polygons around circles."""

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
        self.nodes = nodes[self.free(nodes)]
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
            Points from start to goal and the indices of the corners in between; or None.

        """
        n = len(self.nodes)
        points = np.vstack([self.nodes, start, goal])
        ends = self._edges(points[n:], points)
        lengths = np.block([[self.lengths, ends[:, :n].T], [ends]])
        lengths[list(banned)] = np.inf  # no further edges from there
        graph = csgraph_from_dense(lengths, null_value=np.inf)
        least, before = dijkstra(graph, indices=n, return_predecessors=True)
        if not np.isfinite(least[n + 1]):
            return None
        chain = [n + 1]
        while chain[-1] != n:
            chain.append(int(before[chain[-1]]))
        chain.reverse()
        return [points[k] for k in chain], chain[1:-1]

    def free(self, points: Array) -> NDArray[np.bool_]:
        """Return which points, shape (k, 2) [m], keep their distance from every circle."""
        if not len(self.centers):
            return np.ones(len(points), dtype=bool)
        away = np.linalg.norm(points[:, None] - self.centers, axis=2)
        return np.array((away >= self.radii * (1 - 1e-9)).all(axis=1))

    def _edges(self, a: Array, b: Array) -> Array:
        """Return lengths from each of a to each of b; infinite if a circle is in between."""
        d = b[None] - a[:, None]
        length = np.linalg.norm(d, axis=2)
        blocked = length < 1e-12
        for c, r in zip(self.centers, self.radii, strict=True):
            to = c - a[:, None]
            fraction = np.clip((to * d).sum(axis=2) / np.maximum(length, 1e-12) ** 2, 0, 1)
            near = np.linalg.norm(to - fraction[..., None] * d, axis=2)
            blocked |= near < r * (1 - 1e-9)
        return np.where(blocked, np.inf, length)


@dataclass(frozen=True, eq=False, kw_only=True)
class GaitStep:
    """
    One swing of a manoeuvre.

    Attributes
    ----------
    start
        Time at which it starts [s].
    swing
        The swing.
    position, velocity
        Contact point and its velocity at the start [m], [m/s].

    """

    start: float
    swing: SpatialSwing
    position: Array
    velocity: Array

    @property
    def end(self) -> float:
        """Time at which it ends [s]."""
        return self.start + self.swing.period

    @property
    def corner(self) -> Array:
        """Corner of the straight lines before and after it, shape (2,) [m]."""
        return np.array(self.position + self.velocity * self.swing.period / 2)


@dataclass(frozen=True, eq=False, kw_only=True)
class Reference:
    """Reference of the manoeuvre: contact point, velocity, pendulum, torque, force over time."""

    position: Array
    velocity: Array
    n: Array
    omega: Array
    torque: Array
    force: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class GaitSequence:
    """
    A manoeuvre from rest to rest.

    Attributes
    ----------
    params
        The sphere.
    start
        Contact point at the start [m].
    steps
        Swings in order of time.
    duration
        Time until the end of the last swing or rest [s].
    report
        Details of the search, and requirements of the manoeuvre.

    """

    params: SphereParameters
    start: Array
    steps: tuple[GaitStep, ...]
    duration: float
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def length(self) -> float:
        """Length of the path [m]."""
        t = np.linspace(0, self.duration, 2001)
        return float(np.hypot(*np.diff(self.reference(t).position, axis=0).T).sum())

    @cached_property
    def _starts(self) -> Array:
        return np.array([s.start for s in self.steps])

    def reference(self, times: ArrayLike) -> Reference:
        """Return the planned motion at times, shape (k,) [s]; before and after it, a rest."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        owner = np.searchsorted(self._starts, t, side='right') - 1
        rest = SpatialSwing(params=self.params, direction=0.0, amplitude=0.0, period=1.0).at(0)
        position, velocity = np.tile(self.start, (t.size, 1)), np.zeros((t.size, 2))
        n, torque, force = (np.tile(v, (t.size, 1)) for v in (rest.n, rest.torque, rest.force))
        omega = np.zeros((t.size, 3))
        for k in np.unique(owner[owner >= 0]):
            step, here = self.steps[k], owner == k
            local = t[here] - step.start
            inside = np.minimum(local, step.swing.period)
            table = step.swing.at(local)
            velocity[here] = step.velocity + step.swing.velocity_gain(inside)
            position[here] = (
                step.position
                + inside[:, None] * step.velocity
                + step.swing.displacement_gain(inside)
                + (local - inside)[:, None] * (step.velocity + step.swing.velocity_change)
            )
            n[here], omega[here] = table.n, table.omega
            torque[here], force[here] = table.torque, table.force
        return Reference(
            position=position, velocity=velocity, n=n, omega=omega, torque=torque, force=force
        )

    def to_plan(self, rate: float = 500.0) -> Plan:
        """
        Return states and torques over time as a plan; torques jump at starts of swings.

        Parameters
        ----------
        rate
            Samples per second [Hz].

        """
        jump = 1e-7
        edges = np.array([[s.start, s.end] for s in self.steps]).ravel()
        grid = np.arange(0, self.duration, 1 / rate)
        end = [self.duration]
        times = np.unique(np.concatenate([grid, edges, edges - jump, edges + jump, end]))
        times = times[(times >= 0) & (times <= self.duration)]
        times = times[np.append(True, np.diff(times) > jump / 4)]
        ref = self.reference(times)
        R = self.params.shell_radius
        states = np.array(
            [
                STATE.pack(
                    contact=r, q_WP=attitude_of(n), w_WS_W=[-v[1] / R, v[0] / R, 0], w_WP_W=w
                )
                for r, v, n, w in zip(ref.position, ref.velocity, ref.n, ref.omega, strict=True)
            ]
        )
        return Plan.of(
            PendulumSphere(),
            times=times,
            states=states,
            controls=ref.torque,
            contact_wrenches=np.hstack([np.zeros((len(times), 3)), ref.force]),
            report=dict(self.report),
        )

    def effort(self, rate: float = 500.0) -> dict[str, float]:
        """Return time, energy of the drive, peak torque, friction and minimum normal force."""
        t = np.linspace(0, self.duration, max(2, round(self.duration * rate)))
        ref = self.reference(t)
        R = self.params.shell_radius
        Omega = np.column_stack([-ref.velocity[:, 1], ref.velocity[:, 0], 0 * t]) / R
        power = np.abs((ref.torque * (ref.omega - Omega)).sum(axis=1))
        N = ref.force[:, 2]
        return {
            'time': self.duration,
            'energy': float(np.trapezoid(power, t)),
            'peak_torque': float(np.linalg.norm(ref.torque, axis=1).max()),
            'friction': float((np.linalg.norm(ref.force[:, :2], axis=1) / N).max()),
            'least_normal_force': float(N.min()),
        }


STARTS = (1.0, 0.7, 0.5)  # fractions of the maximum common speed
FACTORS = (1.5, 1.2, 1.06, 1.02, 0.98, 0.9)
SWEEPS = 60


class PeriodTable:
    """Minimum period of a swing for a change of speed, within limits."""

    def __init__(self, params: SphereParameters, limits: GaitLimits) -> None:
        """Tabulate between 3 and 40 of the paper's units of time."""
        self.periods = scales_of(params).time * np.geomspace(3, 40, 40)
        most = [greatest_change(params, float(T), limits, 160) for T in self.periods]
        self.changes = np.maximum.accumulate(most)
        if not self.changes[-1] > 0:
            raise PlanningError(
                'no swing is possible within the limits: at least more torque or friction is '
                f'needed (friction {limits.friction}, torque {limits.torque:.4g} N m after the '
                'reserve)'
            )

    def least(self, change: float) -> float:
        """Return the minimum period [s]; inf if none reaches the change [m/s]."""
        if change >= self.changes[-1]:
            return math.inf
        # a margin, since the table is linear between two periods
        return float(np.interp(1.02 * change, self.changes, self.periods))


class Timing:
    """Speeds of the legs and periods of the swings, improved leg by leg."""

    def __init__(
        self, points: Array, table: PeriodTable, max_speed: float, stretch: Array
    ) -> None:
        """
        Set the problem.

        Parameters
        ----------
        points
            Corners from start to goal, shape (n + 1, 2).
        table
            Minimum periods.
        max_speed
            Maximum speed on every leg [m/s].
        stretch
            Factors of the minimum periods, shape (n + 1,).

        """
        legs = np.diff(points, axis=0)
        self.lengths = np.hypot(*legs.T)
        self._directions = (legs / self.lengths[:, None]).tolist()
        self.table, self.max_speed, self.stretch = table, max_speed, stretch
        self.speeds = np.zeros(len(legs))

    def velocity(self, k: int) -> Point:
        """Return the velocity on a leg [m/s]; zero before the first and after the last."""
        if not 0 <= k < len(self._directions):
            return 0.0, 0.0
        v, (x, y) = float(self.speeds[k]), self._directions[k]
        return v * x, v * y

    def period(self, k: int) -> float:
        """Return the minimum period of the swing at a corner."""
        change = math.dist(self.velocity(k), self.velocity(k - 1))
        return float(self.stretch[k] * self.table.least(change))

    def periods(self) -> Array:
        """Return the periods of all swings [s], shape (legs + 1,)."""
        return np.array([self.period(k) for k in range(len(self.speeds) + 1)])

    def duration(self) -> float:
        """Return the time from rest to rest [s]."""
        T = self.periods()
        return float((self.lengths / self.speeds).sum() + (T[0] + T[-1]) / 2)

    def solve(self) -> bool:
        """Find speeds; return whether there are any."""
        top = min(self.max_speed, float(self.table.changes[-1]))
        last = len(self.speeds) - 1
        for v in top * np.geomspace(1, 1e-3, 40):
            self.speeds[:] = v
            if self._holds(range(last + 1)):
                break
        else:
            return False
        best, least = self.speeds.copy(), math.inf
        for fraction in STARTS:  # the descent below finds a local minimum
            self.speeds[:] = v * fraction
            for _ in range(SWEEPS):
                improved = [
                    self._improve(slice(k, k + n)) for n in (1, 2) for k in range(last + 2 - n)
                ]
                if not any(improved):
                    break
            if self.duration() < least:
                best, least = self.speeds.copy(), self.duration()
        self.speeds = best
        return True

    def settle(self, speeds: Array) -> bool:
        """
        Use given speeds [m/s], shape (legs,), lowered where they are infeasible.

        Return whether that succeeds.
        """
        self.speeds[:] = speeds
        for _ in range(SWEEPS):
            bad = [k for k in range(len(self.speeds)) if not self._holds(range(k, k + 1))]
            if not bad:
                return True
            self.speeds[bad] *= 0.97
        return False

    def _improve(self, legs: slice) -> bool:
        """Try other speeds on neighbouring legs; keep the first that holds and saves time."""
        old, before = self.speeds[legs].copy(), self._local_time(legs)
        near = range(max(legs.start - 1, 0), min(legs.stop + 1, len(self.speeds)))
        for factor in FACTORS:
            self.speeds[legs] = np.minimum(old * factor, self.max_speed)
            if self._local_time(legs) < before - 1e-9 and self._holds(near):
                return True
        self.speeds[legs] = old
        return False

    def _local_time(self, legs: slice) -> float:
        time = float((self.lengths[legs] / self.speeds[legs]).sum())
        if legs.start == 0:
            time += self.period(0) / 2
        if legs.stop == len(self.speeds):
            time += self.period(legs.stop) / 2
        return time

    def _holds(self, legs: range) -> bool:
        return all(
            self.speeds[k] * (self.period(k) + self.period(k + 1)) / 2 <= self.lengths[k]
            for k in legs
        )
