"""An emulated rolling robot: observations of its state, heading, links and contact."""

from __future__ import annotations

from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.robots.observed_robot import ObservedRobot
from rolling_dynamics.robots.view import AllModes, Observation, RobotView
from rolling_dynamics.scenario_model import RobotModel
from rolling_dynamics.simulation.emulation import EmulatedMachine, Emulation
from rolling_dynamics.simulation.guards import in_mode

MOTIONS = ('scenario', 'rolling', 'all_modes')


class EmulatedRobot(EmulatedMachine[Observation]):
    """
    An emulated robot.

    Given and observed states are those of the robot's own system. If the motion continues in
    flight, the observation contains height and velocity of the centre.

    Attributes
    ----------
    shown
        Its observations.

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
            Conversion between the states of that motion and the robot's own; None for none.
        brake_time
            Time constant with which an uncommanded robot comes to rest [s].

        """
        super().__init__(emulation, view.system, start, view.shift, view.turn)
        self.view, self._modes, self._brake_time = view, modes, brake_time
        self.shown = ObservedRobot(view, emulation.system, emulation.p, modes)

    def brake(self) -> Array:
        """Return the control that brings the robot to rest."""
        return self._safe_control(self._observed.x, self.time)

    def _safe_control(self, x: Array, t: float) -> Array:
        return self.shown.safe_control(x, t, self._brake_time).copy()

    def _restart(self, x: Array) -> None:
        machine = self.emulation
        machine.restart(
            x if self._modes is None else self._modes.lift(x), self._safe_control(x, 0.0)
        )
        velocity = self.shown.restart(machine.state, machine.u)
        at_rest = machine.instrumented and not velocity.any()
        machine.held = bool(self.view.holds_at) or at_rest

    def _look(self, dt: float) -> Observation:
        machine, state = self.emulation, self.emulation.state
        still = machine.held or state.ended is not None
        observation = self.shown.look(state, machine.u, 0.0 if still else dt)
        observation.mode = self.contact_mode
        return observation


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
        ``rolling`` ends where another mode starts, ``all_modes`` continues while sliding and in
        flight, ``scenario`` depends on its section ``hybrid``.
    brake_time
        Time constant with which an uncommanded robot comes to rest [s].

    Raises
    ------
    ParameterError
        The robot can only roll, or a sensor or actuator does not fit it.
    SimulationError
        No motion is possible from its start.

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
