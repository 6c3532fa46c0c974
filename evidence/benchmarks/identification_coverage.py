"""
Identify emulated logs of two minutes, seed by seed; a run that was ended goes on.

    python -m evidence.benchmarks.identification_coverage 0..99 --out build/coverage.jsonl

Each seed appends one line to the file; seeds that are in it are not run again. At the end it
prints for each number how many of its 95 % intervals have the true value, the middle of the half
widths, and the mean error in half widths. The exit status is 0 if 89 to 99 of 100 intervals of
every number do and the half widths of delay, gain and breakaway are within their goals, else 1.
"""

from __future__ import annotations

from collections.abc import Sequence
import sys
from typing import Any

import casadi as ca
from evidence.benchmarks.seed_log import run_missing, seed_parser
import numpy as np
from rolling_controller.ball_balancer.identification.differences import differences
from rolling_controller.ball_balancer.identification.identify import identify
from rolling_controller.ball_balancer.identification.log import emulated, Log
from rolling_controller.ball_balancer.identification.servo_response import put_downs
from rolling_controller.ball_balancer.laws import LAWS
from rolling_controller.ball_balancer.rig_model import RigModel
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.plate import breakaway_angle, wave_sum
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile, rig_of
from rolling_dynamics.scenario import load_scenario

LAW = 'pid'  # that moved the ball
SHARE = (0.89, 0.99)  # of intervals that have the true value
WIDEST = {'delay': 3e-3, 'gain': 0.03 * 4.05e-3, 'breakaway': 4.0}  # half widths
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
    log = emulated(file, LAWS[LAW](RigModel.of(file)), seed)
    expected, found = truth(file, log, seed), identify(log)
    return {n: [expected[n], v.value, v.half_width] for n, v in found.numbers.items()}


def truth(file: BallBalancerFile, log: Log, seed: int) -> dict[str, float]:
    """Return the true numbers, means over the frames used, or where the ball was put down."""
    rig, (system, p) = RigModel.of(file), file.system_and_parameters(seed)
    place = ca.SX.sym('place', 2)
    height = wave_sum('height', place, system.symbols.params)
    maps = ca.vertcat(-ca.gradient(height, place), breakaway_angle(place, system.symbols.params))
    at = ca.Function('maps', [place, system.symbols.p], [maps])
    places = differences(log).ball.mean(axis=1)

    def mean(places: Array) -> Array:
        values = np.array([np.array(at(y, p)).ravel() for y in places])
        return np.asarray(values.mean(axis=0) / file.servo.count)

    means = mean(places)
    return {
        'delay': rig.latency,
        'servo_acceleration': rig.acceleration,
        'servo_speed': rig.speed,
        'dead_band': file.servo.dead_band,
        'gain': rig.gain,
        'lever': rig.lever,
        'offset_x': float(means[0]),
        'offset_y': float(means[1]),
        'kinetic': file.resistance.kinetic_share * float(means[2]),
        'breakaway': float(mean(put_downs(log).places)[2]),
    }


def summary(found: Sequence[Found]) -> list[tuple[str, bool]]:
    """Return a line on each number, and whether its goals are met."""
    out = []
    for name in (n for n in found[0] if n not in {'seed', 'law'}):
        told = np.array([f[name] for f in found if f[name][2] is not None]).reshape(-1, 3)
        off, half = (told[:, 1] - told[:, 0]) / told[:, 2], np.median(told[:, 2])
        inside = np.count_nonzero(abs(off) <= 1)
        often = SHARE[0] <= int(inside) / len(found) <= SHARE[1]
        met = often and float(half) <= WIDEST.get(name, float('inf'))
        text = f'{name:20} {inside:4d} of {len(found)} inside, half width {half:.3g}'
        out.append((f'{text}, mean error {off.mean():+.2f} of it', met))
    return out


if __name__ == '__main__':
    sys.exit(main())
