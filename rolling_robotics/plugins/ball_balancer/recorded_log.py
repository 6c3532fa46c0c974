"""The log of a ball balancer from a recording of what its nodes said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rolling_controller.ball_balancer.identification.log import checked_log, Log
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.errors import ParameterError
from rolling_robotics.recordings.recorded_topics import read_poses, read_targets

BALL, ANGLES = 'vision/object_pose', 'servo_command'


def recorded_log(folder: Path, rig: BallBalancerFile) -> Log:
    """
    Return the log in a recording, a row for each frame.

    A command is that of the frame whose stamp it has; where a frame was not answered, the command
    before goes on.

    Parameters
    ----------
    folder
        Folder of the recording, or the MCAP file in it.
    rig
        Names of the servos, and the tilt that their angles give.

    Raises
    ------
    ParameterError
        A topic is missing, no frame was answered, or stamps go back.

    """
    frames = read_poses(folder, BALL)
    system, p = rig.system_and_parameters()
    names = list(system.state.entry('servo').components)
    stamps, angles = read_targets(folder, ANGLES, names)
    new = np.append(True, np.diff(frames.stamps) != 0)  # a frame is sent again if it is not heard
    times, ball = frames.stamps[new], frames.p[new, :2]
    known = np.isfinite(angles).all(axis=1)
    sent = dict(zip(stamps[known].tolist(), rig.tilts(system, p, angles[known]), strict=True))
    if not any(t in sent for t in times.tolist()):
        raise ParameterError(
            f'{folder}: no message on {ANGLES!r} has the stamp of one on {BALL!r}; the controller '
            'must stamp its answer to a frame as the frame is'
        )
    tilt, newest = np.zeros_like(ball), np.zeros(2)
    for k, t in enumerate(times.tolist()):
        newest = tilt[k] = sent.get(t, newest)
    return checked_log(folder, Log(times=times - times[0], ball=ball, tilt=tilt))
