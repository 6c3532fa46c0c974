"""
Trials seed by seed, for hours; a run that was ended goes on.

    python -m evidence.benchmarks.trials pushed_ball 3000..3999
    python -m evidence.benchmarks.trials flip_up 5000..5999
    python -m evidence.benchmarks.trials identification 0..99

Each seed appends one line to a file; seeds that are in it are not run again. At the end it prints
what came of the seeds that were asked for. The exit status is 0 where the goal is met, else 1.

``pushed_ball`` brings a ball to random poses and strikes it on the way; 99 of 100 are to come to
the goal in time. ``flip_up`` carries out the whole emulated chain with the linear regulator that
hands over to balance, and with the predictive law, which is to fail at most half as often; seeds
on which it failed it runs once more with the true state and inertia in place of the estimate: what
fails even so, no better estimate could have avoided. ``identification`` identifies emulated logs
of two minutes: 89 to 99 of 100 of the 95 % intervals of every number are to have the true value.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
import json
import os
from pathlib import Path
import sys
import time
from typing import Any

import casadi as ca
from evidence.benchmarks.predictive import PUSHED_BALL, PUSHED_BY, REACHED
import numpy as np
from rolling_controller.ball_balancer import protocol
from rolling_controller.ball_balancer.estimator import RigModel
from rolling_controller.ball_balancer.laws import LAWS
from rolling_controller.ball_balancer.rig import run_rig
from rolling_dynamics.ball_balancer.plate import breakaway_angle, wave_sum
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.errors import RollingError
from rolling_dynamics.identification.identify import identify
from rolling_dynamics.identification.log import Log, moving, stretches
from rolling_dynamics.identification.shooting import FEWEST
from rolling_dynamics.one_thread import one_thread
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_robotics.trials.chain import Imperfections, PERIOD
from rolling_robotics.trials.run import build, Judge, moments
from rolling_robotics.trials.trial import run_trials, seeded, Trial
from scipy.stats import binomtest

Ended = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Run the seeds that are missing and return the exit status."""
    os.environ.setdefault('ROLLING_COMPILE', 'now')
    parser = argparse.ArgumentParser(
        prog='python -m evidence.benchmarks.trials',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('trials', choices=TRIALS)
    parser.add_argument('seeds', type=seeds, metavar='A..B', help='first and last random seed')
    parser.add_argument('--out', type=Path, help='JSON lines (default: build/TRIALS.jsonl)')
    parser.add_argument('--law', choices=PUSHED_BY, default='pursuit')
    parser.add_argument('--scale', type=float, default=7.4, help='of imperfections of a flip-up')
    args = parser.parse_args(arguments)
    args.out = args.out or Path(f'build/{args.trials}.jsonl')
    lines, met = TRIALS[args.trials](args)
    print('\n'.join(lines))
    return 0 if met else 1


def seeds(text: str) -> range:
    """Return the seeds of ``A..B``, both included, or of one number."""
    first, _, last = text.partition('..')
    out = range(int(first), int(last or first) + 1)
    if not out or out[0] < 0:
        raise argparse.ArgumentTypeError(f'{text!r} has no seed; wanted A..B with 0 <= A <= B')
    return out


def run_missing(
    path: Path, law: str, wanted: Iterable[int], run: Callable[[list[int]], Iterable[Ended]]
) -> list[Ended]:
    """
    Return how seeds end under a law, after running those that the file lacks.

    Parameters
    ----------
    path
        The file; its folder is made. A last line that was cut off does not count.
    law
        Name of the law in it.
    wanted
        The seeds.
    run
        Gives how each of these seeds ends, in their order, as JSON can hold it.

    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    if lines and not lines[-1].endswith('\n'):
        path.write_text(''.join(lines[:-1]))
    ended = [json.loads(line) for line in lines if line.endswith('\n')]
    known, wanted = {e['seed']: e for e in ended if e['law'] == law}, list(wanted)
    with path.open('a') as file:
        missing = [seed for seed in wanted if seed not in known]
        for seed, end in zip(missing, run(missing) if missing else (), strict=True):
            known[seed] = {'seed': seed, 'law': law, **end}
            print(json.dumps(known[seed]), file=file, flush=True)
    return [known[seed] for seed in wanted]


WANTED, CONFIDENCE = 0.99, 0.95


def pushed_ball(args: argparse.Namespace) -> tuple[list[str], bool]:
    """Return lines on the pushed ball, and whether enough trials were in time."""
    run = partial(ends, replace(PUSHED_BALL, law=args.law))
    ended = run_missing(args.out, args.law, args.seeds, run)
    return summary(ended), sum(map(in_time, ended)) >= WANTED * len(ended)


def ends(trial: Trial, wanted: Iterable[int]) -> Iterator[Ended]:
    """Yield how seeds end: failure, guard, time and numbers of the record, and CPU seconds."""
    for one in seeded(trial, wanted):
        began = time.process_time()
        try:
            (record,) = run_trials([one])
        except RollingError as e:
            end: Ended = {'failure': str(e)}
        else:
            found = trial.criterion.outcome(record)
            said = {'failure': found.failure, 'ended': record.ended, 'time': found.time}
            end = {**record.values, **said}
        yield {**end, 'cpu': time.process_time() - began}


def in_time(ended: Ended) -> bool:
    """Return whether the goal was held, and from soon enough on."""
    return bool(ended.get('begun', np.inf) <= REACHED)


def summary(ended: Iterable[Ended]) -> list[str]:
    """Return lines on trials: how many were in time, how far off they ended, which were not."""
    ended = list(ended)
    good, bad = [e for e in ended if in_time(e)], [e for e in ended if not in_time(e)]
    low, high = binomtest(len(good), len(ended)).proportion_ci(CONFIDENCE)
    fraction = f'a fraction of {low:.4f} to {high:.4f} by {100 * CONFIDENCE:g} % confidence'
    cpu = np.median([e['cpu'] for e in ended])
    lines = [f'{len(good)} of {len(ended)} in time ({fraction}), median {cpu:.2g} CPU s each']
    for name, unit in (
        ('begun', 's'),
        ('position', 'mm'),
        ('attitude', 'degrees'),
        ('spin', 'rad/s'),
        ('slid', 'weights'),
    ):
        values = np.abs([e[name] for e in good])
        if len(values):
            low, high = np.median(values), values.max()
            lines.append(f'{name}: median {low:.2g}, at most {high:.2g} {unit}')
    return lines + [f'seed {e["seed"]}: {e["failure"]}' for e in bad]


LAWS_COMPARED = ('closed_loop', 'predictive')
EXACT = 'predictive with the true state and inertia'
MOST = 0.5  # ratio of failures, second law to first
BEFORE = 0.3  # s before the end in which the estimate is looked at
LOST = 0.1  # rad by which an estimate is off that has little to do with the object


def flip_up(args: argparse.Namespace) -> tuple[list[str], bool]:
    """Return lines on flip-ups by two laws, and whether the second fails seldom enough."""
    one_thread()

    def ended(law: str, wanted: Iterable[int]) -> list[Ended]:
        called = partial(map, partial(flipped, law=law, scale=args.scale))
        return run_missing(args.out, f'{law} at {args.scale:g}', wanted, called)

    first, second = ended(LAWS_COMPARED[0], args.seeds), ended(LAWS_COMPARED[1], args.seeds)
    even_so = ended(EXACT, [e['seed'] for e in second if e['failure']])
    lines = [*compared(first, second), unavoidable(even_so)]
    failed = [sum(bool(e['failure']) for e in of) for of in (first, second)]
    return lines, failed[1] <= MOST * failed[0]


def flipped(seed: int, law: str, scale: float) -> Ended:
    """Return how a trial ends: failure, greatest error of the estimate before it, CPU seconds."""
    began, experiment = time.process_time(), build('flip_up')
    imperfections = replace(Imperfections().scaled(scale), informed=True)
    judge, errors, exact = Judge(experiment), [0.0], law == EXACT
    name = 'predictive' if exact else law
    made = moments(experiment, name, seed, imperfections, judge, exact=exact)
    model = experiment.laboratory.model()[0]
    turn = model.tangent.slice('d_HO').start
    for now in made:
        off = errors[-1]
        if now.estimate is not None:
            off = abs(float(model.difference(now.estimate, now.truth)[turn]))
        errors.append(off)
    off = max(errors[-round(BEFORE / PERIOD) :])
    return {'failure': judge.failure, 'off': off, 'cpu': time.process_time() - began}


def compared(first: list[Ended], second: list[Ended]) -> list[str]:
    """Return lines on the same seeds under both laws."""
    failed = np.array([[bool(e['failure']) for e in of] for of in (first, second)])
    counts, trials = failed.sum(axis=1), failed.shape[1]
    lines = [
        f'{law}: {count} of {trials} failed, {sum(e["off"] > LOST for e in of if e["failure"])} '
        f'of them with an estimate more than {LOST:g} rad off'
        for law, count, of in zip(LAWS_COMPARED, counts, (first, second), strict=True)
    ]
    lines.append(f'both laws failed on {int(failed.all(axis=0).sum())} seeds')
    if counts[0]:
        drawn = np.random.default_rng(0).integers(trials, size=(2000, trials))
        many = failed[:, drawn].sum(axis=2)
        low, high = np.quantile(many[1] / np.maximum(many[0], 1), (0.025, 0.975))
        lines.append(
            f'ratio {counts[1] / counts[0]:.2f} ({low:.2f} to {high:.2f} by 95 % confidence), '
            f'wanted at most {MOST:g}'
        )
    return lines


def unavoidable(even_so: Sequence[Ended]) -> str:
    """Return a line on the failures, by how they end with the true state and inertia."""
    lost = [f'{e["seed"]} ({e["failure"]})' for e in even_so if e['failure']]
    each = ', '.join(lost)
    return (
        f'with the true state and inertia {len(lost)} of the {len(even_so)} failures of the '
        f'predictive law fail even so{": " if each else ""}{each}'
    )


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


def identification(args: argparse.Namespace) -> tuple[list[str], bool]:
    """Return a line on each number that is identified, and whether the goals of all are met."""
    found = covered(run_missing(args.out, LAW, args.seeds, partial(map, identified)))
    return [line for line, _ in found], all(met for _, met in found)


def identified(seed: int) -> Ended:
    """Return true value, value and half width of each number from the log of a random seed."""
    file = BallBalancerFile.of(load_scenario('ball_balancer'))
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


def covered(found: Sequence[Ended]) -> list[tuple[str, bool]]:
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


TRIALS = {'pushed_ball': pushed_ball, 'flip_up': flip_up, 'identification': identification}

if __name__ == '__main__':
    sys.exit(main())
