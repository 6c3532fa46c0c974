"""A rolling robot as its state shows it: heading, links, joints, contact."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.contact_forces import contact_forces, ContactForces
from rolling_dynamics.contract.rolling_system import MotionState, RollingSystem
from rolling_dynamics.robots.view import (
    AllModes,
    Heading,
    MotionObserver,
    Observation,
    Observer,
    RobotView,
)

SLOW = 0.05  # radii a second, at which a travelling robot counts as at rest


class ObservedRobot:
    """
    Observation of a robot at the states it is given. Not for use from two threads at once.

    Attributes
    ----------
    view
        View of the robot.
    state, u
        Last observed state, and the control in force.
    newest
        Observation of that state.

    """

    state: MotionState
    u: Array
    newest: Observation

    def __init__(
        self,
        view: RobotView,
        system: RollingSystem,
        p: ArrayLike,
        modes: AllModes | None = None,
    ) -> None:
        """
        Compile the observation.

        Parameters
        ----------
        view
            View of the robot.
        system, p
            System of the observed states, and its parameters.
        modes
            Conversion between these states and the robot's own; None if they are its own.

        """
        self.view, self._system, self._modes = view, system, modes
        shown = view if modes is None else modes.view
        self._own = Observer(view, p, next(iter(view.system.modes)))
        self._observers = {m: MotionObserver(shown, p, m) for m in system.modes}
        self._heading = Heading(SLOW * view.radius)
        self._contacts: dict[str, ContactForces | None] = {}  # by mode
        self.safe_control = self._own.safe_control

    def restart(self, state: MotionState, u: Array) -> Array:
        """Head where it travels, along x at rest; return the velocity of its centre [m/s]."""
        velocity = self._observers[state.mode].look(state.x, u, 0.0).velocity
        self._heading.restart(velocity)
        return velocity

    def look(self, state: MotionState, u: Array, dt: float) -> Observation:
        """
        Return the observation of a state.

        Parameters
        ----------
        state, u
            The state, and the control in force, in the units of its layout.
        dt
            Time for which it has moved since the last call [s]; 0 if it did not move.

        """
        heading, self.state, self.u = self._heading, state, u
        self.newest = observation = self._observers[state.mode].look(state.x, u, state.t)
        observation.mode = state.published_mode
        if self._modes is not None:
            observation.x = self._modes.project(state.x)
        if self.view.yaw is not None:
            return observation
        if dt > 0 and self.view.spin is not None:
            heading.spin(observation.yaw_rate, dt)
        elif dt > 0:
            heading.travel(observation.velocity, observation.acceleration)
        observation.yaw, observation.yaw_rate = heading.yaw, heading.rate
        return observation

    def gap(self, observation: Observation) -> float:
        """Return the height of the robot above its floor [m]; 0 of one that rolls elsewhere."""
        return float(observation.centre[2]) - self.view.radius if self.view.on_floor else 0.0

    @property
    def has_wrench(self) -> bool:
        """True if the model knows the forces of contact; a kinematic one does not."""
        return contact_forces(self._system, next(iter(self._system.modes))) is not None

    def contact_forces(self) -> tuple[Array, Array, Array]:
        """
        Return forces, coefficients of friction and frames of the contacts as they are now.

        Returns
        -------
        Array, Array, Array
            Forces [N] on the body that rolls (n, 3), each in its frame; coefficients (n), 0 where
            the model has none; poses of the frames in W (n, 4, 4), none of a model without.

        """
        s = self.state
        if s.mode not in self._contacts:
            self._contacts[s.mode] = contact_forces(self._system, s.mode)
        found = self._contacts[s.mode]
        if found is None:
            return np.zeros((1, 3)), np.zeros(1), np.zeros((0, 4, 4))
        force = np.array(found.forces(s.x, self.u, s.t, s.p)).reshape(-1, 3)
        mu, X = (np.array(value) for value in found.frames(s.x, s.p))
        return force, mu.ravel(), X.reshape(4, -1, 4).transpose(1, 0, 2)

    def joints(self, observation: Observation) -> tuple[Array, Array]:
        """Return positions [rad, m] and rates of the joints at an observation, a vector each."""
        return self._own.joints(observation, self.u, self.state.t)
