"""Run all checks on a system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import offers, StartMode
from rolling_dynamics.contract.instruments import Actuator, Sensor
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ConformanceError
from rolling_dynamics.simulation.guards import in_mode
from rolling_dynamics.testing import form, motion
from rolling_dynamics.testing.form import newton_euler, units
from rolling_dynamics.testing.instruments import instruments
from rolling_dynamics.testing.motion import Check, Failed, NotApplicable, Outcome, Subject

FIRST = ('contract', 'shapes')  # without these the others are meaningless
CHECKS: Mapping[str, Check] = {
    'contract': form.contract,
    'shapes': form.shapes,
    'finite': form.finite,
    'capabilities': form.offered,
    'derivatives': motion.derivatives,
    'tangent space': motion.tangent_space,
    'unit norms': motion.unit_norms,
    'linearisation': motion.linearisation,
    'units': units,
    'newton-euler': newton_euler,
    'guards': motion.guards,
    'instruments': instruments,
    'machine code': motion.machine_code,
    'simulation': motion.simulation,
    'invariants': motion.invariants,
}


def check_system(
    system: RollingSystem,
    p: ArrayLike,
    x: ArrayLike,
    u: ArrayLike | None = None,
    *,
    duration: float = 0.5,
    seed: int = 0,
    checks: Mapping[str, Check] = CHECKS,
    sensors: Sequence[Sensor] = (),
    actuators: Sequence[Actuator] = (),
) -> list[Outcome]:
    """
    Check that a system implements the interface of rolling systems.

    Parameters
    ----------
    system
        Any rolling system; one with several modes is checked in the mode of x.
    p, x, u
        Parameters, a state from which motion can start, and a control, zero if None, in the units
        of the layouts; shapes (parameters.size,), (state.size,), (control.size,).
    duration
        Duration of the simulations, in seconds, or in units of the independent variable.
    seed
        Random seed of the tested states.
    checks
        The checks by name; :data:`CHECKS` by default.
    sensors, actuators
        Sensors and actuators of the system; checked in every mode.

    Returns
    -------
    list of Outcome
        Result of each check, in order; none has failed.

    Raises
    ------
    ConformanceError
        A check failed; a line for each gives its name, the expected and the actual value.

    """
    outcomes = inspect_system(
        system,
        p,
        x,
        u,
        duration=duration,
        seed=seed,
        checks=checks,
        sensors=sensors,
        actuators=actuators,
    )
    failed = [f'{o.name}: {o.text}' for o in outcomes if o.verdict == 'failed']
    if failed:
        raise ConformanceError('\n'.join(failed))
    return outcomes


def inspect_system(
    system: RollingSystem,
    p: ArrayLike,
    x: ArrayLike,
    u: ArrayLike | None = None,
    *,
    duration: float = 0.5,
    seed: int = 0,
    checks: Mapping[str, Check] = CHECKS,
    sensors: Sequence[Sensor] = (),
    actuators: Sequence[Actuator] = (),
) -> list[Outcome]:
    """Return the result of each check, including failures; see :func:`check_system`."""
    control = np.zeros(system.control.size) if u is None else np.array(u, dtype=float)
    whole = system
    system, p, x = _in_its_mode(
        system, np.array(p, dtype=float), np.array(x, dtype=float), control
    )
    subject = Subject(
        system,
        p,
        x,
        control,
        duration,
        seed,
        sensors=sensors,
        actuators=actuators,
        whole=whole,
    )
    outcomes: list[Outcome] = []
    broken = ''
    for name, check in checks.items():
        if broken:
            outcomes.append(Outcome(name, 'skipped', f'{broken} failed'))
            continue
        outcomes.append(_outcome(name, check, subject))
        if name in FIRST and outcomes[-1].verdict == 'failed':
            broken = name
    return outcomes


def _in_its_mode(
    system: RollingSystem, p: Array, x: Array, u: Array
) -> tuple[RollingSystem, Array, Array]:
    """Return a system with several modes in the mode of a state, with the state in that mode."""
    starts = offers(system, StartMode)
    if starts is None or len(system.modes) == 1:
        return system, p, x
    try:
        first = starts.begin(p, x, u, 0.0)
    except Exception:  # noqa: BLE001  a system under test may raise anything: the checks report it
        return system, p, x
    return in_mode(system, first.mode), first.p, first.x


def _outcome(name: str, check: Check, subject: Subject) -> Outcome:
    try:
        check(subject)
    except Failed as e:
        return Outcome(name, 'failed', str(e))
    except NotApplicable as e:
        return Outcome(name, 'skipped', str(e))
    except Exception as e:  # noqa: BLE001  a system under test may do anything
        line = (str(e).splitlines() or [''])[0]
        return Outcome(name, 'failed', f'it ended with {type(e).__name__}: {line}')
    return Outcome(name, 'passed')
