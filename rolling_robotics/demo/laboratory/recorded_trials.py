"""Trials as the recorder saw them, which judge; a client that watches may miss messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rolling_robotics.demo.laboratory.trial_record import TrialSeen, Truth
from rolling_robotics.hardware import EMULATED, SIMULATED
from rolling_robotics.recordings.recorded_topics import read_modes, read_poses

TRUTH = 'object/ground_truth'
MODES: Mapping[str, str] = {SIMULATED: 'contact/state', EMULATED: 'contact/ground_truth'}


def as_recorded(seen: Sequence[TrialSeen], recording: Path, hardware: str) -> list[TrialSeen]:
    """
    Return trials with times, attitudes and modes from their recording.

    Parameters
    ----------
    seen
        The trials, as a client saw them.
    recording
        Folder of the recording of all of them.
    hardware
        ``simulated`` or ``emulated``.

    Raises
    ------
    ParameterError
        The recording cannot be read, or has no true motion.

    """
    poses = read_poses(recording, TRUTH)
    modes = read_modes(recording, MODES[hardware])
    truth = Truth(stamps=poses.stamps, attitudes=poses.q, modes=modes)
    return [replace(trial, **truth.within(*trial.span)) for trial in seen]
