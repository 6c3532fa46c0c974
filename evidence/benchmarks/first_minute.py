"""
Waiting time of a new user: commands from empty caches, in a new folder, each in a new process.

The compiler that a command leaves at work is ended before the next one, so that each has the
machine to itself. `make demo` is that of a fresh clone of this repository, and needs the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import os
from pathlib import Path
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from evidence.benchmarks.row import Row

ROOT = Path(__file__).parents[2]
ROLLING = (sys.executable, '-m', 'rolling_robotics.cli')
LONGEST = 900.0  # of a command [s]
WARM_RUNS = 5
PLAN = (*ROLLING, 'plan', 'ball_on_plate_hard', '--out', 'plan.json')
DRAW = (*ROLLING, 'animate', 'plan.json', '--out', 'plan.gif')
SIMULATE = (*ROLLING, 'simulate', 'spinning_plate', '--out', 'plate.json')
IN_DISH = (*ROLLING, 'plan', 'dish.yaml', '--out', 'dish.json')
DISH = """\
system: contact
object: {surface: {kind: sphere, radius: 0.05}, mass: 0.1, inertia: solid}
hand: {surface: {kind: sphere, radius: 0.4, side: inside, pole: x}}
friction: {model: rolling, mu: 1.0}
initial: {object: {position: [0, 0, -0.35]}}
duration: 2.5
limits: {alpha_WH_H: 100}
plan:
  goal: {contact_h: [pi/2, -pi/2], q_HO: {rpy: [0, 0, 0.4]}}
  active_controls: [alpha_WH_H_x, alpha_WH_H_y]
"""
# Modules that a simulation needs, in their order; run alone, how long their imports take.
NAMES = """\
import sys
from rolling_robotics.cli import main
main(['simulate', 'spinning_plate', '--out', 'plate.json'])
open('names', 'w').write(' '.join(n for n in sys.modules if n != '__main__'))
"""
IMPORTS = """\
import time
began, names = time.perf_counter(), open('names').read().split()
import os
os.environ['PYDANTIC_DISABLE_PLUGINS'] = '__all__'
from importlib import import_module
for name in names:
    try:
        import_module(name)
    except ImportError:  # what a library keeps there is not always a module
        pass
print(time.perf_counter() - began)
"""
DEMOS = {  # arguments, and CPU time of version 0.1 [s], a third of which is the goal
    'flip_up, 4 trials': (('flip_up', '--trials', '4'), 328),
    'damping': (('damping',), 374),
    'point_mass_ball': (('point_mass_ball',), 129),
}
MAKE_DEMO = 284  # s, of version 0.1; half of it is the goal


COLD = (  # name, commands, goal [s], what it is compared with
    ('first plan, caches empty', [PLAN], 6.0, '54 s in version 0.1, 4.2 interpreted'),
    ("README's first picture, caches empty", [PLAN, DRAW], 15.0, 'a plan and its GIF'),
    (
        'first plan of a ball in a dish',
        [IN_DISH],
        12.0,
        'over 500 s in version 0.1, 6.9 interpreted',
    ),
)


class Spent(NamedTuple):
    """Time of a command and of the processes that it waited for [s], and its output."""

    wall: float
    cpu: float
    text: str


def carried_out(
    command: Sequence[str], folder: Path | str, environment: Mapping[str, str], longest: float
) -> tuple[Spent, int]:
    """Return what a command takes, in a folder and at most so long [s], and its exit status."""
    before, began = _children(), time.perf_counter()
    done = subprocess.run(  # noqa: S603  (our own programs)
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=longest,
        check=False,
    )
    spent = Spent(time.perf_counter() - began, _children() - before, done.stdout)
    return spent, done.returncode


class Place:
    """A new folder and empty caches."""

    def __init__(self, folder: Path) -> None:
        """Work in this folder."""
        self.folder = folder
        paths = (str(ROOT), os.environ.get('PYTHONPATH'))
        self._environment = {
            **os.environ,
            'PYTHONPATH': os.pathsep.join(path for path in paths if path),
            'ROLLING_COMPILE': 'behind',
            'ROLLING_CACHE_DIR': str(folder / 'cache'),
            'XDG_CACHE_HOME': str(folder / 'other_caches'),
        }

    def run(self, command: tuple[str, ...], **environment: str) -> Spent:
        """Run a command; raise RuntimeError with the last that it printed where it fails."""
        given = {**self._environment, **environment}
        spent, status = carried_out(command, self.folder, given, LONGEST)
        self._end_compiler()
        if status:
            raise RuntimeError(f'{" ".join(command[1:])}: {spent.text[-500:]}')
        return spent

    def _end_compiler(self) -> None:
        """End the processes that compile into the cache of this place."""
        wanted = f'ROLLING_CACHE_DIR={self.folder / "cache"}'.encode()
        for process in Path('/proc').iterdir():
            with contextlib.suppress(OSError):
                if process.name.isdigit() and wanted in (process / 'environ').read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)


def _children() -> float:
    """Return the CPU time of the processes that were waited for [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rows() -> Iterator[Row]:
    """Yield the figures."""
    for group in (_cold, _warm, _demonstrations, _make_demo):
        yield from group()


@contextlib.contextmanager
def _place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix='first_minute_') as folder:
        yield Place(Path(folder))


def _cold() -> Iterator[Row]:
    for name, commands, goal, text in COLD:
        with _place() as place:
            (place.folder / 'dish.yaml').write_text(DISH)
            spent = [place.run(command) for command in commands]
        yield _within(name, spent, goal, text)
    with _place() as place:
        interpreted = place.run(SIMULATE, ROLLING_COMPILE='never').wall
        first = place.run(SIMULATE).wall
    name = 'first simulation, compiling behind, beside without'
    against = f'{first:.2f} s beside {interpreted:.2f}; 4.9 beside 2.1 in version 0.1'
    yield Row(name, first / interpreted, goal='at most 1.2', reference=against)


def _warm() -> Iterator[Row]:
    with _place() as place:
        place.run((*ROLLING, 'compile', 'spinning_plate'))
        place.run((sys.executable, '-c', NAMES))
        runs = sorted(place.run(SIMULATE) for _ in range(WARM_RUNS))
        imports = [
            float(place.run((sys.executable, '-c', IMPORTS)).text) for _ in range(WARM_RUNS)
        ]
    median = runs[WARM_RUNS // 2]
    yield _within('simulation of the spinning plate, warm', [median], 0.9, '1.4 s in version 0.1')
    yield Row('of it imports', statistics.median(imports), 's', goal='at most 0.5')


def _demonstrations() -> Iterator[Row]:
    for name, (arguments, before) in DEMOS.items():
        with _place() as place:
            command = (*ROLLING, 'demo', *arguments, '--simulated-time')
            spent = place.run(command, ROLLING_CACHE_DIR='')
        title = f'demonstration {name}, CPU time'
        against = f'{before} s in version 0.1'
        yield Row(title, spent.cpu, 's', f'at most {round(before / 3)}', against)


def _make_demo() -> Iterator[Row]:
    with _place() as place:
        place.run(('git', 'clone', '--quiet', '--depth', '1', f'file://{ROOT}', 'clone'))
        command = ('make', '--directory', 'clone', 'demo')
        caches = {name: str(place.folder / name) for name in ('PIP_CACHE_DIR', 'UV_CACHE_DIR')}
        spent = place.run(command, **caches)
    text = f'{MAKE_DEMO} s in version 0.1'
    yield _within('make demo in a fresh clone, empty caches', [spent], MAKE_DEMO / 2, text)


def _within(name: str, spent: list[Spent], goal: float, text: str) -> Row:
    """Return the time of commands by the clock; the CPU time says how busy the machine was."""
    wall, cpu = sum(s.wall for s in spent), sum(s.cpu for s in spent)
    reference = f'{text}; {cpu:.2f} s of CPU'
    return Row(name, wall, 's', goal=f'at most {goal:g}', reference=reference)
