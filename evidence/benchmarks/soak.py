"""Hours of goals on running nodes, by a client that keeps every answer."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
import json
import math
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, IO

from builtin_interfaces.msg import Time
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
import psutil
from rolling_dynamics.errors import RollingError
from rolling_interfaces.action import ExecutePlan, PlanRolling
from rolling_robotics.bringup import Bringup, private_domain
from rolling_robotics.experiments import find_experiment
from rolling_robotics.nodes.client import Client, ClientError, LateAnswerError

CODES = {
    value: name
    for name, value in vars(PlanRolling.Result).items()
    if name.isupper() and isinstance(value, int)
}
REFUSED = 'REFUSED'


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A goal that was sent: its handle, when it was sent [s, steady clock], and its answer."""

    handle: Any
    started: float
    coming: Any

    @property
    def over(self) -> bool:
        """True once there is an answer."""
        return self.coming is None or bool(self.coming.done())


@dataclass(frozen=True, kw_only=True)
class Answer:
    """End of a goal: the name of its error code, the text, the time [s], and the result."""

    code: str
    text: str
    seconds: float
    result: Any


class SoakClient(Client):
    """Asks, cancels, and switches nodes off and on."""

    def ask(self, goal: Any) -> Asked:
        """Send a goal of either action; wait until it is accepted or refused."""
        started = time.monotonic()
        client = self._planner if isinstance(goal, PlanRolling.Goal) else self._controller
        handle = self._answered(
            'no answer to the goal', client.send_goal_async, goal, lambda _: None
        )
        coming = self._in_turn(handle.get_result_async) if handle.accepted else None
        return Asked(handle=handle, started=started, coming=coming)

    def answer(self, asked: Asked, patience: float) -> Answer:
        """
        Wait for the end of a goal [s].

        Raises
        ------
        ClientError
            There is none in this time.

        """
        if asked.coming is None:
            code, text, result = REFUSED, '', None
        else:
            result = self._result('no answer to a goal', asked.coming, patience).result
            code, text = CODES[result.error_code], result.error_string
        seconds = time.monotonic() - asked.started
        return Answer(code=code, text=text, seconds=seconds, result=result)

    def wait(self, seconds: float, asked: Sequence[Asked]) -> None:
        """Wait some time [s], or until one of the goals has an answer."""
        end = time.monotonic() + seconds
        self._wait('', lambda: time.monotonic() > end or any(a.over for a in asked), seconds + 9)

    def cancel(self, asked: Asked) -> None:
        """Cancel a goal, and wait until that is answered."""
        if asked.coming is not None:
            call = self._in_turn(asked.handle.cancel_goal_async)
            self._result('no answer to a cancel', call, 60.0)

    def switch(self, node: str, *, on: bool) -> None:
        """Activate or deactivate a node."""
        kind = Transition.TRANSITION_ACTIVATE if on else Transition.TRANSITION_DEACTIVATE
        request = ChangeState.Request(transition=Transition(id=kind))
        if not self._call(ChangeState, f'{node}/change_state', request).success:
            raise ClientError(f'{node} refused to be {"" if on else "de"}activated')


PATIENCE = 300.0  # for an answer, on a machine that has other work: beyond it a goal hangs [s]
READY = 300.0  # for nodes to start, with an empty cache [s]
HORIZON = 1.5  # of a plan [s]
BUDGET, SHORT_BUDGET = 120.0, 3.0  # of a plan, and of one whose worker is stopped [s]
STANDSTILL = 5.0  # state_timeout of the controller [s]; the machine may have other work
LOST = 2.0  # after which the plant goes on without an answer of the controller [s]
RARELY = 0.2  # killing the plant beside the rest: its return takes half a minute
FLAT = 5.0  # what the memory of a node may grow in an hour [MB]
SETTLED = 0.5  # fraction of a run before memory is expected to stay: some hundred executions
SHORTEST = 3600.0  # run from which growth in an hour can be judged [s]
JUDGED = ('planner', 'controller')  # they live through it all
DISTURBANCES = {  # goal: disturbance: codes that it explains
    'plan': {
        'nothing': {'NONE'},
        'cancel': {'NONE', 'CANCELLED'},
        'newer goal': {'NONE', 'PREEMPTED'},
        'worker killed': {'NONE', 'INTERNAL'},
        'worker stopped': {'NONE', 'TIMEOUT'},
        'deactivate': {'NONE', 'INACTIVE'},
        'senseless': {'INVALID_GOAL'},
        'inactive': {REFUSED},
    },
    'execute': {
        'nothing': {'NONE'},
        'cancel': {'NONE', 'CANCELLED'},
        'newer goal': {'NONE', 'PREEMPTED'},
        'plant stopped': {'NONE', 'STALE_STATE'},
        'plant killed': {'NONE', 'STALE_STATE'},
        'deactivate': {'NONE', 'INACTIVE'},
        'senseless': {'INVALID_GOAL'},
        'inactive': {REFUSED},
    },
}
NODE = {'plan': 'planner', 'execute': 'controller'}


class Soak:
    """The nodes, what is done to them, and what they answered."""

    def __init__(
        self, bringup: Bringup, new_client: Callable[[], SoakClient], seed: int, log: IO[str]
    ) -> None:
        """
        Begin.

        Parameters
        ----------
        bringup
            The processes.
        new_client
            Makes who speaks to them, in place of the one before.
        seed
            Random seed of what is done.
        log
            Gets lines of JSON for each goal, and for the sizes after it.

        """
        self.bringup, self._new_client, self._log = bringup, new_client, log
        self.client = new_client()
        self.rng = np.random.default_rng(seed)
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.wrong: list[str] = []
        self.sizes: dict[str, list[tuple[float, float]]] = {}
        self._begin = time.monotonic()
        self._plan: Any = None
        self._disturb: dict[str, Callable[[str, Asked], None]] = {
            'cancel': lambda _, asked: self.client.cancel(asked),
            'worker killed': lambda *_: self._signal_worker(signal.SIGKILL),
            'worker stopped': lambda *_: self._signal_worker(signal.SIGSTOP),
            'plant killed': lambda *_: self._plant.kill(),
            'plant stopped': lambda *_: self._plant.send_signal(signal.SIGSTOP),
            'deactivate': lambda kind, _: self.client.switch(NODE[kind], on=False),
        }
        self._mend: dict[str, Callable[[str], None]] = {
            'plant killed': lambda _: self._restart_plant(),
            'plant stopped': lambda _: self._plant.send_signal(signal.SIGCONT),
            'deactivate': lambda kind: self.client.switch(NODE[kind], on=True),
            'inactive': lambda kind: self.client.switch(NODE[kind], on=True),
        }

    # -- one turn ---------------------------------------------------------------------------

    def turn(self) -> None:
        """Send a goal, disturb it, wait for its answer, and see that all is well again."""
        kind = 'plan' if self._plan is None else str(self.rng.choice(list(DISTURBANCES)))
        names = list(DISTURBANCES[kind])
        weights = np.array([RARELY if name == 'plant killed' else 1.0 for name in names])
        what = str(self.rng.choice(names, p=weights / weights.sum()))
        goal = self._goal(kind, what)
        if what == 'inactive':
            self.client.switch(NODE[kind], on=False)
        asked = [self.client.ask(goal)]
        if what not in ('nothing', 'senseless', 'inactive'):
            self.client.wait(float(self.rng.uniform(0.0, 1.5)), asked)
            if what == 'newer goal':
                asked.append(self.client.ask(goal))
            else:
                self._disturb[what](kind, asked[0])
        for k, one in enumerate(asked):
            self._answered(kind, what if k == 0 else 'nothing', one)
        if what in self._mend:
            self._mend[what](kind)

    def _goal(self, kind: str, what: str) -> Any:
        """Return a goal; the plant is put where it begins."""
        self._reset()
        if kind == 'plan':
            place = self.rng.uniform(-5e-3, 5e-3, 2) if what != 'senseless' else [math.nan] * 2
            return PlanRolling.Goal(
                goal_names=['u_h', 'v_h'],
                goal_values=[float(value) for value in place],
                horizon=HORIZON,
                time_budget=SHORT_BUDGET if what == 'worker stopped' else BUDGET,
            )
        plan = self._plan
        if what == 'senseless':
            plan = type(plan)(**{n: getattr(plan, n) for n in plan.get_fields_and_field_types()})
            plan.controls = plan.controls[:-1]
        return ExecutePlan.Goal(plan=plan)

    def _answered(self, kind: str, what: str, asked: Asked) -> None:
        """Wait for an answer and judge it."""
        try:
            answer = self.client.answer(asked, PATIENCE)
        except RollingError as error:
            answer = Answer(code='HANGS', text=str(error), seconds=PATIENCE, result=None)
        if kind == 'plan' and answer.code == 'NONE':
            self._plan = answer.result.plan
            self._plan.header.stamp = Time()  # whenever it is executed
        self.counts[kind, what, answer.code] += 1
        row: dict[str, Any] = {'goal': kind, 'disturbance': what, 'answer': answer.code}
        row |= {'text': answer.text, 'seconds': round(answer.seconds, 3)}
        self._note(row)
        if answer.code not in DISTURBANCES[kind][what]:
            self.wrong.append(json.dumps(row))

    def _note(self, row: dict[str, Any]) -> None:
        """Write a line of the log."""
        self._log.write(json.dumps({'t': round(self.elapsed, 2), **row}) + '\n')
        self._log.flush()

    # -- nodes ------------------------------------------------------------------------------

    @property
    def elapsed(self) -> float:
        """Time since the begin [s]."""
        return time.monotonic() - self._begin

    @property
    def _plant(self) -> subprocess.Popen[bytes]:
        return self.bringup.processes['simulator']

    def _restart_plant(self) -> None:
        self._plant.wait()
        self.bringup.start_node('simulator')
        end = time.monotonic() + READY
        while True:
            self.client = self._new_client()  # the one before knows the plant that was killed
            try:
                return self._reset()
            except LateAnswerError:
                if time.monotonic() > end:
                    raise

    def _reset(self) -> None:
        self.client.reset((0.0, 0.0), (0.0, 0.0, 0.0))

    def _signal_worker(self, number: int) -> None:
        planner = psutil.Process(self.bringup.processes['planner'].pid)
        workers = sorted(p.pid for p in planner.children(recursive=True))
        if workers:
            os.kill(int(self.rng.choice(workers)), number)

    def weigh(self) -> None:
        """Note memory [MB], threads and open files of the nodes that live through it all."""
        for name in JUDGED:
            folder = Path('/proc', str(self.bringup.processes[name].pid))
            figures = {
                'MB': psutil.Process(int(folder.name)).memory_info().rss / 2**20,
                'threads': len(list((folder / 'task').iterdir())),
                'files': len(list((folder / 'fd').iterdir())),
            }
            for unit, value in figures.items():
                self.sizes.setdefault(f'{name}, {unit}', []).append((self.elapsed, value))
        self._note({'sizes': {name: history[-1][1] for name, history in self.sizes.items()}})


def growth(history: list[tuple[float, float]]) -> float:
    """Return what a size grows in an hour after it has settled, by the slope of a line."""
    times, values = np.array(history).T
    later = times > SETTLED * times[-1]
    return float(np.polyfit(times[later], values[later], 1)[0]) * 3600.0


def verdict(soak: Soak, statuses: dict[str, int]) -> Iterator[tuple[bool, str]]:
    """Yield what was to hold, and whether it did."""
    hangs = sum(n for (_, _, code), n in soak.counts.items() if code == 'HANGS')
    total = sum(soak.counts.values())
    yield hangs == 0, f'{total - hangs} of {total} goals answered'
    yield not soak.wrong, f'{len(soak.wrong)} answers that the disturbance does not explain'
    for name, history in soak.sizes.items():
        text = f'{name}: {history[0][1]:.1f} at the begin, {history[-1][1]:.1f} at the end'
        if soak.elapsed < SHORTEST:
            yield True, f'{text}; too short a run to judge growth'
        else:
            grows = growth(history)
            yield grows <= FLAT, f'{text}, {grows:+.2f} in an hour'
    for name, status in statuses.items():
        yield status == 0, f'{name} ended with status {status}'


def run(seconds: float, seed: int, log: IO[str], folder: Path) -> bool:
    """
    Do it, print what came out, and return whether all was as it must be.

    Parameters
    ----------
    seconds
        How long.
    seed
        Random seed.
    log
        Gets a line for each goal.
    folder
        For the logs of the nodes.

    """
    with private_domain() as (domain, environment):
        bringup = Bringup(
            experiment=find_experiment('ball_on_plate'),
            environment=environment,
            use_sim_time=True,
            log_folder=folder,
            overrides={
                'simulator': {'lockstep_timeout': LOST},
                'controller': {'state_timeout': STANDSTILL},
                'planner': {'state_timeout': READY / 10},
            },
        )
        with bringup, ExitStack() as clients:

            def new_client() -> SoakClient:
                clients.close()
                client = clients.enter_context(SoakClient(domain=domain))
                client.wait_until_served(READY)
                return client

            soak = Soak(bringup, new_client, seed, log)
            try:
                while soak.elapsed < seconds:
                    soak.turn()
                    soak.weigh()
            except RollingError as error:
                soak.wrong.append(f'ended early, after {soak.elapsed:.0f} s: {error}')
            alive = {name: process.poll() for name, process in bringup.processes.items()}
        statuses = {name: alive[name] or p.returncode for name, p in bringup.processes.items()}
    for (kind, what, code), count in sorted(soak.counts.items()):
        print(f'{kind:<8} {what:<15} {code:<12} {count:6}')
    good = True
    for holds, text in verdict(soak, statuses):
        good = good and holds
        print(f'{"yes" if holds else "NO":<4}{text}')
    print('\n'.join(soak.wrong))
    return good


def main() -> int:
    """Run for as long as asked; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0].strip())
    parser.add_argument('--minutes', type=float, default=120.0, help='how long (default 120)')
    parser.add_argument('--seed', type=int, default=1, help='random seed (default 1)')
    parser.add_argument('--log', type=Path, default=Path('build/soak.jsonl'), help='JSON lines')
    args = parser.parse_args()
    os.environ.setdefault('ROLLING_COMPILE', 'now')
    args.log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, args.log.open('w') as log:
        return 0 if run(60.0 * args.minutes, args.seed, log, Path(folder)) else 1


if __name__ == '__main__':
    sys.exit(main())
