"""What an emulated rig and its nodes ask of the scenario file of a ball that servos move."""

from __future__ import annotations

from typing import Any, cast, Protocol

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.scenario import CameraSection
from rolling_dynamics.contract.instruments import Actuator
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.scenario.registry import model_of
from rolling_dynamics.simulation.emulation import Emulation


class RigFile(Protocol):
    """
    A ball on what servos tilt, seen by a camera; the state begins with its place and its rate.

    Attributes
    ----------
    ball, servo, camera
        Sections with the ball's radius, the servos' dead time, and the camera.
    seed
        Random seed of what is not known.

    """

    ball: Any
    servo: Any
    camera: CameraSection
    seed: int

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

    def actuator(self, system: Any) -> Actuator:  # noqa: ANN401
        """Return the servos."""
        ...


def rig_file(scenario: Scenario) -> RigFile:
    """Return the entries of a scenario, checked; raise ParameterError if it has no such rig."""
    file = check(model_of(scenario.raw), scenario.raw)
    if not hasattr(file, 'servo'):
        raise ParameterError(f'{scenario.name}: no servos tilt a {scenario.system.name}')
    return cast('RigFile', file)


def emulated_rig(file: RigFile, seed: int | None = None) -> Emulation:
    """
    Return a rig with its camera and servos, level and at rest, the ball in the middle.

    Parameters
    ----------
    file
        The rig; its start and its commands over time do not matter.
    seed
        Random seed of maps and camera; that of the file if None.

    """
    seed = file.seed if seed is None else seed
    system, p = file.system_and_parameters(seed)
    rig = Emulation(system, p, [file.camera.sensor()], [file.actuator(system)], seed=seed)
    begin(rig, file)
    return rig


def begin(
    rig: Emulation, file: RigFile, ball: ArrayLike = (0.0, 0.0), rate: ArrayLike = (0.0, 0.0)
) -> None:
    """Restart a rig at time zero, level; position [m] and rate [m/s] of the ball, shape (2,)."""
    system: Any = rig.system
    u = file.command(system, rig.p, np.zeros(2))
    rig.restart(np.concatenate([ball, rate, system.at_rest(u)]), u)
