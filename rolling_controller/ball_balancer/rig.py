"""The emulated rig: plant, servos, camera and a law in lockstep, from a scenario file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rolling_controller.step_law import StepLaw
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.simulation import Stepper

Array = NDArray[np.float64]
LONGEST = 2e-3  # s, of a step of the plant


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
    lost
        Time at which the ball left the plate [s]; None if it did not.

    """

    times: Array
    set_points: Array
    measured: Array
    commands: Array
    fine_times: Array
    ball: Array
    lost: float | None


def run_rig(
    file: BallBalancerFile,
    law: StepLaw,
    set_point: Callable[[float], Array],
    duration: float,
    *,
    seed: int = 0,
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

    """
    system, p = file.system_and_parameters(seed)
    camera, rng = file.camera, np.random.default_rng([seed, 1])
    plant, running = Stepper(system, p, max_step=LONGEST), law.start()
    x0 = np.zeros(system.state.size)
    u = file.command(system, p, np.zeros(2))
    x0[4 : 4 + u.size] = u
    state = plant.begin(x0, u)
    pending: list[tuple[float, Array]] = []  # commands on their way to the servos
    rows, fine_times, ball = [], [0.0], [x0[:2]]

    def go(until: float) -> None:
        nonlocal state, u
        while state.t < until - 1e-12 and state.ended is None:
            while pending and pending[0][0] <= state.t + 1e-12:
                u = pending.pop(0)[1]
            end = min(until, state.t + LONGEST, *(t for t, _ in pending[:1]))
            state = plant.step(state, u, end - state.t)
            fine_times.append(state.t)
            ball.append(state.x[:2])

    for k in range(int(np.floor(duration / law.period)) + 1):
        shot = k * law.period
        go(shot)
        place = _seen(np.array(fine_times), ball, shot, camera.exposure)
        place = place + camera.noise * rng.normal(size=2)
        if rng.random() < camera.lost or state.ended is not None:
            place = np.full(2, np.nan)
        goal = np.asarray(set_point(shot + camera.delay), dtype=float)
        tilt = running.step(place, goal)
        rows.append((shot, goal, place, tilt))
        pending.append((shot + camera.delay + file.servo.dead_time, file.command(system, p, tilt)))
        if state.ended is not None:
            break
    times, goals, measured, commands = zip(*rows, strict=True)
    return RigRun(
        times=np.array(times),
        set_points=np.array(goals),
        measured=np.array(measured),
        commands=np.array(commands),
        fine_times=np.array(fine_times),
        ball=np.array(ball),
        lost=None if state.ended is None else state.t,
    )


def _seen(times: Array, ball: list[Array], shot: float, exposure: float) -> Array:
    """Return the mean place over the exposure, which ends half of it after the middle."""
    if exposure <= 0:
        return ball[-1]
    last = np.array(ball[int(np.searchsorted(times, shot - exposure)) :])
    return np.asarray(last.mean(axis=0))
