"""What a manoeuvre of gaits is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from rolling_dynamics.scenario.fields import Brought, entry, quantity, SECTION, several

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
        Share of friction and torque that the plan may use; the rest is left to the feedback.
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
        quantity('share of friction and torque that the plan may use', positive=True, most=1),
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
        """Tell which points, shape (k, 2) [m], are too near an obstacle."""
        out = np.zeros(len(points), dtype=bool)
        for c in self.obstacles:
            away = np.hypot(*(points - np.asarray(c.center)).T)
            out |= away < c.radius + self.keep_off - slack
        return out
