"""Checks of the sensors and actuators of a system, in all its modes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import check_instruments, Sensor
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.testing.motion import Failed, NotApplicable, Subject, values


def measurements(s: Subject) -> Iterator[tuple[Sensor, str, Array]]:
    """
    Yield the measurement of each sensor in each valid mode: sensor, mode and y.

    Parameters
    ----------
    s
        The case to check.

    Raises
    ------
    NotApplicable
        There are no sensors and no actuators.
    Failed
        A sensor or actuator does not fit.

    """
    if not (s.sensors or s.actuators):
        raise NotApplicable('no sensors and no actuators were given')
    system = s.whole or s.system
    try:
        functions = check_instruments(system, s.sensors, s.actuators)
    except ParameterError as error:
        raise Failed(str(error)) from None
    for name, mode in system.modes.items():
        for x, u in s.samples:
            given = x, u, 0.0, s.p
            equations = [mode.dynamics, *([] if mode.wrench is None else [mode.wrench])]
            sound = all(np.isfinite(values(f, *given)).all() for f in equations)
            if sound and all(values(guard, *given)[0] >= 0 for guard in mode.guards.values()):
                for sensor in s.sensors:
                    yield sensor, name, values(functions[sensor.name][name], *given)


def instruments(s: Subject) -> None:
    """Check that sensors and actuators fit, and that their values are usable."""
    for sensor, mode, y in measurements(s):
        if problem := sensor.output.problem(y):
            raise Failed(
                f'sensor {sensor.name!r}, mode {mode!r}: numbers that can be believed are '
                f'expected, found that the measurement {problem}'
            )
    for actuator in s.actuators:
        given = s.u[s.system.control.slice(actuator.control)]
        if not (np.abs(given) <= actuator.limits).all():
            raise Failed(
                f'actuator {actuator.name!r}: at most {np.asarray(actuator.limits).tolist()} is '
                f'expected, found the control {given.tolist()}'
            )
