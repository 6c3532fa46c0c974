"""Steps of batches a CPU second, beside scalar machine code and MuJoCo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
import os
from pathlib import Path
import time

from evidence.benchmarks.row import Row, timed
from evidence.benchmarks.spinning_plate import mjx_steps, MODELS, mujoco_steps
import numpy as np
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.compiled import compiles
from rolling_dynamics.simulation import Stepper
from rolling_robotics.named_system import named_system, NamedSystem

LANES, DT, STEPS, REPEATS = 16_384, 0.02, 20, 3  # steps of 1 ms in each repeat
SCALAR = 3000
TOGETHER = 1024, 10  # motions, and steps of each, by MJX
BALL = 'contact'
FEWEST = {'float64': 6.0, 'float32': 12.0}  # million steps of the ball on a plate
OVER_MUJOCO = 35.0
SCALING = 0.9  # fraction of the cores
BYTES = 2e9


def rows() -> Iterator[Row]:
    """Yield the figures."""
    for name in MODELS:
        given = named_system(name)
        mujoco = mujoco_steps(name, SCALAR)
        reference = f'scalar machine code: {_scalar(given):.3g}'
        if mujoco is not None:
            reference += f'; MuJoCo, one motion: {mujoco:.3g}'
        for dtype, fewest in FEWEST.items():
            steps = _batch(given, dtype)[0] if compiles() else None
            yield Row(
                name=f'steps of a batch, {name}, {dtype}, guards watched',
                value=steps,
                unit='million/CPU s',
                goal=f'at least {fewest:g}' if name == BALL else '',
                reference=reference,
            )
            if name == BALL and dtype == 'float64':
                yield Row(
                    name=f'steps of a batch for a step of MuJoCo, {name}, float64',
                    value=None if mujoco is None or steps is None else steps / mujoco,
                    goal=f'at least {OVER_MUJOCO:g}',
                    reference=_mjx(name),
                )
        if compiles():
            yield from _on_all_cores(name, given)
    title = 'memory of a million trajectories of the ball on a plate, stepped'
    yield Row(title, _memory(named_system(BALL)), 'GB', f'at most {BYTES / 1e9:g}')


def _mjx(name: str) -> str:
    steps = mjx_steps(name, *TOGETHER)
    size = f'MJX on the processor, {TOGETHER[0]} motions together'
    return '' if steps is None else f'{size}: {steps:.3g} million/CPU s'


def _memory(given: NamedSystem) -> float:
    """Return the growth of this process with a million trajectories [GB]."""
    before = _resident()
    batch = BatchSimulator(given.system, 1_000_000, 1e-3)
    batch.reset(states=given.x, parameters=given.p)
    batch.step(np.zeros(given.system.control.size))
    return 1e-9 * (_resident() - before)


def _resident() -> int:
    pages = int(Path('/proc/self/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE')


def _on_all_cores(name: str, given: NamedSystem) -> Iterator[Row]:
    """Yield the steps of a second of the clock, a thread for each core, and of one, in turns."""
    cores = len(os.sched_getaffinity(0))
    one, every = _batch(given, 'float64', (1, cores), time.perf_counter)
    reference = f'one core: {one:.3g}' if one else ''
    mujoco = mujoco_steps(name, SCALAR, cores, time.perf_counter)
    if mujoco is not None:
        reference += f'; MuJoCo, a motion in each of {cores} threads: {mujoco:.3g}'
    title = f'steps of a batch, {name}, float64, on {cores} cores'
    yield Row(title, every, 'million/s', reference=reference)
    title = f'the same over {cores} times that of one core, {name}'
    yield Row(
        title, every / (cores * one) if one and every else None, goal=f'at least {SCALING:g}'
    )


def _batch(
    given: NamedSystem,
    dtype: str,
    threads: tuple[int, ...] = (1,),
    clock: Callable[[], float] = time.process_time,
) -> list[float | None]:
    """Return steps of 1 ms in a second, in millions; None where trajectories do not go on."""
    batches = [BatchSimulator(given.system, LANES, DT, dtype=dtype, threads=n) for n in threads]
    u = np.zeros(given.system.control.size)

    def run(batch: BatchSimulator) -> None:
        for _ in range(STEPS):
            batch.step(u)

    spent: dict[BatchSimulator, list[float]] = {batch: [] for batch in batches}
    for _ in range(REPEATS):
        for batch in batches:
            batch.reset(states=given.x, parameters=given.p)
            spent[batch] += timed(partial(run, batch), clock=clock)[0]
    return [
        1e-3 * float(batch.times.sum()) / min(spent[batch]) if batch.running.all() else None
        for batch in batches
    ]


def _scalar(given: NamedSystem) -> float:
    """Return the same of one motion at a time, guards not watched."""
    stepper = Stepper(given.system, given.p, mode=next(iter(given.system.modes)))
    u = np.zeros(given.system.control.size)
    spent, _ = timed(lambda: stepper.step(given.x, u, 1e-3 * SCALAR), REPEATS)
    return 1e-6 * SCALAR / min(spent)
