"""A scenario that was read: a rolling system, where it starts and what drives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.instruments import Actuator, Sensor
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario.control import Control
from rolling_dynamics.scenario.fields import quantity, Section

if TYPE_CHECKING:
    from rolling_dynamics.simulation import Trajectory

ProgressReport = Callable[[float], object]  # of the time [s]; False stops the simulation
Runner = Callable[['Scenario', ProgressReport | None], 'Trajectory']


class Tolerances(Section):
    """Tolerances of the integration."""

    relative: float = quantity('relative', least=3e-14, most=0.1, default=1e-12)
    absolute: float = quantity('absolute', positive=True, most=0.1, default=1e-14)


@dataclass(frozen=True, eq=False, kw_only=True)
class Scenario:
    """
    A scenario ready to run.

    Attributes
    ----------
    name, description
        For people.
    system, p, x0
        The system, its parameters and its state at t = 0.
    control
        What drives it.
    duration
        Time to simulate [s].
    output_times
        Times at which results are written [s].
    events
        What happens where a guard falls through zero: name -> ``stop``, ``record`` or
        ``ignore``.
    control_limits
        Greatest magnitude of each control, shape (m,); infinite where there is none.
    tolerances
        Of the integration.
    raw
        The document as plain data.
    mode
        Mode of motion at the start; None for the one that the state is in.
    sensors, actuators
        How the system is measured and driven; empty where its state and control are.
    seed
        Random seed of the noise of the sensors.

    """

    name: str
    description: str = ''
    system: RollingSystem
    p: NDArray[np.float64]
    x0: NDArray[np.float64]
    control: Control
    duration: float
    output_times: NDArray[np.float64]
    events: Mapping[str, str]
    control_limits: NDArray[np.float64]
    tolerances: Tolerances = field(default_factory=Tolerances)
    raw: Mapping[str, Any] = field(default_factory=dict)
    mode: str | None = None
    sensors: tuple[Sensor, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    seed: int = 0

    @np.errstate(all='ignore')
    def __post_init__(self) -> None:
        """Refuse a start at which the equations have no value, and instruments that do not fit."""
        first, mode = next(iter(self.system.modes.items()))
        for sensor in self.sensors:
            sensor.function(self.system, first)
        for actuator in self.actuators:
            actuator.check(self.system)
        u = self.control(0.0, self.x0)
        given = [ca.DM(self.x0), ca.DM(u), ca.DM(0), ca.DM(self.p)]
        parts = {'the rate of the state': mode.dynamics, 'the contact force': mode.wrench}
        for what, function in parts.items():
            if function and not function.call(given)[0].is_regular():
                raise ScenarioError(
                    f'initial: {what} is not finite at the start; look for numbers that are too '
                    'large or too small, and for formulas without a value there'
                )
