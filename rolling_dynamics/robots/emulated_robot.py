"""A rolling robot as a simulator shows it: its state, heading, links and contact."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.contact_forces import contact_forces, ContactForces
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.robots.view import (
    AllModes,
    Heading,
    MotionObserver,
    Observation,
    Observer,
    RobotView,
)
from rolling_dynamics.scenario_model import RobotModel
from rolling_dynamics.simulation.emulation import EmulatedMachine, Emulation
from rolling_dynamics.simulation.guards import in_mode

SLOW = 0.05  # radii a second: slower travel counts as rest
MOTIONS = ('scenario', 'rolling', 'all_modes')


class EmulatedRobot(EmulatedMachine[Observation]):
    """
    An emulated robot.

    States that are given and observed are of the robot's own system. Where the motion
    continues in flight, height and velocity of the centre are in the observation.
    """

    def __init__(
        self,
        view: RobotView,
        start: ArrayLike,
        emulation: Emulation,
        *,
        modes: AllModes | None = None,
        brake_time: float = 0.1,
    ) -> None:
        """
        Compile the observation; :meth:`reset` puts the robot at its start.

        Parameters
        ----------
        view
            View of the robot.
        start
            State at the start.
        emulation
            The robot, or its motion through all modes.
        modes
            What relates the states of that motion to the robot's own; None where they are.
        brake_time
            Time constant with which an uncommanded robot comes to rest [s].

        """
        super().__init__(emulation, view.system, start, view.shift, view.turn)
        self.view, self._modes, self._brake_time = view, modes, brake_time
        p, shown = emulation.p, view if modes is None else modes.view
        self._own = Observer(view, p, next(iter(view.system.modes)))
        self._observers = {m: MotionObserver(shown, p, m) for m in emulation.system.modes}
        self._heading = Heading(SLOW * view.radius)
        self._contacts: dict[str, ContactForces | None] = {}  # by mode

    def brake(self) -> Array:
        """Return the control that brings the robot to rest."""
        return self._safe_control(self._observed.x, self.time)

    def _safe_control(self, x: Array, t: float) -> Array:
        return self._own.safe_control(x, t, self._brake_time).copy()

    def _restart(self, x: Array) -> None:
        machine = self.emulation
        machine.restart(
            x if self._modes is None else self._modes.lift(x), self._safe_control(x, 0.0)
        )
        state = machine.state
        velocity = self._observers[state.mode].look(state.x, machine.u, 0.0).velocity
        self._heading.restart(velocity)
        at_rest = machine.instrumented and not velocity.any()
        machine.held = bool(self.view.holds_at) or at_rest

    def _look(self, dt: float) -> Observation:
        machine, state, heading = self.emulation, self.emulation.state, self._heading
        observation = self._observers[state.mode].look(state.x, machine.u, state.t)
        if self._modes is not None:
            observation.x = self._modes.project(state.x)
        if self.view.yaw is not None:
            return observation
        moves = dt > 0 and not machine.held and state.ended is None
        if moves and self.view.spin is not None:
            heading.spin(observation.yaw_rate, dt)
        elif moves:
            heading.travel(observation.velocity, observation.acceleration)
        observation.yaw, observation.yaw_rate = heading.yaw, heading.rate
        return observation

    def gap(self, observation: Observation) -> float:
        """Return the height of the robot above its floor [m]; 0 of one that rolls elsewhere."""
        return float(observation.centre[2]) - self.view.radius if self.view.on_floor else 0.0

    @property
    def has_wrench(self) -> bool:
        """True if the model knows the forces of contact; a kinematic one does not."""
        system = self.emulation.system
        return contact_forces(system, next(iter(system.modes))) is not None

    def contact_forces(self) -> tuple[Array, Array, Array]:
        """
        Return forces, coefficients of friction and frames of the contacts as they are now.

        Returns
        -------
        Array, Array, Array
            Forces [N] on the body that rolls (n, 3), each in its frame; coefficients (n), 0 where
            the model has none; poses of the frames in W (n, 4, 4), none of a model without.

        """
        machine, s = self.emulation, self.emulation.state
        if s.mode not in self._contacts:
            self._contacts[s.mode] = contact_forces(machine.system, s.mode)
        found = self._contacts[s.mode]
        if found is None:
            return np.zeros((1, 3)), np.zeros(1), np.zeros((0, 4, 4))
        force = np.array(found.forces(s.x, machine.u, s.t, s.p)).reshape(-1, 3)
        mu, X = (np.array(value) for value in found.frames(s.x, s.p))
        return force, mu.ravel(), X.reshape(4, -1, 4).transpose(1, 0, 2)

    def joints(self, observation: Observation) -> tuple[Array, Array]:
        """Return positions [rad, m] and rates of the joints at an observation, a vector each."""
        return self._own.joints(observation, self.emulation.u, self.time)


def emulated_robot(
    model: RobotModel, *, motion: str = MOTIONS[0], brake_time: float = 0.1
) -> EmulatedRobot:
    """
    Return the robot of a scenario with its sensors and actuators, at its start.

    Parameters
    ----------
    model
        The robot.
    motion
        ``rolling`` ends where another mode begins, ``all_modes`` continues sliding and in flight,
        ``scenario`` does what its section ``hybrid`` asks for.
    brake_time
        Time constant with which an uncommanded robot comes to rest [s].

    Raises
    ------
    ParameterError
        The robot can only roll, or a sensor or actuator does not fit it.
    SimulationError
        No motion starts at its start.

    """
    view, scenario, system, modes = model.view, model.scenario, model.system, None
    first = next(iter(system.modes))
    if motion == 'all_modes' or (motion == 'scenario' and model.hybrid):
        if view.all_modes is None:
            raise ParameterError(
                f'a {system.name} has the mode {first!r} alone, no motion beyond it can be '
                'simulated'
            )
        modes = view.all_modes(model.sliding)
        system = modes.system
    elif motion == 'rolling':
        system = in_mode(system, first)
    machine = Emulation(
        system,
        model.params,
        scenario.sensors,
        scenario.actuators,
        limits=model.control_limits,
        seed=scenario.seed,
    )
    robot = EmulatedRobot(view, model.start, machine, modes=modes, brake_time=brake_time)
    robot.reset()
    return robot
