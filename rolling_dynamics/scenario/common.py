"""What every scenario may hold, whatever its system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import math
from typing import Any, Literal

import numpy as np
from pydantic import model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario.fields import (
    either,
    entry,
    note,
    NotNegative,
    numbers,
    OneOf,
    quantity,
    refused,
    Section,
    section,
    several,
)
from rolling_dynamics.scenario.scenario import Scenario, Tolerances
from rolling_dynamics.suggestion import suggestion

MAX_OUTPUTS = 1_000_000
Action = Literal['stop', 'record', 'ignore']


class Output(OneOf):
    """When the result is written (default: 100 times per second)."""

    rate: float = quantity('samples per second', 'Hz', positive=True, default=100.0)
    times: Array | None = numbers(
        'increasing times, the last at most the duration',
        's',
        of=NotNegative,
        count=(1, MAX_OUTPUTS),
        default=None,
    )

    @model_validator(mode='after')
    def _increasing(self) -> Output:
        if self.times is not None and not np.all(np.diff(self.times) > 0):
            raise refused(f'must increase, got {self.times.tolist()}', 'times')
        return self

    def over(self, duration: float) -> Array:
        """Return the times at which results are written [s], shape (N,)."""
        if self.times is not None:
            if self.times[-1] > duration:
                raise ScenarioError(
                    f'output.times: must lie within the duration {duration:g} s, got '
                    f'{self.times[-1]:g}'
                )
            return self.times
        count = duration * self.rate
        if count > MAX_OUTPUTS:
            raise ScenarioError(
                f'output.rate: gives {count:.3g} samples in {duration:g} s; at most {MAX_OUTPUTS} '
                f'are written, so at most {MAX_OUTPUTS / duration:.6g} Hz'
            )
        times = np.arange(math.floor(count + 1e-9) + 1) / self.rate
        return times if duration - times[-1] < 1e-9 * duration else np.append(times, duration)


def _stopping(names: list[str]) -> dict[str, str]:
    return dict.fromkeys(names, 'stop')


class ScenarioFile(Section):
    """
    What a scenario may hold: the entries that all have, to which a system adds its own.

    A plug-in names its subclass as ``scenario``.
    """

    system: str = note('kind of rolling system')
    name: str | None = note(
        'name of the scenario; the name of its file if left out', default=None, min_length=1
    )
    description: str = note('what it shows, in a sentence', default='')
    duration: float = quantity('time to simulate, and horizon of a plan', 's', positive=True)
    output: Output = section(Output)
    events: Mapping[str, str] = entry(
        either(several=several(str, made=_stopping), mapping=dict[str, Action]),
        'what happens where a margin falls through zero, by its name: `stop`, `record` or '
        '`ignore`; a list of names stops at each',
        default={},
    )
    tolerances: Tolerances = section(Tolerances)
    plan: dict[str, Any] | None = note('what `rolling plan` looks for, see below', default=None)
    sweep: dict[str, Any] | None = note('what `rolling sweep` varies, see below', default=None)

    def build(self, name: str, raw: Mapping[str, Any]) -> Scenario:
        """
        Return the scenario.

        Parameters
        ----------
        name
            Its name if the document gives none.
        raw
            The document as plain data.

        Raises
        ------
        ScenarioError
            What was given makes no scenario; the text begins with the path of an entry.

        """
        raise NotImplementedError

    def bodies(self) -> Iterable[tuple[str, float, float]]:
        """Return the path of its mass, mass [kg] and volume [m^3] of each solid body."""
        return ()

    def common(
        self,
        name: str,
        raw: Mapping[str, Any],
        system: RollingSystem,
        events: Mapping[str, str],
        duration: float | None = None,
    ) -> dict[str, Any]:
        """
        Return the arguments of ``Scenario`` that do not depend on the kind of system.

        Parameters
        ----------
        name, raw
            As of :meth:`build`.
        system
            The system.
        events
            What happens at its guards by default; where nothing is said, the motion stops.
        duration
            In seconds, where the scenario's own has another unit.

        """
        seconds = self.duration if duration is None else duration
        guards = next(iter(system.modes.values())).guards
        for given in self.events:
            if given not in guards:
                raise ScenarioError(
                    f'events: unknown event {given!r}{suggestion(given, list(guards))}'
                )
        known = {guard: action for guard, action in events.items() if guard in guards}
        watched = dict.fromkeys(guards, 'stop') | known | dict(self.events)
        return {
            'name': self.name or name,
            'description': self.description,
            'system': system,
            'duration': seconds,
            'output_times': self.output.over(seconds),
            'events': watched if len(system.modes) == 1 else {},
            'tolerances': self.tolerances,
            'raw': raw,
        }
