"""Recordings as commands open them: what is lost is said, and damage is one error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rolling_robotics.nodes.recorded import Recorded

SCENARIO_HELP = 'scenario of a recording, if it is not one of those that come with the suite'


def is_recording(path: Path) -> bool:
    """Return whether a path is meant as a recording, not as a result."""
    return path.is_dir() or path.suffix == '.mcap'


@contextmanager
def opened(command: str, path: Path, scenario: Path | None = None) -> Iterator[Recorded]:
    """
    Open a recording, and say what of it is lost.

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
        ROS is missing, or what is read is damaged.

    """
    from rolling_robotics.commands.record import need_ros  # noqa: PLC0415  (--help stays fast)
    from rolling_robotics.console import say  # noqa: PLC0415
    from rolling_robotics.damaged import damage_reported  # noqa: PLC0415

    need_ros(command)
    from rolling_robotics.nodes.recorded import Recorded  # noqa: PLC0415

    with damage_reported(str(path)), Recorded(path, scenario) as recorded:
        if recorded.loss:
            say(f'{path}: {recorded.loss}')
        yield recorded
