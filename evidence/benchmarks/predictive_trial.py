"""
Bring the pushed ball to random poses, seed by seed, for hours; a run that was ended goes on.

    python -m evidence.benchmarks.predictive_trial 3000..3999 --out build/trials.jsonl

Each seed appends one line to the file; seeds that are in it are not run again. At the end it
prints how many of the seeds asked for came to the goal in time, and which did not and why. The
exit status is 0 if at least 99 of 100 did, else 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
import sys
import time

from evidence.benchmarks.predictive import Held, REACHED, trial
from evidence.benchmarks.seed_log import Ended, run_missing, seed_parser
import numpy as np
from rolling_dynamics.errors import RollingError
from scipy.stats import binomtest

WANTED, CONFIDENCE = 0.99, 0.95


def main(arguments: list[str] | None = None) -> int:
    """Run the seeds that are missing and return the exit status."""
    parser = seed_parser('evidence.benchmarks.predictive_trial', __doc__, 'build/trials.jsonl')
    parser.add_argument('--law', choices=('pursuit', 'lqr', 'open'), default='pursuit')
    args = parser.parse_args(arguments)
    ended = run_missing(args.out, args.law, args.seeds, partial(run, law=args.law))
    print('\n'.join(summary(ended)))
    return 0 if sum(map(in_time, ended)) >= WANTED * len(ended) else 1


def run(seed: int, law: str) -> Ended:
    """Return how a seed ends: position in mm, attitude in degrees, spin in rad/s, CPU seconds."""
    began = time.process_time()
    try:
        record = trial(seed, law)
        begun = record.values['begun']
        end: Ended = {**record.values, 'begun': begun if np.isfinite(begun) else None}
        end |= {'lost': bool(record.ended), 'failure': Held().outcome(record).failure}
    except RollingError as e:
        end = {'failure': str(e)}
    return {**end, 'cpu': time.process_time() - began}


def in_time(ended: Ended) -> bool:
    """Return whether the goal was held, and from soon enough on."""
    begun = ended.get('begun')
    return begun is not None and begun <= REACHED


def summary(ended: Iterable[Ended]) -> list[str]:
    """Return lines on trials: how many were in time, how far off they ended, which were not."""
    ended = list(ended)
    good, bad = [e for e in ended if in_time(e)], [e for e in ended if not in_time(e)]
    low, high = binomtest(len(good), len(ended)).proportion_ci(CONFIDENCE)
    share = f'a fraction of {low:.4f} to {high:.4f} by {100 * CONFIDENCE:g} % confidence'
    cpu = np.median([e['cpu'] for e in ended])
    lines = [f'{len(good)} of {len(ended)} in time ({share}), median {cpu:.2g} CPU s each']
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


if __name__ == '__main__':
    sys.exit(main())
