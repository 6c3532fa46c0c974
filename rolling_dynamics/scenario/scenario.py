"""A scenario: its file, its system, and questions about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
import math
from pathlib import Path
from typing import Annotated, Any, Literal

import casadi as ca
import numpy as np
from pydantic import Field, model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import Actuator, check_instruments, Sensor
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError, printable, ScenarioError, suggestion
from rolling_dynamics.plugin import others, plugins, role_of
from rolling_dynamics.scenario.control import Control, number
from rolling_dynamics.scenario.document import line_numbers, plain, read_document, shorten
from rolling_dynamics.scenario.faults import check, entries_of, entry_path, located, schema_of
from rolling_dynamics.scenario.fields import (
    by_name,
    either,
    entry,
    note,
    NotNegative,
    Number,
    numbers,
    OneOf,
    quantity,
    refused,
    Section,
    section,
    several,
)
from rolling_dynamics.scenario.instruments import (
    ActuatorSection,
    SENSORS,
    sensors_of,
    SensorSection,
)


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
        Texts for people.
    system, p, x0
        The system, its parameters and its state at t = 0.
    control
        Its control.
    duration
        Time to simulate [s].
    output_times
        Times at which results are written [s].
    events
        Action where a guard falls through zero: name -> ``stop``, ``record`` or ``ignore``.
    control_limits
        Maximum magnitude of each control, shape (m,); infinite without a limit.
    tolerances
        Tolerances of the integration.
    raw
        The document as plain data.
    mode
        Mode of motion at the start; None for the mode of the state.
    sensors, actuators
        Sensors and actuators; empty where state and control are used directly.
    seed
        Random seed of the noise of the sensors.
    uncertain
        Minimum and maximum of the parameters that are not known exactly, by name.

    """

    name: str
    description: str = ''
    system: RollingSystem
    p: Array
    x0: Array
    control: Control
    duration: float
    output_times: Array
    events: Mapping[str, str]
    control_limits: Array
    tolerances: Tolerances = field(default_factory=Tolerances)
    raw: Mapping[str, Any] = field(default_factory=dict)
    mode: str | None = None
    sensors: tuple[Sensor, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    seed: int = 0
    uncertain: Mapping[str, list[float]] = field(default_factory=dict)

    @np.errstate(all='ignore')
    def __post_init__(self) -> None:
        """Reject a start at which the equations have no value, and instruments that do not fit."""
        first, mode = next(iter(self.system.modes.items()))
        measured = check_instruments(self.system, self.sensors, self.actuators)
        u = self.control(0.0, self.x0)
        given = [ca.DM(self.x0), ca.DM(u), ca.DM(0), ca.DM(self.p)]
        parts = {'the rate of the state': mode.dynamics, 'the contact force': mode.wrench}
        for what, function in parts.items():
            if function and not function.call(given)[0].is_regular():
                raise ScenarioError(
                    f'initial: {what} is not finite at the start; look for numbers that are too '
                    'large or too small, and for formulas without a value there'
                )
        for name, functions in measured.items():
            if not functions[first].call(given)[0].is_regular():
                raise ParameterError(
                    f'sensor {name!r} of {self.system.name!r}: its measurement is not finite at '
                    'the start; look in `measure` for a division by zero, or a root of less'
                )


MAX_OUTPUTS = 1_000_000
Action = Literal['stop', 'record', 'ignore']


class Output(OneOf):
    """Output times of the result (default: 100 per second)."""

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
    Entries that every scenario may have, to which a system adds its own.

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
    sensors: dict[str, SensorSection] = entry(by_name(SENSORS), 'sensors by name', default={})
    actuators: dict[str, ActuatorSection] = note(
        'actuators by the name of their control', default={}
    )
    plan: dict[str, Any] | None = note('what `rolling plan` looks for, see below', default=None)
    sweep: dict[str, Any] | None = note('what `rolling sweep` varies, see below', default=None)
    uncertain: Mapping[str, list[float]] = entry(
        dict[str, Annotated[list[Number], Field(min_length=2, max_length=2, strict=True)]],
        'least and greatest value, by name, of the parameters that `rolling identify` fits',
        default={},
    )

    def build(self, name: str, raw: Mapping[str, Any]) -> Scenario:
        """
        Return the scenario.

        Parameters
        ----------
        name
            Default name of the scenario.
        raw
            The document as plain data.

        Raises
        ------
        ScenarioError
            The document is not a valid scenario; the text starts with the path of an entry.

        """
        raise NotImplementedError

    def bodies(self) -> Iterable[tuple[str, float, float]]:
        """Return the path of its mass, mass [kg] and volume [m^3] of each solid body."""
        return ()

    def refuse_beside_hybrid(self, **reasons: str) -> None:
        """Raise ScenarioError for entries without a meaning with ``hybrid``; reasons by name."""
        for name, reason in reasons.items():
            if name in self.given:
                raise ScenarioError(
                    f'{name}: has no meaning beside `hybrid`: {reason}; leave one of them out'
                )

    def common(
        self,
        name: str,
        raw: Mapping[str, Any],
        system: RollingSystem,
        events: Mapping[str, str],
        duration: float | None = None,
        *,
        measured: Iterable[Sensor] = (),
        driven: Iterable[Actuator] = (),
    ) -> dict[str, Any]:
        """
        Return the arguments of ``Scenario`` that do not depend on the type of system.

        Parameters
        ----------
        name, raw
            See :meth:`build`.
        system
            The system.
        events
            Default actions at its guards; others stop the motion.
        duration
            Duration in seconds, where the scenario's own has another unit.
        measured, driven
            Sensors and actuators of the system in addition to those of all scenarios.

        """
        sensors = (*measured, *sensors_of(system, self.sensors, 'sensors'))
        actuators = list(driven)
        for key, one in self.actuators.items():
            with located(f'actuators.{key}', inner=True):
                actuators.append(one.make(system, key))
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
            'name': printable(self.name or name),
            'description': self.description,
            'system': system,
            'duration': seconds,
            'output_times': self.output.over(seconds),
            'events': watched if len(system.modes) == 1 else {},
            'tolerances': self.tolerances,
            'raw': raw,
            'uncertain': self.uncertain,
            **({'sensors': sensors} if sensors else {}),
            **({'actuators': tuple(actuators)} if actuators else {}),
        }


def load_scenario(source: str | Path | Mapping[str, Any], name: str = 'scenario') -> Scenario:
    """
    Return the scenario of a YAML file, or of a mapping with the same entries.

    Parameters
    ----------
    source
        Path of a file, name of an example (``'spinning_plate'``), or a mapping.
    name
        Default name of a mapping; the name of a file is its stem.

    Returns
    -------
    Scenario
        Checked and ready to run.

    Raises
    ------
    ScenarioError
        An entry is missing, misspelt or out of range; one line for each fault, each starting with
        the path of its entry and ending with the line of the file.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> scenario = load_scenario('spinning_plate')
    >>> scenario.system.name, scenario.duration
    ('contact', 10.0)
    >>> scenario.system.parameters.unpack(scenario.p)['mass']
    array([0.1])

    """
    if isinstance(source, Mapping):
        return load_plain(plain(source, name), name)
    return load_plain(read_document(source), Path(source).stem)


@line_numbers
def load_plain(document: dict[str, Any], name: str = 'scenario') -> Scenario:
    """Return the scenario of a document that is plain data already, and that nobody changes."""
    return check(model_of(document), document).build(name, document)


def check_plain(document: Mapping[str, Any]) -> None:
    """Raise ScenarioError unless each entry of plain data is of its kind and in its range."""
    check(model_of(document), document)


def model_of(document: Mapping[str, Any]) -> type[ScenarioFile]:
    """Return the model of plain data by its entry ``system``."""
    if 'system' not in document:
        known = suggestion('', list(plugins()))
        raise ScenarioError(f'system: is missing (kind of rolling system{known})')
    system = document['system']
    model: type[ScenarioFile] | None = None
    if isinstance(system, str):
        model = role_of(system, 'scenario')
    if model is None:
        raise ScenarioError(f'system: got {shorten(system)}{others(str(system), "scenario")}')
    return model


SMALLEST, LARGEST = 1e-4, 10.0  # of a body [m]
LIGHTEST, DENSEST = 0.08, 22_600.0  # hydrogen and osmium [kg/m^3]


def doubts(document: Mapping[str, Any]) -> list[str]:
    """
    Return questions about a scenario, each starting with the path of an entry.

    Parameters
    ----------
    document
        The scenario as plain data.

    """
    model = model_of(document)
    out = [
        f'{path}: is {value:g} m meant? Lengths are in metres; 100 mm is 0.1'
        for path, value in _lengths(schema_of(model), document, '')
        if not SMALLEST <= value <= LARGEST
    ]
    for path, mass, volume in check(model, document).bodies():
        if volume > 0 and not LIGHTEST <= mass / volume <= DENSEST and mass > 0:
            out.append(
                f'{path}: is {mass:g} kg meant? With its size that is {mass / volume:.3g} kg/m^3, '
                f'and matter has {LIGHTEST:g} to {DENSEST:g}; masses are in kg, lengths in metres'
            )
    return out


def _lengths(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[tuple[str, float]]:  # noqa: ANN401
    """Yield path and value [m] of each entry that is the size of something."""
    if isinstance(value, list):
        for k, inner in enumerate(value):
            yield from _lengths(schema.get('items', {}), inner, f'{path}[{k}]')
    elif isinstance(value, dict):
        known = entries_of(schema, value)
        for key, inner in value.items():
            yield from _lengths(known.get(key, {}), inner, entry_path((key,), path))
    elif schema.get('unit') == 'm' and schema.get('exclusiveMinimum') == 0:
        yield path, number(value)
