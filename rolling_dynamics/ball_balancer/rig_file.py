"""What an emulated rig and its nodes ask of the scenario file of a ball that servos move."""

from __future__ import annotations

from typing import Any, cast, ClassVar, Protocol

from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.scenario import CameraSection
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.scenario.registry import model_of


class RigFile(Protocol):
    """
    A ball on what servos tilt, seen by a camera; the state begins with its place and its rate.

    Attributes
    ----------
    ball, servo, camera
        Sections with the ball's radius, the servos' dead time, and the camera.
    seed
        Random seed of what is not known.
    commands
        What a trajectory tells the servos: its ``positions`` [rad] or ``velocities`` [rad/s].

    """

    ball: Any
    servo: Any
    camera: CameraSection
    seed: int
    commands: ClassVar[str]

    @property
    def edges(self) -> tuple[Array, Array]:
        """Least and greatest x and y that the centre of the ball can have [m], shape (2,) each."""
        ...

    def system_and_parameters(self, seed: int | None = None) -> tuple[Any, Array]:
        """Return the system and its parameters p."""
        ...

    def command(self, system: Any, p: Array, given: Array) -> Array:  # noqa: ANN401
        """Return what is commanded to the servos (n) [rad, rad/s] for what a law gives (2)."""
        ...


def rig_file(scenario: Scenario) -> RigFile:
    """Return the entries of a scenario, checked; raise ParameterError if it has no such rig."""
    file = check(model_of(scenario.raw), scenario.raw)
    if not hasattr(file, 'commands'):
        raise ParameterError(f'{scenario.name}: no servos tilt a {scenario.system.name}')
    return cast('RigFile', file)
