"""Arguments that several commands take, and recordings as commands open them."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
import math
from pathlib import Path
from typing import Any, TYPE_CHECKING

from rolling_dynamics.errors import ParameterError, quoted
from rolling_node_kit.signals import without_ros
from rolling_robotics.commands import Add
from rolling_robotics.console import say

if TYPE_CHECKING:
    from rolling_robotics.nodes.recorded import Recorded
    from rolling_robotics.scene.scene import Scene


def add_scenario(add: Add) -> None:
    """Declare the scenario."""
    add('scenario', 'SCENARIO', 'scenario file, or an example by name')


def add_scenario_and_result(add: Add) -> None:
    """Declare the scenario, and the file of its result."""
    add_scenario(add)
    add('--out', 'FILE.json', 'result; - writes it to stdout', Path, required=True)


SCENARIO_HELP = 'scenario of a recording, if it is not one of those that come with the suite'


def need_ros(command: str) -> None:
    """Raise ParameterError where ROS is missing."""
    fault = without_ros(command, 'rosbags')
    if fault:
        raise ParameterError(fault)


def number(low: float, high: float, kind: type[float] = float) -> Callable[[str], float]:
    """Return the reader of an argument that lies between two numbers."""

    def read(text: str) -> float:
        value = kind(text)
        if not low <= value <= high:
            bounds = f'lie between {low:g} and {high:g}'
            if high == math.inf:
                bounds = f'be at least {low:g}'
            raise ArgumentTypeError(f'must {bounds}, got {text}')
        return value

    read.__name__ = kind.__name__  # as argparse shows it
    return read


def named(form: str, value: Callable[[str], Any]) -> Callable[[str], tuple[str, Any]]:
    """Return the reader of an argument NAME=..., whose value raises ValueError if it is wrong."""

    def read(text: str) -> tuple[str, Any]:
        name, _, after = text.partition('=')
        with suppress(ValueError):
            if name:
                return name, value(after)
        raise ArgumentTypeError(f'{form} is needed, got {quoted(text)}')

    return read


def finite(text: str, above: float = -math.inf) -> float:
    """Return a finite number above another one; raise ValueError for any other text."""
    if not above < (value := float(text)) < math.inf:
        raise ValueError
    return value


def is_recording(path: Path) -> bool:
    """Return whether a path is meant as a recording, not as a result."""
    return path.is_dir() or path.suffix == '.mcap'


@contextmanager
def opened(command: str, path: Path, scenario: Path | None = None) -> Iterator[Recorded]:
    """
    Open a recording, and report lost parts.

    Parameters
    ----------
    command
        Name of the subcommand, for errors.
    path
        Folder of a recording, or the MCAP file in it.
    scenario
        File of its scenario; None for the one of the suite that it names.

    Raises
    ------
    ParameterError
        ROS is missing, or the recording is damaged.

    """
    from rolling_robotics.files import damage_reported

    need_ros(command)
    from rolling_robotics.nodes.recorded import Recorded

    with damage_reported(str(path)), Recorded(path, scenario) as recorded:
        if recorded.loss:
            say(f'{path}: {recorded.loss}')
        yield recorded


def shown_scene(command: str, file: Path, plan: Path | None, frame_prefix: str = '') -> Scene:
    """
    Return the scene of a result file or of the folder of a recording.

    Parameters
    ----------
    command
        Name of the subcommand, for errors.
    file
        Result of `rolling simulate` or `rolling plan`, or a recording.
    plan
        Result of `rolling plan` that is shown as a ghost, or None.
    frame_prefix
        Put before the names of the robot's frames in a recording.

    Raises
    ------
    ParameterError
        It cannot be read, or ROS is missing for a recording.

    """
    if is_recording(file):
        with opened(command, file) as recorded:
            from rolling_robotics.nodes.recorded_scene import recorded_scene

            return recorded_scene(recorded, frame_prefix)
    from rolling_robotics.files import read_result
    from rolling_robotics.scene.general import scene_of

    return scene_of(read_result(file), read_result(plan) if plan else None)
