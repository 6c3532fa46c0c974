"""
Identify emulated logs of two minutes, seed by seed; a run that was ended goes on.

    python -m evidence.benchmarks.identification_coverage 0..99 --out build/coverage.jsonl

Each seed appends one line to the file; seeds that are in it are not run again. At the end it
prints for each number how many of its 95 % intervals have the true value, the middle of the half
widths, and the mean error in half widths. The exit status is 0 if 89 to 99 of 100 intervals of
every number do and the half widths of dead time and gravity are within their goals, else 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import sys
from typing import Any

import casadi as ca
from evidence.benchmarks.seed_log import run_missing, seed_parser
import numpy as np
from rolling_controller.ball_balancer import protocol
from rolling_controller.ball_balancer.laws import LAWS
from rolling_controller.ball_balancer.rig import run_rig
from rolling_controller.ball_balancer.rig_model import RigModel
from rolling_dynamics.ball_balancer.plate import breakaway_angle, wave_sum
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile, rig_of
from rolling_dynamics.identification.identify import identify
from rolling_dynamics.identification.log import Log, moving, stretches
from rolling_dynamics.identification.shooting import FEWEST
from rolling_dynamics.scenario import load_scenario, Scenario

LAW = 'pid'  # that moved the ball
INSIDE = (0.89, 0.99)  # fraction of intervals that have the true value
WIDEST = {'dead_time': 3e-3, 'gravity': 0.03 * 9.81}  # half widths
WINDOW, SLOW = 0.17, 0.015  # s, and m/s at which a ball may rest or turn back
LACKING = dict.fromkeys(('ball_rate_x', 'ball_rate_y'), 0.03)  # m/s^2, by slopes of the plate
MEASURED = ('ball_x', 'ball_y')
RESTING = 20.0  # counts, of the breakaway tilt that is assumed for the kinetic one
BOUNDS = {
    'dead_time': (0.0, 0.4),
    'servo_acceleration': (0.3, 58.0),
    'servo_speed': (0.03, 5.8),
    'dead_band': (0.0, 0.03),
    'gravity': (5.0, 15.0),
    'kinetic_share': (0.0, 2.0),
    'command_x': (-0.05, 0.05),
    'command_y': (-0.05, 0.05),
}
Found = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Run the seeds that are missing and return the exit status."""
    module = 'evidence.benchmarks.identification_coverage'
    args = seed_parser(module, __doc__, 'build/coverage.jsonl').parse_args(arguments)
    good = True
    for line, met in summary(run_missing(args.out, LAW, args.seeds, run)):
        print(line)
        good &= met
    return 0 if good else 1


def run(seed: int) -> Found:
    """Return true value, value and half width of each number from the log of a random seed."""
    file = rig_of(load_scenario('ball_balancer'))
    log = emulated(file, seed)
    expected = truth(file, log, seed)
    found = identify(assumed(file.servo.count), log, BOUNDS, WINDOW, 0.0, LACKING)
    return {n: [expected[n], v.value, v.half_width] for n, v in found.estimates.items()}


def emulated(file: BallBalancerFile, seed: int) -> Log:
    """Return the log of jumps of the set point on an emulated rig: when a frame had come."""
    law, (system, p) = LAWS[LAW](RigModel.of(file)), file.system_and_parameters(seed)
    run = run_rig(file, law, protocol.jumps, protocol.jumps_duration(), seed=seed)
    commands = np.array([file.command(system, p, tilt) for tilt in run.outputs])
    log = Log(
        times=run.stamps + file.camera.delay,
        lines=np.arange(run.stamps.size) + 2,
        names=MEASURED,
        measured=run.inputs[:, :2],
        controls=commands,
    )
    return moving(log, MEASURED, SLOW)


def assumed(count: float) -> Scenario:
    """Return the rig as it is assumed to be: an even plate, and other servos."""
    changes: Mapping[str, Mapping[str, Any]] = {
        'plate': {'slope': 0},
        'resistance': {'model': 'smooth', 'breakaway': [RESTING, RESTING]},
        'servo': {'count': count, 'speed': 1500, 'acceleration': 15000, 'dead_band': 1},
    }
    raw = dict(load_scenario('ball_balancer').raw)
    return load_scenario({**raw, **{name: {**raw[name], **new} for name, new in changes.items()}})


def truth(file: BallBalancerFile, log: Log, seed: int) -> dict[str, float]:
    """Return the true numbers; of maps, means over where the ball rolled."""
    system, p = file.system_and_parameters(seed)
    place, symbols = ca.SX.sym('place', 2), system.whole.symbols
    height = wave_sum('height', place, symbols.params)
    maps = ca.vertcat(-ca.gradient(height, place), breakaway_angle(place, symbols.params))
    at = ca.Function('maps', [place, symbols.p], [maps])
    rolled = np.vstack([log.measured[a : b + 1] for a, b in stretches(log) if b - a >= FEWEST])
    own = system.expand_parameters(p)
    slope_x, slope_y, breaking = np.array([np.array(at(y, own)).ravel() for y in rolled]).mean(0)
    servo, count = file.servo, file.servo.count
    return {
        'dead_time': file.camera.delay + servo.dead_time,
        'servo_acceleration': servo.acceleration * count,
        'servo_speed': servo.speed * count,
        'dead_band': servo.dead_band * count,
        'gravity': file.gravity,
        'kinetic_share': file.resistance.kinetic_share * breaking / (RESTING * count),
        'command_x': slope_x,
        'command_y': slope_y,
    }


def summary(found: Sequence[Found]) -> list[tuple[str, bool]]:
    """Return a line on each number, and whether its goals are met."""
    out = []
    for name in (n for n in found[0] if n not in {'seed', 'law'}):
        given = np.array([f[name] for f in found if f[name][2] is not None]).reshape(-1, 3)
        off, half = (given[:, 1] - given[:, 0]) / given[:, 2], np.median(given[:, 2])
        inside = np.count_nonzero(abs(off) <= 1)
        often = INSIDE[0] <= int(inside) / len(found) <= INSIDE[1]
        met = often and float(half) <= WIDEST.get(name, float('inf'))
        text = f'{name:20} {inside:4d} of {len(found)} inside, half width {half:.3g}'
        out.append((f'{text}, mean error {off.mean():+.2f} of it', met))
    return out


if __name__ == '__main__':
    sys.exit(main())
