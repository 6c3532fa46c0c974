"""Planning times: fresh processes, imports, seed and simulation included, code cache warm."""

from __future__ import annotations

from collections.abc import Iterator
import json
import os
from pathlib import Path
import statistics
import subprocess
import sys
from typing import Any

from benchmarks.row import Row
from rolling_dynamics.compiled import compiles

RUNS = 3
GOALS = {'straight': (0.8, 0.1), 'hard': (1.5, 1e-3), 'cone': (3.0, 1e-3)}  # CPU s, goal error
PAPER = 'Table II: 24 minutes on an i7-4700MQ'


def rows() -> Iterator[Row]:
    """Yield the figures."""
    for name, (seconds, error) in GOALS.items():
        _plan(name)  # warms the cache
        results = [_plan(name) for _ in range(RUNS)]
        cpu = statistics.median(r['cpu'] for r in results)
        last = results[-1]
        yield Row(
            name=f'plan {name}, CPU time with everything',
            value=cpu,
            unit='s',
            goal=f'at most {seconds:g}',
            reference=f'{PAPER}; of it imports {last["import_cpu"]:.2g} s, the problem '
            f'{last["problem_cpu"]:.2g} s; {last["segments"]} segments, '
            f'{last["iterations"]} iterations',
        )
        yield Row(
            name=f'plan {name}, simulated goal error',
            value=last['goal_error'],
            unit='',
            goal=f'at most {error:g}',
            reference='another integrator, tolerance 1e-12',
        )
        if name == 'cone':
            yield Row(
                name='plan cone, excess over the friction cone',
                value=last['cone_excess'],
                unit='weights',
                goal='at most 1e-3',
                reference='50 points a segment',
            )
        yield Row(
            name=f'plan {name}, longest time between reports',
            value=last['longest_silence'],
            unit='s',
            goal='at most 0.2',
            reference='each report can cancel',
        )
        if compiles():
            yield Row(
                name=f'plan {name}, CPU time without a compiler',
                value=_plan(name, ROLLING_COMPILE='never')['cpu'],
                unit='s',
                reference=f'with machine code {cpu:.2g} s',
            )


def _plan(name: str, **environment: str) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603  (our own module)
        [sys.executable, '-m', 'benchmarks.one_plan', name],
        cwd=Path(__file__).parents[1],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
