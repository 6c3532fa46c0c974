"""The log of a system's motion in a recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
import re
from typing import Any

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError, quoted
from rolling_dynamics.identification.log import Column, Log, log_of, parts_of
from rolling_robotics.recordings.recorded_topics import read_values

FIELD = re.compile(r'\.?([A-Za-z_]\w*)|\[(-?\d+)\]')


def recorded_log(folder: Path, system: RollingSystem, mapping: Mapping[str, Column]) -> Log:
    """
    Return the log in a recording, a row for each stamp of what is measured.

    Parameters
    ----------
    folder
        Folder of the recording, or the MCAP file in it.
    system
        Its state has the components that can be measured, its control those that drive it.
    mapping
        Of components, to columns named ``topic:field``, such as
        ``vision/object_pose:pose.pose.position.x`` or ``servo_command:points[0].positions[1]``.

    Raises
    ------
    ParameterError
        A topic or a field is missing, or the log is none, as of :func:`read_log`.

    """
    names, driven = parts_of(folder, system, mapping)
    given = {name: _column(folder, name, mapping[name]) for name in (*names, *driven)}
    times = np.unique(np.concatenate([given[name][0] for name in names]))
    table = np.full((times.size, 1 + len(given)), np.nan)
    table[:, 0] = times
    for k, (name, (stamps, values)) in enumerate(given.items(), start=1):
        if name in driven:  # in force from its stamp to the next
            latest = np.searchsorted(stamps, times, side='right') - 1
            table[latest >= 0, k] = values[latest[latest >= 0]]
        else:
            table[np.searchsorted(times, stamps), k] = values
    table = table[np.isfinite(table[:, 1 + len(names) :]).all(axis=1)]
    return log_of(folder, names, table, np.arange(len(table)) + 1)


def _column(folder: Path, name: str, column: Column) -> tuple[Array, Array]:
    """Return stamps [s] and values of a component, in the order of the stamps."""
    topic, _, field = str(column.name).partition(':')
    steps = list(_steps(field))
    if not topic or not steps:
        raise ParameterError(
            f'{name}: a column of a recording is TOPIC:FIELD, such as '
            f'vision/object_pose:pose.pose.position.x; got {quoted(str(column.name))}'
        )

    def value(message: Any) -> float:  # noqa: ANN401  messages are made at run time
        for step in steps:
            message = message[step] if isinstance(step, int) else getattr(message, step)
        return float(message)

    try:
        stamps, values = read_values(folder, topic, value)
    except (AttributeError, TypeError, ValueError) as e:
        raise ParameterError(f'{folder}: {topic}: {quoted(field)} is not a number: {e}') from None
    order = np.argsort(stamps, kind='stable')
    return stamps[order], column.scale * values[order] + column.offset


def _steps(field: str) -> Iterator[str | int]:
    for attribute, index in FIELD.findall(field):
        yield attribute or int(index)
