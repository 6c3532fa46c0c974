"""
Memory of the nodes while they plan and execute, again and again.

    python -m evidence.benchmarks.memory --minutes 30

plans a reorientation, executes it under feedback, goes back, and so on; the nodes are processes
on real ROS 2, plant and controller take turns in simulated time. In `make bench` it runs shorter.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
import sys
import tempfile
import time

from evidence.benchmarks.row import Row
import numpy as np
import psutil
from rolling_dynamics.scenario import load_scenario
from rolling_robotics.bringup import Bringup, private_domain
from rolling_robotics.experiments import find_experiment
from rolling_robotics.trials.plan_request import state_goal

MEGABYTE = 2**20
PLANNER_GOAL, NODE_GOAL = 700, 150  # MB
WARM_UP = 3  # rounds before memory is expected to stay
SHORT = 60.0  # in `make bench` [s]
TIMEOUT = 120.0


def memory(process: psutil.Process, kind: str) -> float:
    """
    Return the memory of a process [MB].

    Parameters
    ----------
    process
        The process; 0 is returned for one that has ended.
    kind
        ``pss``, shared pages shared out among those who use them, or ``rss``, resident in all.

    """
    try:
        return float(getattr(process.memory_full_info(), kind)) / MEGABYTE
    except psutil.NoSuchProcess:
        return 0.0


def sizes(processes: Mapping[str, int]) -> dict[str, float]:
    """Return memory by node [MB]: the planner's pss with its workers, the others' rss."""
    found = {name: psutil.Process(pid) for name, pid in processes.items()}
    return {
        name: sum(memory(p, 'pss') for p in (node, *node.children(recursive=True)))
        if name == 'planner'
        else memory(node, 'rss')
        for name, node in found.items()
    }


def rounds(seconds: float, folder: Path) -> Iterator[tuple[float, dict[str, float]]]:
    """
    Plan and execute again and again; yield the time [s] and the memory [MB] after each round.

    Parameters
    ----------
    seconds
        How long.
    folder
        For the logs of the nodes, and the recording.

    Raises
    ------
    RollingError
        A node ended, or did not do its part.
    RuntimeError
        A goal was not planned, or not reached.

    """
    from rolling_robotics.nodes.client import Client  # noqa: PLC0415  needs ROS

    experiment = find_experiment('ball_on_plate')
    wanted = state_goal(load_scenario(experiment.scenario_file))
    rng = np.random.default_rng(0)
    with private_domain() as (domain, environment):
        bringup = Bringup(
            experiment=experiment,
            environment=environment,
            record=folder / 'recording',
            use_sim_time=True,
            log_folder=folder / 'logs',
            # in simulated time an answer is late only when the machine has other work
            overrides={
                'simulator': {'lockstep_timeout': 5.0},
                'controller': {'state_timeout': 5.0},
            },
        )
        with bringup, Client(domain=domain, check=bringup.check) as client:
            client.wait_until_served(TIMEOUT)
            begin = time.monotonic()
            while time.monotonic() - begin < seconds:
                client.reset((0.0, 0.0), (0.0, 0.0, 0.0))
                result = client.plan(wanted.goal, wanted.horizon, lambda _: None, TIMEOUT)
                if result.error_code:
                    raise RuntimeError(f'no plan: {result.error_string}')
                client.reset(rng.normal(0, 1e-3, 2).tolist(), rng.normal(0, 0.02, 3).tolist())
                run = client.follow(result.plan, lambda _: None, TIMEOUT)
                if run.error_code:
                    raise RuntimeError(f'the goal was missed: {run.error_string}')
                pids = {name: process.pid for name, process in bringup.processes.items()}
                yield time.monotonic() - begin, sizes(pids)


def growth(times: list[float], values: list[float]) -> float:
    """Return what memory grows in half an hour, by the slope of a line [MB]."""
    return float(np.polyfit(times, values, 1)[0]) * 1800.0


def rows(seconds: float = SHORT) -> Iterator[Row]:
    """Yield the figures of a run."""
    times: list[float] = []
    history: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for t, now in rounds(seconds, Path(folder)):
            times.append(t)
            for name, value in now.items():
                history.setdefault(name, []).append(value)
    for name, values in history.items():
        bound = PLANNER_GOAL if name == 'planner' else NODE_GOAL
        what = 'planner with its workers, Pss' if name == 'planner' else f'{name}, resident'
        yield Row(
            name=f'memory of the {what}',
            value=max(values),
            unit='MB',
            goal=f'at most {bound}',
            reference=f'{len(times)} plans executed, {times[-1]:.0f} s; first {values[0]:.1f} MB',
        )
        later = slice(WARM_UP, None)
        if len(times[later]) > WARM_UP:
            yield Row(
                name=f'growth of the {name}',
                value=values[-1] - values[WARM_UP],
                unit='MB',
                reference=f'from round {WARM_UP + 1} to round {len(times)}, '
                f'{times[-1] - times[WARM_UP]:.0f} s; by the slope '
                f'{growth(times[later], values[later]):.2g} MB in half an hour',
            )


def main() -> int:
    """Run for as long as asked, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--minutes', type=float, default=30.0, help='how long (default 30)')
    for row in rows(60.0 * parser.parse_args().minutes):
        print(f'{row.name:<45} {row.value:8.2f} {row.unit}   {row.goal:<14} {row.reference}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
