"""
Run every demonstration beside busy processes, and say of each how it ended.

    python -m evidence.benchmarks.stress                       # four busy processes
    python -m evidence.benchmarks.stress --busy 0 --runs 20    # an idle machine
    python -m evidence.benchmarks.stress --ends --busy 0 --runs 100 ball_on_plate damping:emulated

Each is run in simulated time, where it must pass, and by the clock, where it must pass or say why
it is inconclusive; with no busy processes it must pass by the clock too. The exit status is 0 if
all was as it must be, else 1. With ``--ends`` the nodes of an experiment, after a colon on what
hardware, are started, become active, and get SIGINT, with an allocator that checks its heap
(glibc's): none may be ended by a signal.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import contextlib
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
from typing import NamedTuple

from evidence.benchmarks.first_minute import carried_out, ROLLING
from rolling_robotics.bringup import Bringup, private_domain
from rolling_robotics.experiments import EXPERIMENTS, find_experiment
from rolling_robotics.trials.trial import INCONCLUSIVE, REACHED

ALL = [name for name, experiment in EXPERIMENTS.items() if experiment.demo]
TIMES = {'simulated': '--simulated-time', 'clock': '--no-simulated-time'}
LONGEST = 1800.0  # of a demonstration [s]
LONGEST_START = 300.0  # until every node is active [s]
RUNS = 7.0  # time of a law before nodes are stopped [s]
CHECKED = {
    'LD_PRELOAD': 'libc_malloc_debug.so.0',
    'MALLOC_CHECK_': '3',  # abort where the heap is damaged
    'MALLOC_PERTURB_': '90',  # fill what is freed
}
INCONCLUSIVE_LINE, MARGIN_LINE = 'inconclusive: ', 'margin: '


class Ended(NamedTuple):
    """End of a demonstration: exit status, time by the clock and of the CPU [s], a line."""

    status: int
    wall: float
    cpu: float
    line: str


def main() -> int:
    """Run what was asked for and return the exit status."""
    parser = argparse.ArgumentParser(
        prog='python -m evidence.benchmarks.stress',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('names', nargs='*', metavar='NAME', help=f'of {", ".join(ALL)}')
    parser.add_argument('--busy', type=int, default=4, help='busy processes (default: 4)')
    parser.add_argument('--runs', type=int, default=1, help='runs of each (default: 1)')
    parser.add_argument('--time', choices=TIMES, help='only in simulated time, or by the clock')
    parser.add_argument('--ends', action='store_true', help='only start and stop the nodes')
    parser.add_argument(
        '--law',
        default='',
        help=f'with --ends, this law of the laboratory runs for {RUNS:g} s before the stop, and '
        'nothing is compiled yet',
    )
    args = parser.parse_args()
    unknown = sorted({name.partition(':')[0] for name in args.names} - {*ALL})
    if unknown:
        parser.error(f'no demonstration {unknown[0]!r}; there are: {", ".join(ALL)}')
    bad = 0
    with busy(args.busy):
        if args.ends:
            runs = range(args.runs)
            bad = sum(not ends_well(n, args.law) for _ in runs for n in args.names or ALL)
            args.runs = 0
        for _ in range(args.runs):
            for name in args.names or ALL:
                for kind in [args.time] if args.time else TIMES:
                    ended = run(name, TIMES[kind])
                    fine = is_fine(ended, kind, busy=bool(args.busy))
                    bad += not fine
                    print(row(name, kind, ended, fine=fine), flush=True)
    print(f'{bad} were not as they must be' if bad else 'all were as they must be')
    return 1 if bad else 0


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep this many processes busy."""
    command = (sys.executable, '-c', 'while True: pass')
    processes = [subprocess.Popen(command) for _ in range(count)]  # noqa: S603
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def ends_well(name: str, law: str = '') -> bool:
    """Start and stop the nodes of an experiment, print how each ended, and return whether well."""
    from rolling_robotics.nodes.client import ClientError  # noqa: PLC0415
    from rolling_robotics.nodes.trial_client import TrialClient  # noqa: PLC0415

    experiment, _, hardware = name.partition(':')
    late = ''
    with private_domain() as (domain, environment), tempfile.TemporaryDirectory() as folder:
        store = {'ROLLING_CACHE_DIR': str(Path(folder) / 'cache')} if law else {}
        nodes = Bringup(
            experiment=find_experiment(experiment),
            environment={**environment, **CHECKED, **store},
            hardware=hardware,
            record=Path(folder) / 'recording',
            log_folder=Path(folder) / 'logs',
        )
        try:
            nodes.start()
            with TrialClient(domain=domain, check=nodes.check) as client:
                client.wait_until_active(nodes.processes, LONGEST_START)
                if law:
                    client.run(law, RUNS)
        except ClientError as error:
            late = f'  not active: {error}'
        finally:
            for process in nodes.processes.values():
                process.send_signal(signal.SIGINT)
            statuses = nodes.stop()
    print(f'{name:<20} {statuses}{late}', flush=True)
    return not any(statuses.values())


def run(name: str, option: str) -> Ended:
    """Run a demonstration once, in a folder that is removed."""
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(p for p in sys.path if p)}
    with tempfile.TemporaryDirectory(prefix='stress_') as folder:
        spent, status = carried_out((*ROLLING, 'demo', name, option), folder, environment, LONGEST)
    return Ended(status, spent.wall, spent.cpu, reason(spent.text, status))


def reason(text: str, status: int) -> str:
    """Return what a demonstration printed of its margin, or of why it is inconclusive."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    start = INCONCLUSIVE_LINE if status == INCONCLUSIVE else MARGIN_LINE
    found = [line[line.index(start) :] for line in lines if start in line]
    return (found or lines or [''])[-1]


def is_fine(ended: Ended, kind: str, *, busy: bool) -> bool:
    """Return whether a demonstration ended as it must."""
    excused = busy and kind == 'clock' and bool(ended.line)
    return ended.status == REACHED or (ended.status == INCONCLUSIVE and excused)


def row(name: str, kind: str, ended: Ended, *, fine: bool) -> str:
    """Return a line on a demonstration."""
    mark = 'yes' if fine else 'NO'
    return (
        f'{name:<16} {kind:<10} {mark:<4} status {ended.status}  {ended.wall:6.1f} s, '
        f'{ended.cpu:6.1f} s of CPU  {ended.line}'
    )


if __name__ == '__main__':
    sys.exit(main())
