"""Faults that can be put into the emulated hardware while it runs."""

from __future__ import annotations

from rolling_dynamics.errors import ParameterError

MOTOR_FAULTS = (
    'none',
    'encoder_lost',  # the joint reports no position any more
    'encoder_frozen',  # the joint reports the last position for ever
    'motor_stuck',  # the joint does not turn
    'motor_off',  # the motor gives no torque
    'messages_dropped',  # commands and states are lost at random
    'silent',  # no states are sent
)
CAMERA_FAULTS = (
    'none',
    'camera_frozen',  # the same image again and again, with new stamps
    'camera_off',  # no images
    'markers_hidden',  # every marker is occluded
    'clock_jump',  # the camera's clock starts anew
    'messages_dropped',
)


def checked_fault(kind: str, known: tuple[str, ...]) -> str:
    """Return the fault, or raise ParameterError naming those that exist."""
    if kind not in known:
        raise ParameterError(f'fault must be one of {", ".join(known)}, got {kind!r}')
    return kind
