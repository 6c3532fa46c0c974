"""Simulation of a scenario over a grid or samples of its entries."""

from __future__ import annotations

from argparse import Namespace
import math
from pathlib import Path
from typing import Any, TYPE_CHECKING

from rolling_dynamics.errors import ParameterError
from rolling_dynamics.extras import need
from rolling_robotics.commands import Add
from rolling_robotics.commands.arguments import add_scenario, number
from rolling_robotics.console import Progress, say

if TYPE_CHECKING:
    from rolling_robotics.sweep.points import Sweep
    from rolling_robotics.sweep.run import Store

INTERRUPTED = 130


def declare_sweep(add: Add) -> None:
    """Declare the options."""
    vary = 'entry and its range, or its values: ENTRY=A,B,C; may be given several times'
    workers = 'number of processes (default: one per core)'
    add_scenario(add)
    add('--out', 'FILE.parquet', 'result', Path, required=True)
    add('--vary', 'ENTRY=FROM:TO:COUNT', vary, action='append', default=[])
    add('--samples', 'N', 'draw N points from the ranges', number(1, math.inf, int))
    add('--seed', 'S', 'random seed of the samples', int, default=0)
    add('--workers', 'N', workers, number(1, math.inf, int))


def run_sweep(args: Namespace) -> int:
    r"""
    Simulate a scenario over a grid or samples of its entries.

    Simulate a scenario at every point of a grid, or at samples, of any of its entries, in
    processes on this machine, and write one row per point as Parquet.

    The varied entries are given in the scenario's section `sweep` or in --vary. A failed point
    becomes a row with the reason. An interrupted sweep continues when the same command is given
    again. Exit status 1 means that every point failed.

    example:
      rolling sweep point_mass_disk_sweep --out disk.parquet
      rolling sweep pendulum_start --out start.parquet \
          --vary drive.gaits[0].period=3:6:13 --vary floor.mu=0.4,0.6
      rolling sweep spinning_plate --out plate.parquet \
          --vary friction.mu=0.1:1 --samples 200 --workers 4
    """
    from rolling_dynamics.scenario.document import read_document
    from rolling_robotics.files import checked_output

    need('sweep', 'pyarrow')
    from rolling_robotics.sweep.outcome import FEWEST, run_points
    from rolling_robotics.sweep.points import probe, read_sweep
    from rolling_robotics.sweep.run import parts_of, Store

    out = checked_output(args.out, '.parquet')
    document = read_document(args.scenario)
    document.setdefault('name', Path(args.scenario).stem)
    given: dict[str, Any] = {'vary': dict(_varied(text) for text in args.vary)}
    if args.samples is not None:
        given['samples'] = {'count': args.samples, 'seed': args.seed}
    sweep = read_sweep(document, given)
    store = Store(out, sweep)
    if store.complete:
        print(f'{out} holds this sweep already: {len(sweep)} points, hash {sweep.hash()}')
        return 0
    good, _ = probe(sweep)
    alike = FEWEST if len(parts_of(sweep)[0]) >= FEWEST else 1
    compiling = dict.fromkeys(range(alike), sweep.values(good))  # compiled for the workers
    run_points(sweep.document, sweep.follows, compiling)
    return _work(args, sweep, store)


def _varied(text: str) -> tuple[str, Any]:
    """Return an entry and its values from ENTRY=FROM:TO:COUNT or ENTRY=A,B,C."""
    import yaml

    name, equals, values = text.partition('=')
    if not (name and equals and values):
        raise ParameterError(f'--vary: ENTRY=FROM:TO:COUNT or ENTRY=A,B,C is needed, got {text!r}')
    ends = values.split(':')
    if len(ends) > 3 or (len(ends) == 3 and not ends[2].isdecimal()):
        raise ParameterError(f'--vary: a range is FROM:TO:COUNT, got {values!r}')
    parts = values.split(',') if len(ends) == 1 else ends[:2]
    try:
        numbers = [yaml.safe_load(v) for v in parts]
    except yaml.YAMLError:
        raise ParameterError(f'--vary: numbers or formulas are needed, got {values!r}') from None
    if len(ends) == 1:
        return name, numbers
    low, high = numbers
    return name, {'from': low, 'to': high} | ({'count': int(ends[2])} if len(ends) == 3 else {})


def _work(args: Namespace, sweep: Sweep, store: Store) -> int:
    from rolling_robotics.sweep.run import run_sweep

    count = len(sweep)
    with Progress(f'sweeping {sweep.document["name"]}') as progress:

        def report(done: int, failed: int) -> None:
            progress.say(f'{done} of {count} points, {failed} failed', done / count)

        try:
            run_sweep(sweep, store, args.workers, report)
        except KeyboardInterrupt:
            say(
                f'stopped by Ctrl-C; {len(store.done)} points are kept in {store.folder}, and the '
                'same command goes on from there'
            )
            return INTERRUPTED
        table = store.join()
    status = table['status'].to_pylist()
    lines = [f'{sweep.document["name"]}: {count} points, hash {sweep.hash()}']
    for name, text in (('done', 'ran to their end'), ('stopped', 'were stopped by an event')):
        lines.append(f'  {status.count(name):>8} {text}')
    lines.append(f'  {status.count("failed"):>8} failed; the column `error` says why')
    print('\n'.join([*lines, f'written to {store.out}']))
    return 1 if status.count('failed') == count else 0
