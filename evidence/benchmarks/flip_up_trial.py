"""
Flip up by two laws beside each other, seed by seed, for hours; a run that was ended goes on.

    python -m evidence.benchmarks.flip_up_trial 5000..5999

Each seed carries out the whole emulated chain with the linear regulator that hands over to
balance, and with the predictive law. Each appends one line to the file; those that are in it are
not run again. At the end it prints how many failed, the ratio of both with its interval, and how
many failed within 0.3 s of an estimate that was twice as far off as balance may be. Seeds on which
the predictive law failed it runs once more with the true state and inertia in place of the
estimate: what fails even so, no better estimate could have avoided. The exit status is 0 if the
predictive law fails at most half as often, else 1.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import cache
import json
import os
from pathlib import Path
import sys
import time
from typing import Any

from evidence.benchmarks.predictive_trial import recorded, seeds
import numpy as np
from rolling_dynamics.one_thread import one_thread
from rolling_robotics.trials.chain import PERIOD
from rolling_robotics.trials.imperfections import Imperfections
from rolling_robotics.trials.judge import Judge
from rolling_robotics.trials.prepare import build, LaboratorySetup
from rolling_robotics.trials.run import moments

LAWS = ('closed_loop', 'predictive')
EXACT = 'predictive with the true state and inertia'
WANTED = 0.5  # failures of the second law over those of the first
BEFORE = 0.3  # s before the end in which the estimate is looked at
LOST = 0.1  # rad by which an estimate is off that has little to do with the object
Ended = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Run the trials that are missing and return the exit status."""
    parser = argparse.ArgumentParser(
        prog='python -m evidence.benchmarks.flip_up_trial',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('seeds', type=seeds, metavar='A..B', help='first and last random seed')
    parser.add_argument('--scale', type=float, default=7.4, help='of the imperfections')
    parser.add_argument('--out', type=Path, default=Path('build/flip_up.jsonl'), help='JSON lines')
    args = parser.parse_args(arguments)
    os.environ.setdefault('ROLLING_COMPILE', 'now')
    one_thread()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    names = {law: f'{law} at {args.scale:g}' for law in LAWS}
    known = {law: recorded(args.out, name) for law, name in names.items()}
    with args.out.open('a') as file:
        for seed in args.seeds:
            for law in LAWS:
                if seed not in known[law]:
                    ended = {'seed': seed, 'law': names[law], **run(seed, law, args.scale)}
                    known[law][seed] = ended
                    print(json.dumps(ended), file=file, flush=True)
        first, second = ([known[law][seed] for seed in args.seeds] for law in LAWS)
        lost = [seed for seed, e in zip(args.seeds, second, strict=True) if e['failure']]
        name = f'{EXACT} at {args.scale:g}'
        even_so = recorded(args.out, name)
        for seed in lost:
            if seed not in even_so:
                ended = {'seed': seed, 'law': name, **run(seed, EXACT, args.scale)}
                even_so[seed] = ended
                print(json.dumps(ended), file=file, flush=True)
    print('\n'.join(summary(first, second)))
    print('\n'.join(unavoidable({seed: even_so[seed] for seed in lost})))
    failed = [sum(bool(e['failure']) for e in of) for of in (first, second)]
    return 0 if failed[1] <= WANTED * failed[0] else 1


@cache
def _experiment() -> LaboratorySetup:
    return build('flip_up')


def run(seed: int, law: str, scale: float) -> Ended:
    """Return how a trial ends: failure, greatest error of the estimate before it, CPU seconds."""
    began, experiment = time.process_time(), _experiment()
    imperfections = replace(Imperfections().scaled(scale), informed=True)
    judge, errors, exact = Judge(experiment), [0.0], law == EXACT
    name = 'predictive' if exact else law
    made = moments(experiment, name, seed, imperfections, judge, exact=exact)
    model = experiment.laboratory.model()[0]
    turn = model.tangent.slice('d_HO').start
    for now in made:
        off = errors[-1]
        if now.seen is not None:
            off = abs(float(model.difference(now.seen, now.truth)[turn]))
        errors.append(off)
    off = max(errors[-round(BEFORE / PERIOD) :])
    return {'failure': judge.failure, 'off': off, 'cpu': time.process_time() - began}


def summary(first: list[Ended], second: list[Ended]) -> list[str]:
    """Return lines on the same seeds under both laws."""
    failed = np.array([[bool(e['failure']) for e in of] for of in (first, second)])
    counts, trials = failed.sum(axis=1), failed.shape[1]
    lines = [
        f'{law}: {count} of {trials} failed, {sum(e["off"] > LOST for e in of if e["failure"])} '
        f'of them with an estimate more than {LOST:g} rad off'
        for law, count, of in zip(LAWS, counts, (first, second), strict=True)
    ]
    lines.append(f'both laws failed on {int(failed.all(axis=0).sum())} seeds')
    if counts[0]:
        drawn = np.random.default_rng(0).integers(trials, size=(2000, trials))
        many = failed[:, drawn].sum(axis=2)
        low, high = np.quantile(many[1] / np.maximum(many[0], 1), (0.025, 0.975))
        lines.append(
            f'ratio {counts[1] / counts[0]:.2f} ({low:.2f} to {high:.2f} by 95 % confidence), '
            f'wanted at most {WANTED:g}'
        )
    return lines


def unavoidable(even_so: dict[int, Ended]) -> list[str]:
    """Return a line on the failures, by how they end with the true state and inertia."""
    lost = {seed: e['failure'] for seed, e in even_so.items() if e['failure']}
    told = ', '.join(f'{seed} ({why})' for seed, why in lost.items())
    return [
        (
            f'with the true state and inertia {len(lost)} of the {len(even_so)} failures of the '
            f'predictive law fail even so{": " if told else ""}{told}'
        )
    ]


if __name__ == '__main__':
    sys.exit(main())
