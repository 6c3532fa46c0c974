"""The emulated rig: plant, servos, camera and a law in lockstep, from a scenario file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.ball_balancer.frame_law import FrameLaw
from rolling_controller.step_law import Law
from rolling_dynamics.ball_balancer.rig_file import begin, emulated_rig, RigFile
from rolling_dynamics.contract.event import Event

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class RigRun:
    """
    What happened on the rig, frame by frame.

    Attributes
    ----------
    times
        Of the frames [s], shape (k,).
    set_points, measured, commands
        Shape (k, 2): [m], [m] (not a number without a ball), [counts].
    ball
        Where the ball truly was [m], at ``fine_times`` [s].
    events
        What happened to it, in the order of time.
    lost
        Time at which the ball left the plate [s]; None if it did not.
    fault
        Why the frames were not believed in the end; empty where they were.

    """

    times: Array
    set_points: Array
    measured: Array
    commands: Array
    fine_times: Array
    ball: Array
    events: Sequence[Event]
    lost: float | None
    fault: str


def run_rig(
    file: RigFile,
    law: Law,
    set_point: Callable[[float], Array],
    duration: float,
    *,
    seed: int = 0,
    ball: ArrayLike = (0.0, 0.0),
) -> RigRun:
    """
    Return what a law does on the rig of a file, deterministic for a seed.

    Parameters
    ----------
    file
        The rig; its start and its commands over time do not matter.
    law
        The law; it knows what the camera and the set point tell.
    set_point
        ``t -> place`` (2) [m], asked for when a frame arrives.
    duration
        How long [s].
    seed
        Random seed of maps and camera.
    ball
        Where it lies at the start (2) [m].

    """
    rig, running = emulated_rig(file, seed), FrameLaw(file, law)
    begin(rig, file, ball)
    rows = []
    for k in range(int(np.floor(duration / law.period)) + 1):
        arrival = k * law.period + file.camera.delay
        for frame in rig.advance(arrival):
            goal = np.asarray(set_point(frame.arrival), dtype=float)
            tilt = running.answer(round(frame.stamp * 1e9), frame.value[:2], goal)
            rig.send(file.command(rig.system, rig.p, tilt), frame.arrival)
            rows.append((frame.stamp, goal, frame.value[:2], tilt))
        if rig.state.ended is not None:
            break
    times, goals, measured, commands = zip(*rows, strict=True)
    return RigRun(
        times=np.array(times),
        set_points=np.array(goals),
        measured=np.array(measured),
        commands=np.array(commands),
        fine_times=np.array(rig.times),
        ball=np.array([s.x[:2] for s in rig.states]),
        events=rig.events,
        lost=None if rig.state.ended is None else rig.state.t,
        fault=running.fault,
    )
