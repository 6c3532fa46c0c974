"""By how much the trials are off what the controller believes, drawn from their seeds."""

from __future__ import annotations

from rolling_robotics.demo.laboratory.trial_record import Offset
from rolling_robotics.trials.imperfections import Imperfections


def offset(seed: int) -> Offset:
    """Return the offset of a trial: of full size, with signs drawn from the seed."""
    draw = Imperfections().draw(seed)
    return Offset(
        shift=draw.shift,
        turn=draw.turn,
        inertia=draw.inertia,
        resistance=draw.friction_torque,
    )
