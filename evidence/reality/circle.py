"""A robot on a ball goes round a circle: its lean, beside the steady motion of its equations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
import sys

import casadi as ca
from evidence.reality.row import Row
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.balance.hold import Hold
from rolling_controller.law import COMMANDED
from rolling_controller.robot_laws.steering import _drift, VelocityHold
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import SimulationError
from rolling_dynamics.plugin import register_plugin
from rolling_dynamics.scenario_model import load_robot, RobotModel
from rolling_robotics.trials.standing import Standing
from rolling_robotics.trials.trial import run_trials, Trial

RADIUS, SPEED, PERIOD = 1.0, 0.4, 2e-3  # m, m/s, s
SETTLED, END = 10.0, 20.0  # s
THEIRS = 14.15  # degrees
NEWTON_STEPS = 6
FREE = 'd_WB_x', 'd_WB_y', 'w_WS_W_x', 'w_WS_W_y', 'w_WB_B_x', 'w_WB_B_y', 'w_WB_B_z'
KEPT = 'p_WS_x', 'p_WS_y', 'd_WB_x', 'd_WB_y', 'd_WB_z', *FREE[2:]


def ballbot() -> RobotModel:
    """Return the robot of ``examples/ballbot``, upright at the origin."""
    folder = str(Path(__file__).parents[2] / 'examples' / 'ballbot')
    if folder not in sys.path:
        sys.path.insert(0, folder)
    plugin = import_module('ballbot.plugin').PLUGIN

    register_plugin(plugin)
    model = load_robot(plugin.example)
    x = model.start.copy()
    x[model.system.state.slice('q_WB')] = [1, 0, 0, 0]
    return replace(model, start=x)


def steady_leans(model: RobotModel, speeds: Iterable[float]) -> Array:
    """Return the leans inward [deg] of steady motions on the circle, by Newton's method."""
    system, p = model.system, model.params
    hold = Hold(system, p, model.start, control_limits=model.scenario.control_limits)
    n, m = system.tangent.size, system.control.size
    d, v = ca.SX.sym('d', n + m), ca.SX.sym('v', 3)
    rate = _drift(system, d, v, [p, hold.x, hold.u])
    f = ca.Function('f', [d, v], [rate, ca.jacobian(rate, d)])
    names, z, out = list(system.tangent.names), np.zeros(n + m), []
    columns = [*(names.index(name) for name in FREE), *range(n, n + m)]
    rows = [names.index(name) for name in KEPT]
    for speed in speeds:
        for _ in range(NEWTON_STEPS):
            lacks, by = (np.array(a) for a in f(z, [speed, 0.0, speed / RADIUS]))
            z[columns] -= np.linalg.lstsq(by[np.ix_(rows, columns)], lacks[rows, 0])[0]
        out.append(np.degrees(-z[names.index('d_WB_x')]))
    return np.array(out)


def leans(model: RobotModel, ramp: float = 0.0, end: float = END) -> tuple[Array, Array, Array]:
    """Return times [s], speeds that are wanted [m/s], and the lean inward [deg] of a run."""

    def speed(t: ArrayLike) -> Array:
        return SPEED * np.clip(np.asarray(t) / ramp, 0, 1) if ramp else np.full(np.shape(t), SPEED)

    def commanded(t: float) -> dict[str, Array]:
        return {COMMANDED.name: np.array([1.0, 0.0, 1 / RADIUS]) * speed(t)}

    law = VelocityHold(model.scenario, model.start, 0.0)
    round_it = Standing(model=model, law=law, rate=1 / PERIOD, signals=commanded)
    (run,) = run_trials([Trial(task=round_it, duration=end)])
    if run.ended:
        raise SimulationError(f'the ballbot does not go round its circle: {run.ended}')
    w, i, j, k = run['q_WB'][:-1].T
    inward = np.array([0.0, RADIUS]) - run['p_WS'][:-1]
    up = np.column_stack([2 * (i * k + w * j), 2 * (j * k - w * i)])
    sine = (up * inward).sum(axis=1) / np.linalg.norm(inward, axis=1)
    return run.times[:-1], speed(run.times[:-1]), np.degrees(np.arcsin(sine))


def rows() -> list[Row]:
    """Return a row for the steady circle, and one for a ramp of 3 s to it."""
    model = ballbot()
    (steady,) = steady_leans(model, [SPEED])
    times, _, lean = leans(model)
    after = np.abs(lean[times >= SETTLED] - steady).max()
    _, speeds, lean = leans(model, ramp=3.0, end=SETTLED)
    ramp = np.abs(lean - steady_leans(model, speeds[::50]).repeat(50))
    theirs = f'{THEIRS:g} degrees in the example of newton-physics/newton, by its issue 3917'
    given = [
        ('Ballbot on a circle, lean', f'{SETTLED:g} to {END:g} s', after, 0.1),
        ('Ballbot on a circle, ramp', 'a ramp of 3 s from rest, and 7 s after', ramp.max(), 0.5),
    ]
    what = f'the steady motion of its equations leans by {steady:.2f} degrees; {theirs}'
    return [
        Row(
            name=n,
            unit='deg inward',
            fitted='nothing',
            held_out=h,
            error=float(e),
            goal=g,
            published=what,
        )
        for n, h, e, g in given
    ]
