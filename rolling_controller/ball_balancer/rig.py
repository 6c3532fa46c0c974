"""
A law on a rig: it answers the frames of a camera, and runs in lockstep with the emulated rig.

Frames pass the supervisor first: the plate is level once they are not believed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.law import Law
from rolling_controller.lockstep import ClosedLoop, run_emulated
from rolling_controller.measured_state import MeasuredLaw, SensorFilter
from rolling_controller.supervisor import Source
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.rig_file import begin, emulated_rig, RigFile
from rolling_dynamics.simulation.sensing import Measurement

FASTEST = 0.5  # m/s, standard deviation of the rate of a ball that is measured for the first time
UNLEVEL = 0.015  # standard deviation of an acceleration that the model lacks, over gravity


def supervised(file: RigFile, law: Law[Any]) -> MeasuredLaw:
    """Return a law of a rig behind the supervisor of its frames, which levels the plate."""
    camera, (low, high), radius = file.camera.sensor(), file.edges, file.ball.radius
    system, p = file.nominal().system_and_parameters()
    commanding = file.commanding(system)
    white, walk = file.unmodelled
    x = np.zeros(system.state.size)
    x[4:] = file.at_rest(file.command(system, p, np.zeros(2)))
    anywhere = {'ball': float(np.max(high - low)), 'ball_rate': FASTEST}
    state = SensorFilter(
        system,
        p,
        [camera],
        x,
        start=anywhere,
        lost=anywhere,
        drift={'ball_rate': white},
        forces={'ball_rate': (UNLEVEL * file.gravity, walk)},
        sources={
            camera.name: Source(
                name='the ball',
                period=1 / camera.rate,
                noise=file.camera.noise,
                low=low - radius,
                high=high + radius,
            )
        },
    )
    return MeasuredLaw(
        state,
        law,
        control=lambda output: commanding(output, p),
        latency=camera.delay + file.servo.dead_time,
        greatest=file.greatest / file.count,
    )


def run_rig(
    file: RigFile,
    law: Law[Any],
    set_point: Callable[[float], Array],
    duration: float,
    seed: int = 0,
    ball: ArrayLike = (0.0, 0.0),
) -> ClosedLoop:
    """
    Run a law on the rig of a file, deterministic for a seed.

    Parameters
    ----------
    file
        The rig; its start and its commands over time are ignored.
    law
        The law; it takes the frames of the camera and the set point, under the supervisor.
    set_point
        ``t -> position`` (2) [m], called when a frame arrives.
    duration
        Duration [s].
    seed
        Random seed of maps and camera.
    ball
        Position of the ball at the start (2) [m].

    """
    rig = emulated_rig(file, seed)
    begin(rig, file, ball)

    def inputs(frame: Measurement) -> Array:
        return np.concatenate([frame.value[:2], set_point(frame.arrival)])

    def control(given: Array) -> Array:
        return file.command(rig.system, rig.p, given)

    return run_emulated(rig, supervised(file, law), inputs, duration, control, file.camera.delay)
