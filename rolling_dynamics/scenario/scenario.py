"""A scenario that was read: a rolling system, where it starts and what drives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import math
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario.control import Control
from rolling_dynamics.scenario.section import Section
from rolling_dynamics.suggestion import suggestion

if TYPE_CHECKING:
    from rolling_dynamics.simulation import Trajectory

ProgressReport = Callable[[float], object]  # of the time [s]; False stops the simulation
Runner = Callable[['Scenario', ProgressReport | None], 'Trajectory']
DEFAULT_RATE = 100.0  # Hz
MAX_OUTPUTS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Tolerances:
    """Tolerances of the integration."""

    relative: float = 1e-12
    absolute: float = 1e-14


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
    runner
        What simulates it instead of :func:`rolling_dynamics.simulation.simulate`; None for that.

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
    runner: Runner | None = None

    @np.errstate(all='ignore')
    def __post_init__(self) -> None:
        """Refuse a start at which the equations have no value."""
        mode = next(iter(self.system.modes.values()))
        u = self.control(0.0, self.x0)
        parts = {'the rate of the state': mode.dynamics, 'the contact force': mode.wrench}
        for what, function in parts.items():
            if function and not np.isfinite(np.array(function(self.x0, u, 0, self.p))).all():
                raise ScenarioError(
                    f'initial: {what} is not finite at the start; look for numbers that are too '
                    'large or too small, and for formulas without a value there'
                )


def read_tolerances(top: Section) -> Tolerances:
    """Return the section ``tolerances``."""
    section = top.section('tolerances')
    return Tolerances(
        relative=section.number('relative', Tolerances.relative),
        absolute=section.number('absolute', Tolerances.absolute),
    )


def read_output_times(top: Section, duration: float) -> NDArray[np.float64]:
    """Return the times of the section ``output``, 100 a second if it is not there."""
    section = top.section('output')
    if 'times' in section:
        times = section.numbers('times')
        if not np.all(np.diff(times) > 0):
            raise section.fail('times', f'must increase, got {times.tolist()}')
        if times[-1] > duration:
            raise section.fail(
                'times', f'must lie within the duration {duration:g} s, got {times[-1]:g}'
            )
        return times
    rate = section.number('rate', DEFAULT_RATE)
    count = duration * rate
    if count > MAX_OUTPUTS:
        raise section.fail(
            'rate',
            f'gives {count:.3g} samples in {duration:g} s; at most {MAX_OUTPUTS} are '
            f'written, so at most {MAX_OUTPUTS / duration:.6g} Hz',
        )
    times = np.arange(math.floor(count + 1e-9) + 1) / rate
    return times if duration - times[-1] < 1e-9 * duration else np.append(times, duration)


def read_events(
    top: Section, known: Mapping[str, Any], defaults: Mapping[str, str]
) -> dict[str, str]:
    """Return what happens at each guard of a system: the section ``events`` over the defaults."""
    chosen = {name: defaults.get(name, 'stop') for name in known}
    given = top.get('events', {})
    if isinstance(given, list):
        given = dict.fromkeys(given, 'stop')
    for name, action in given.items():
        if name not in known:
            raise top.fail('events', f'unknown event {name!r}{suggestion(name, list(known))}')
        chosen[name] = action
    return chosen
