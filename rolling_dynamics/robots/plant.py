"""The simulated robot behind the simulator node: a pure ``step(control, dt)``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.robots.heading import Heading
from rolling_dynamics.robots.observation import Observation, Observer
from rolling_dynamics.robots.view import RobotView
from rolling_dynamics.simulation.stepped_plant import Step, SteppedPlant

BROKEN = {'friction': 'slipping', 'normal_force': 'separated'}  # mode after a guard
TOUCH = 1e-6  # radii: within this of the floor the robot stands on it
SLOW = 1e-3  # radii a second: slower travel counts as rest


class RobotPlant(SteppedPlant):
    """State of a rolling robot that is stepped in real time, and where it heads."""

    def __init__(
        self,
        view: RobotView,
        params: ArrayLike,
        start: ArrayLike,
        step: Step,
        *,
        brake_time: float = 0.1,
        limits: ArrayLike | None = None,
    ) -> None:
        """
        Put the robot at its start.

        Parameters
        ----------
        view
            View of the robot.
        params, start, step, limits
            See :class:`SteppedPlant`.
        brake_time
            Time constant with which an uncommanded robot comes to rest [s].

        """
        super().__init__(view.system, params, start, step, limits=limits)
        self.view, self._brake_time = view, brake_time
        self.mode = next(iter(view.system.modes))
        self._observer = Observer(view, self.params, self.mode)
        self._heading = Heading(SLOW * view.radius)
        self._retract = view.system.retract
        self._seen = self._observer.look(self.x, self.u, self.time)
        self._news: list[str] = []
        self._held = bool(view.holds_at)

    def reset(self, *, position: ArrayLike = (0, 0), rotation: ArrayLike = (0, 0, 0)) -> None:
        """
        Go back to the start, or near it.

        Parameters
        ----------
        position
            Shift on the floor, x and y [m].
        rotation
            Turn of the robot about its own axes [rad], 3 numbers.

        Raises
        ------
        ParameterError
            This kind of robot cannot be moved so.
        SimulationError
            There is no rolling contact at the place asked for.

        """
        d = np.zeros(self.system.tangent.size)
        for columns, given, what in (
            (self.view.shift, position, 'shifted along'),
            (self.view.turn, rotation, 'turned about'),
        ):
            values = np.asarray(given, dtype=float)
            fixed = np.flatnonzero(~columns.any(axis=0) & (values != 0.0))
            if fixed.size:
                raise ParameterError(
                    f'a {self.system.name} with this state cannot be {what} {"xyz"[fixed[0]]}'
                )
            d += columns @ values
        self.restart(np.array(self._retract(self.start, d)).reshape(-1))
        self._heading.restart(self._seen.velocity)

    def restart(self, x: Array) -> None:
        """Go on from a state at time zero, or raise SimulationError if it is not rolling there."""
        gap = self.gap(self._observer.look(x, np.zeros_like(self.u), 0.0))
        if abs(gap) > TOUCH * self.view.radius:
            raise SimulationError(
                f'no rolling contact at this start: the robot is {gap:.4g} m above the floor'
            )
        super().restart(x)
        self._held = bool(self.view.holds_at)

    def brake(self) -> Array:
        """Return the control that brings the robot to rest."""
        return self.clipped(self._observer.safe_control(self.x, self.time, self._brake_time))

    def _advance(self, begin: float, dt: float) -> None:
        self._held = self._held and np.array_equal(self.u, self.brake())
        if not self._held:
            super()._advance(begin, dt)
            self._follow_heading(dt)

    def _follow_heading(self, dt: float) -> None:
        if self.view.spin is not None:
            self._heading.spin(self._seen.spin, dt)
        else:
            self._heading.travel(self._seen.velocity, self._seen.acceleration)

    def gap(self, seen: Observation) -> float:
        """Return the height of the robot above its floor [m]; 0 of one that rolls elsewhere."""
        return float(seen.centre[2]) - self.view.radius if self.view.on_floor else 0.0

    def contact_point(self, seen: Observation) -> Array:
        """
        Return the point below the robot on its floor, in W [m], shape (3,).

        Of a robot that has no floor, its centre.
        """
        if not self.view.on_floor:
            return seen.centre
        x, y, z = seen.centre.tolist()
        return np.array([x, y, max(z - self.view.radius, 0.0)])

    @property
    def has_wrench(self) -> bool:
        """Whether the model knows the forces of contact; a kinematic one does not."""
        return self.system.modes[self.mode].wrench is not None

    @property
    def contact_mode(self) -> str:
        """``rolling``, ``slipping``, ``separated``; ``stopped`` at an end that is no slip."""
        if not self.fault:
            return 'rolling'
        return BROKEN.get(self.broken, 'stopped')

    def observe(self) -> Observation:
        """Return what can be seen now."""
        return replace(self._seen, yaw=self._heading.yaw, yaw_rate=self._heading.rate)

    def joints(self, seen: Observation) -> tuple[Array, Array]:
        """Return positions [rad, m] and rates of the joints at what was seen, a vector each."""
        return self._observer.joints(seen, self.u, self.time)

    def read_news(self) -> list[str]:
        """Return what has happened since the last call, in words: changes of the mode."""
        news, self._news = self._news, []
        return news

    def _look(self, x: Array, u: Array) -> Mapping[str, float]:
        self._seen = self._observer.look(x, u, self.time)
        return self._seen.margins
