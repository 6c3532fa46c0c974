"""
Bring the pushed ball to random poses, seed by seed, for hours; a run that was ended goes on.

    python -m evidence.benchmarks.predictive_trial 3000..3999 --out build/trials.jsonl

Each seed appends one line to the file; seeds that are in it are not run again. At the end it
prints how many of the seeds asked for came to the goal in time, and which did not and why. The
exit status is 0 if at least 99 of 100 did, else 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
import json
import os
from pathlib import Path
import sys
import time
from typing import Any

from evidence.benchmarks.pushed_ball import Held, REACHED, trial
import numpy as np
from rolling_dynamics.errors import RollingError
from scipy.stats import binomtest

WANTED, CONFIDENCE = 0.99, 0.95
Ended = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Run the seeds that are missing and return the exit status."""
    parser = argparse.ArgumentParser(
        prog='python -m evidence.benchmarks.predictive_trial',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('seeds', type=seeds, metavar='A..B', help='first and last random seed')
    parser.add_argument('--law', choices=('pursuit', 'lqr', 'open'), default='pursuit')
    parser.add_argument('--out', type=Path, default=Path('build/trials.jsonl'), help='JSON lines')
    args = parser.parse_args(arguments)
    os.environ.setdefault('ROLLING_COMPILE', 'now')
    args.out.parent.mkdir(parents=True, exist_ok=True)
    known = recorded(args.out, args.law)
    with args.out.open('a') as file:
        for seed in args.seeds:
            if seed not in known:
                known[seed] = run(seed, args.law)
                print(json.dumps(known[seed]), file=file, flush=True)
    ended = [known[seed] for seed in args.seeds]
    print('\n'.join(summary(ended)))
    return 0 if sum(map(in_time, ended)) >= WANTED * len(ended) else 1


def seeds(text: str) -> range:
    """Return the seeds of ``A..B``, both included, or of one number."""
    first, _, last = text.partition('..')
    out = range(int(first), int(last or first) + 1)
    if not out or out[0] < 0:
        raise argparse.ArgumentTypeError(f'{text!r} has no seed; wanted A..B with 0 <= A <= B')
    return out


def recorded(path: Path, law: str) -> dict[int, Ended]:
    """Return what a file has on a law, by seed; a last line that was cut off does not count."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    if lines and not lines[-1].endswith('\n'):
        path.write_text(''.join(lines[:-1]))
    ended = (json.loads(line) for line in lines if line.endswith('\n'))
    return {e['seed']: e for e in ended if e['law'] == law}


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
    return {'seed': seed, 'law': law, **end, 'cpu': time.process_time() - began}


def in_time(ended: Ended) -> bool:
    """Tell whether the goal was held, and from soon enough on."""
    begun = ended.get('begun')
    return begun is not None and begun <= REACHED


def summary(ended: Iterable[Ended]) -> list[str]:
    """Return lines on trials: how many were in time, how far off they ended, which were not."""
    ended = list(ended)
    good, bad = [e for e in ended if in_time(e)], [e for e in ended if not in_time(e)]
    low, high = binomtest(len(good), len(ended)).proportion_ci(CONFIDENCE)
    share = f'a share of {low:.4f} to {high:.4f} by {100 * CONFIDENCE:g} % confidence'
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
