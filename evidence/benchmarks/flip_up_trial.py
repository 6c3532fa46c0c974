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

from collections.abc import Iterable
from dataclasses import replace
from functools import cache, partial
import sys
import time

from evidence.benchmarks.seed_log import Ended, run_missing, seed_parser
import numpy as np
from rolling_dynamics.one_thread import one_thread
from rolling_robotics.trials.chain import Imperfections, PERIOD
from rolling_robotics.trials.run import build, Judge, LaboratorySetup, moments

LAWS = ('closed_loop', 'predictive')
EXACT = 'predictive with the true state and inertia'
WANTED = 0.5  # failures of the second law over those of the first
BEFORE = 0.3  # s before the end in which the estimate is looked at
LOST = 0.1  # rad by which an estimate is off that has little to do with the object


def main(arguments: list[str] | None = None) -> int:
    """Run the trials that are missing and return the exit status."""
    parser = seed_parser('evidence.benchmarks.flip_up_trial', __doc__, 'build/flip_up.jsonl')
    parser.add_argument('--scale', type=float, default=7.4, help='of the imperfections')
    args = parser.parse_args(arguments)
    one_thread()

    def ended(law: str, wanted: Iterable[int]) -> list[Ended]:
        called = partial(run, law=law, scale=args.scale)
        return run_missing(args.out, f'{law} at {args.scale:g}', wanted, called)

    pairs = [[ended(law, [seed])[0] for law in LAWS] for seed in args.seeds]
    first, second = ([pair[k] for pair in pairs] for k in range(2))
    even_so = ended(EXACT, [e['seed'] for e in second if e['failure']])
    print('\n'.join(summary(first, second)))
    print('\n'.join(unavoidable({e['seed']: e for e in even_so})))
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
