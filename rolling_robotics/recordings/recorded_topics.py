"""Joint states, poses and modes of a recording as arrays, and its log; needs rosbags, not ROS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError, printable, quoted
from rolling_dynamics.extras import need
from rolling_dynamics.identification.log import Column, Log, log_of, parts_of
from rolling_hw_interface.calibration.camera import MeasuredPoses
from rolling_robotics.console import say
from rolling_robotics.recordings.recording_file import RecordingFile


@dataclass(frozen=True, kw_only=True)
class RecordedJoints:
    """
    Times by the host's clock [s], shape (n,), and what joints did, shape (n, joints).

    Angles [rad], rates [rad/s] and torques [N m]; not numbers where none were reported.
    """

    times: Array
    position: Array
    velocity: Array
    effort: Array


def read_joints(folder: Path, topic: str, names: list[str]) -> RecordedJoints:
    """
    Return the states of the named joints.

    Parameters
    ----------
    folder
        The recording.
    topic
        End of the topic's name.
    names
        Joints, in the order wanted.

    Raises
    ------
    ParameterError
        There is no such recording, topic or joint.

    """
    times: list[float] = []
    rows_by_field: dict[str, list[Any]] = {'position': [], 'velocity': [], 'effort': []}
    for _, message in _messages(folder, topic):
        times.append(_seconds(message))
        for key, rows in rows_by_field.items():
            rows.append(_ordered(topic, names, list(message.name), getattr(message, key)))
    rising = np.flatnonzero(np.diff(times, prepend=-np.inf) > 0)
    return RecordedJoints(
        times=np.array(times)[rising],
        **{key: np.array(rows)[rising] for key, rows in rows_by_field.items()},
    )


def read_poses(folder: Path, topic: str) -> MeasuredPoses:
    """Return recorded Odometry or poses with a stamp; arguments as `read_joints`."""
    rows = []
    for received, message in _messages(folder, topic):
        pose = getattr(message.pose, 'pose', message.pose)
        p, q = pose.position, pose.orientation
        rows.append((_seconds(message), received, p.x, p.y, p.z, q.w, q.x, q.y, q.z))
    table = np.array(rows)
    return MeasuredPoses(
        stamps=table[:, 0], arrivals=table[:, 1], p=table[:, 2:5], q=table[:, 5:9]
    )


def read_modes(folder: Path, topic: str) -> list[tuple[float, str]]:
    """Return stamps [s] and modes of recorded RollingContact; arguments as `read_joints`."""
    return [(_seconds(message), message.mode) for _, message in _messages(folder, topic)]


def read_values(folder: Path, topic: str, value: Callable[[Any], float]) -> tuple[Array, Array]:
    """Return stamps [s] and a value of each message, (n,); messages too short are left out."""
    rows = []
    for _, message in _messages(folder, topic):
        with suppress(IndexError):
            rows.append((_seconds(message), value(message)))
    table = np.array(rows).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _ordered(topic: str, names: list[str], known: list[str], given: ArrayLike) -> Array:
    """Return the values of a message for the named joints; NaN for missing ones."""
    if not set(names) <= set(known):
        raise ParameterError(f'{topic}: joints {names} are needed, got {known}')
    values = np.asarray(given, dtype=float)
    order = [known.index(name) for name in names]
    return values[order] if values.size == len(known) else np.full(len(order), np.nan)


def _seconds(message: Any) -> float:  # noqa: ANN401  messages are made at run time
    return float(message.header.stamp.sec + message.header.stamp.nanosec * 1e-9)


def _messages(folder: Path, topic: str) -> Iterator[tuple[float, Any]]:
    """Yield time of arrival [s] and message, in the order of the recording."""
    need('recordings', 'rosbags')
    from rolling_robotics.recordings.writer import typestore_with  # noqa: PLC0415  (rosbags)

    with RecordingFile(folder, typestore_with(['rolling_interfaces'])) as recording:
        if recording.loss:
            say(f'{folder}: {recording.loss}')
        found = [name for name in recording.topics if name.endswith(topic)]
        if not found:
            names = printable(', '.join(sorted(recording.topics)))
            raise ParameterError(f'{folder}: no topic {topic!r} recorded; there are: {names}')
        if not any(map(recording.count, found)):
            raise ParameterError(f'{folder}: no message on {topic!r}')
        for name, received, data in recording.raw(found):
            yield received * 1e-9, recording.deserialize(name, data)


FIELD = re.compile(r'\.?([A-Za-z_]\w*)|\[(-?\d+)\]')


def recorded_log(folder: Path, system: RollingSystem, mapping: Mapping[str, Column]) -> Log:
    """
    Return the log in a recording, a row for each stamp of a measurement.

    Parameters
    ----------
    folder
        Folder of the recording, or the MCAP file in it.
    system
        System whose state has the measured components, and whose control has the inputs.
    mapping
        Components -> columns named ``topic:field``, such as
        ``vision/object_pose:pose.pose.position.x`` or ``servo_command:points[0].positions[1]``.

    Raises
    ------
    ParameterError
        A topic or a field is missing, or the log is invalid, as in :func:`read_log`.

    """
    names, driven = parts_of(str(folder), system, mapping)
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
    return log_of(folder, names, table).from_zero()


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
