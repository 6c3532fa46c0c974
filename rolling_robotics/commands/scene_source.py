"""What `rolling animate` and `rolling view` show: a result file, or a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rolling_robotics.scene.scene import Scene


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
    from rolling_robotics.commands.recordings import is_recording, opened  # noqa: PLC0415

    if is_recording(file):
        with opened(command, file) as recorded:
            from rolling_robotics.nodes.recorded_scene import recorded_scene  # noqa: PLC0415

            return recorded_scene(recorded, frame_prefix)
    from rolling_robotics.files import read_result  # noqa: PLC0415
    from rolling_robotics.scene.general import scene_of  # noqa: PLC0415

    return scene_of(read_result(file), read_result(plan) if plan else None)
