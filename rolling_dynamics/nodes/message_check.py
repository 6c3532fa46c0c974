"""A check that measurements and commands survive their messages, next to the others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from rclpy.serialization import serialize_message
from rolling_dynamics.nodes.topics import CommandTopic, SensorReader, SensorTopic
from rolling_dynamics.testing.instruments import measurements
from rolling_dynamics.testing.motion import close, Failed, Subject

STAMP = 12_345_678_901  # ns
SINGLE = 1e-6  # relative error of the numbers of a point cloud


def messages(s: Subject) -> None:
    """Check that messages of sensors and actuators are read as they were written."""
    sent: list[Any] = []
    node = cast('Any', SimpleNamespace(writer=lambda *_: SimpleNamespace(publish=sent.append)))
    for sensor, _, y in measurements(s):
        SensorTopic(node, sensor).publish(y, STAMP)
        data = sent.pop()
        data = data if isinstance(data, bytes) else bytes(serialize_message(data))
        stamp, found = SensorReader(sensor).read(data)
        if stamp != STAMP or not close(found, y, SINGLE):
            raise Failed(
                f'sensor {sensor.name!r}: {y.tolist()} are expected in {sensor.message!r}, '
                f'found {found.tolist()}'
            )
    topic = CommandTopic(s.system, s.actuators)
    u = np.linspace(0.1, 0.2, s.u.size)
    for actuator in s.actuators:
        where = s.system.control.slice(actuator.control)
        u[where] = np.minimum(u[where], actuator.limits)
    stamp, found = topic.read(topic.message(u, STAMP))
    if stamp != STAMP * topic.stamped or not np.array_equal(found, u):
        raise Failed(f'commands on {topic.name!r}: {u.tolist()} expected, found {found.tolist()}')
