"""Common part of the scenario files of a ball moved by servos, and the emulation of its rig."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
import math
from typing import Any, cast, ClassVar, TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import Actuator, Sensor
from rolling_dynamics.contract.rolling_system import Layout, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.control import check_finite, Control
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.scenario.fields import quantity, Section, TIME
from rolling_dynamics.scenario.scenario import model_of
from rolling_dynamics.simulation.emulation import Emulation

if TYPE_CHECKING:
    from typing_extensions import Self


class CameraSection(Section):
    """The camera that sees the ball."""

    rate: float = quantity('frames per second', 'Hz', positive=True, default=29.7)
    exposure: float = quantity('over which a frame averages', 's', least=0, default=0.0)
    delay: float = quantity('from mid-exposure to the position', 's', least=0, default=0.022)
    noise: float = quantity('standard deviation of each coordinate', 'm', least=0, default=4.2e-5)
    lost: float = quantity('fraction of frames without a ball', least=0, most=0.9, default=0.0)

    def sensor(self) -> Sensor:
        """Return the camera as a sensor of the ball's centre in the frame of the plate."""
        return Sensor(
            name='camera',
            output=Layout((vector_entry('position', 'm', 'H', 'centre of the ball'),)),
            measure=lambda at: at.in_frame('ball', 'plate'),
            covariance=np.diag([self.noise**2, self.noise**2, 0.0]),  # it knows the radius
            rate=self.rate,
            exposure=self.exposure,
            delay=self.delay,
            loss=self.lost,
            message='pose',
            topic='vision/object_pose',
            frame='plate_link',
        )


class RigFile(ABC):
    """
    A ball on a plate tilted by servos, measured by a camera; the state starts with the ball.

    The entries ``ball``, ``servo``, ``camera`` and ``seed`` are as in the scenario file.

    Attributes
    ----------
    commanded
        Name of the entry with the commands over time.
    message
        Type of the servo commands in a message: ``positions`` or ``velocities``.
    unmodelled
        Standard deviation of accelerations of the ball that :meth:`nominal` lacks: white [m/s^2
        sqrt(s)], and the random walk of a constant one [m/s^2/sqrt(s)].

    """

    if TYPE_CHECKING:
        ball: Any
        servo: Any
        camera: CameraSection
        gravity: float
        seed: int
        duration: float

        def common(self, *given: Any, **more: Any) -> dict[str, Any]: ...  # noqa: D102, ANN401

    commanded: ClassVar[str]
    message: ClassVar[str]
    unmodelled: ClassVar[tuple[float, float]]

    @classmethod
    def of(cls, scenario: Scenario) -> Self:
        """Return the entries of a scenario of this system, checked."""
        return check(cls, scenario.raw)

    @property
    def count(self) -> float:
        """Command of a servo for one unit of a law's output [rad, rad/s]."""
        return 1.0

    @abstractmethod
    def nominal(self) -> RigFile:
        """Return the rig without what no law knows."""

    @property
    @abstractmethod
    def edges(self) -> tuple[Array, Array]:
        """Bounds of x and y of the centre of the ball [m], shape (2,) each."""

    @property
    @abstractmethod
    def greatest(self) -> float:
        """Maximum command of a servo [rad, rad/s]."""

    @property
    @abstractmethod
    def ball_at_start(self) -> Array:
        """Place [m] and rate [m/s] of the ball at the start, shape (4,)."""

    @abstractmethod
    def system_and_parameters(self, seed: int | None = None) -> tuple[Any, Array]:
        """Return the system and its parameters p."""

    @abstractmethod
    def at_rest(self, command: Array) -> Array:
        """Return the servos' part of x while they rest at a command (n) [rad, rad/s]."""

    @abstractmethod
    def commanding(self, system: Any) -> ca.Function:  # noqa: ANN401
        """Return ``(given, p) -> command``: from a law's output (2) to servo commands (n)."""

    def command(self, system: Any, p: Array, given: Array) -> Array:  # noqa: ANN401
        """Return the servo commands (n) [rad, rad/s] for a law's output (2)."""
        return np.array(self.commanding(system)(given, p)).ravel()

    def actuator(self, system: Any) -> Actuator:  # noqa: ANN401
        """Return the servos."""
        return Actuator(
            name='servos',
            control='command',
            joints=system.state.entry('servo').components,
            limits=np.full(system.control.size, self.greatest),
            dead_time=self.servo.dead_time,
            message=self.message,
            topic='servo_command',
        )

    def build(self, name: str, raw: Mapping[str, Any]) -> Scenario:
        """Return the scenario: commands once a frame, after the dead time."""
        system, p = self.system_and_parameters()
        x0 = np.zeros(system.state.size)
        x0[:4] = self.ball_at_start
        return Scenario(
            p=p,
            x0=x0,
            control=self._control(system, p),
            control_limits=np.full(system.control.size, self.greatest),
            seed=self.seed,
            **self.common(
                name,
                raw,
                system,
                {},
                measured=(self.camera.sensor(),),
                driven=(self.actuator(system),),
            ),
        )

    def _control(self, system: Any, p: Array) -> Control:  # noqa: ANN401
        """Return the servo commands over time, which change with the camera's frames."""
        name, parts, period = self.commanded, getattr(self, self.commanded), 1 / self.camera.rate
        times = period * np.arange(math.ceil(self.duration / period) + 1)
        level = self.command(system, p, np.zeros(2))
        values = np.tile(level, (times.size, 1))
        if parts is not None:
            check_finite({f'{name}[{k}]': f for k, f in enumerate(parts)}, TIME, self.duration)
            f = ca.Function(name, [TIME], [ca.densify(ca.vertcat(*parts))])
            values = np.array([self.command(system, p, np.array(f(t)).ravel()) for t in times])
        times = times + self.servo.dead_time
        # two of each where a command changes
        samples = (
            np.concatenate([[0.0], np.repeat(times, 2)]),
            np.vstack([level, level, np.repeat(values, 2, axis=0)[:-1]]),
        )
        return Control(None, system.control, samples=samples, states=system.state.size)


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
        Random seed of maps and camera; the file's if None.

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
    u = file.command(rig.system, rig.p, np.zeros(2))
    rig.restart(np.concatenate([ball, rate, file.at_rest(u)]), u)
