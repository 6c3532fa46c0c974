"""A system with numbers, by a name that a user gives."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.configuration import examples
from rolling_dynamics.contract.instruments import Actuator, Sensor
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError, printable, quoted, RollingError
from rolling_dynamics.plugin import BROKEN, plugin_of
from rolling_dynamics.scenario import load_scenario


class NamedSystem(NamedTuple):
    """A system, its parameters, a state, a control or None, and how it is measured and driven."""

    system: RollingSystem
    p: ArrayLike
    x: ArrayLike
    u: ArrayLike | None = None
    sensors: Sequence[Sensor] = ()
    actuators: Sequence[Actuator] = ()


def named_system(name: str) -> NamedSystem:
    """
    Return a system by the name that a user gives.

    Parameters
    ----------
    name
        A scenario file, a type of system, an example, or ``module:factory``.

    Raises
    ------
    ParameterError, ScenarioError
        The system does not exist or cannot be created; the text names alternatives.

    """
    if ':' in name and not Path(name).exists():
        return _made_by(name)
    if name not in examples() and Path(name).suffix not in ('.yaml', '.yml'):
        plugin = plugin_of(name)
        if plugin.example is None:
            raise ParameterError(f'the plug-in of {quoted(name)} names no example; give a file')
        name = str(plugin.example)
    scenario = load_scenario(name)
    instruments = scenario.sensors, scenario.actuators
    return NamedSystem(scenario.system, scenario.p, scenario.x0, None, *instruments)


def _made_by(name: str) -> NamedSystem:
    """Return the system of a Python function."""
    module, _, factory = name.partition(':')
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` has it
    try:
        made = getattr(import_module(module), factory)()
    except BROKEN as e:
        reason = e if isinstance(e, RollingError | ImportError) else f'{type(e).__name__}: {e}'
        raise ParameterError(f'{name}: {printable(reason)}') from e
    if not (isinstance(made, tuple) and len(made) in (3, 4, 6)):
        raise ParameterError(
            f'{name}: (system, parameters, state), and maybe a control, and maybe sensors and '
            f'actuators, is expected, got {type(made).__name__}'
        )
    p, x, u = (None if v is None else np.asarray(v, dtype=float) for v in (*made, None)[1:4])
    if p is None or x is None:
        raise ParameterError(f'{name}: parameters and state are numbers, got None')
    return NamedSystem(made[0], p, x, u, *made[4:])
