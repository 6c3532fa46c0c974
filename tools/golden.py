"""
Record how the suite behaves, and compare with what was recorded in test/golden.

    .venv/bin/python tools/golden.py compare [PART ...]
    .venv/bin/python tools/golden.py record PART ...

The rule for changes is in test/golden/README.md. Exit status 1: something differs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
import json
from pathlib import Path
import re
import subprocess
import sys
import tempfile
from typing import Any
import zipfile

import numpy as np
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.configuration import examples
from rolling_dynamics.errors import RollingError
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_dynamics.simulation import Stepper
from rolling_planner.planners.planner import planner_of
from rolling_robotics.plan_result import plan_result
from rolling_robotics.result import simulation_result, violations
from rolling_robotics.run_scenario import simulate_scenario
from rolling_robotics.scenario_schema import scenario_schema

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / 'test' / 'golden'
RELATIVE, OF_EVENTS = 1e-6, 1e-9  # tolerances; the second one for the entries `time` and `times`
PERIOD = 0.01  # s for which Stepper and batches hold a control
SAMPLES = 9  # of a plan that are recorded
Entries = dict[str, Any]
Value = dict[str, Any] | list[Any] | str | float | bool | None  # as in JSON


def schema() -> Entries:
    """Return the JSON Schema of scenario files."""
    return scenario_schema()


def simulate(names: Sequence[str] = ()) -> Entries:
    """Return events, modes and ends of `rolling simulate`, and which entries its file has."""
    out: Entries = {}
    for name in names or examples():
        scenario = load_scenario(name)
        trajectory = simulate_scenario(scenario, dense=True)
        result = simulation_result(scenario, trajectory)
        out[name] = {
            'events': [e['name'] for e in result['events']],
            'times': [e['time'] for e in result['events']],
            'modes': [m['mode'] for m in result['modes']],
            'time': result['end'],
            'state': trajectory.states[-1].tolist(),
            'status': int(bool(violations(result))),
            'keys': _keys(result),
        }
    return out


def _keys(result: Entries) -> list[str]:
    """Return the names in a result file; arrays with their unit."""
    arrays = [f'{name} [{a["unit"]}]' for name, a in result['arrays'].items()]
    return sorted(set(result) - {'arrays'}) + sorted(arrays)


def steps(names: Sequence[str] = ()) -> Entries:
    """Return events, modes and ends of `Stepper` and batches, where a system has several modes."""
    out: Entries = {}
    for name in names or examples():
        scenario = load_scenario(name)
        if len(scenario.system.modes) > 1:
            out[name] = {
                'Stepper': _or_error(_stepped, scenario),
                'RK4': _or_error(_batch, scenario, 'RK4'),
                'DOP853': _or_error(_batch, scenario, 'DOP853'),
            }
    return out


def _or_error(made: Callable[..., Entries], *given: object) -> Entries:
    """Return an entry, or which error it ended with."""
    try:
        return made(*given)
    except RollingError as e:
        return {'error': type(e).__name__}


def _stepped(scenario: Scenario) -> Entries:
    stepper = Stepper(scenario.system, scenario.p)
    state = stepper.begin(scenario.x0, scenario.control(0.0, scenario.x0))
    events, modes = list(state.events), [state.mode]
    for _ in range(round(scenario.duration / PERIOD)):
        state = stepper.step(state, scenario.control(state.t, state.x), PERIOD)
        events += state.events
        modes += [state.mode] * (state.mode != modes[-1])
        if state.ended is not None:
            break
    return {
        'events': [e.name for e in events],
        'times': [e.time for e in events],
        'modes': modes,
        'time': state.t,
        'state': state.x.tolist(),
    }


def _batch(scenario: Scenario, method: str) -> Entries:
    """Return how two lanes end: the scenario, and the same a little off at the start."""
    system = scenario.system
    batch = BatchSimulator(system, 2, PERIOD, method=method)
    off = 1e-4 * np.random.default_rng(0).uniform(-1, 1, system.tangent.size)
    other = np.array(system.retract(scenario.x0, off)).ravel()
    batch.reset(states=[scenario.x0, other], parameters=scenario.p)

    def control(states: np.ndarray, times: np.ndarray) -> list[np.ndarray]:
        return [scenario.control(t, x) for t, x in zip(times, states, strict=True)]

    batch.rollout(control, round(scenario.duration / PERIOD))
    return {
        'stopped': batch.stopped.tolist(),
        'times': batch.times.tolist(),
        'modes': batch.modes.tolist(),
        'state': batch.states[0].tolist(),
        'other': batch.states[1].tolist(),
    }


def plans(names: Sequence[str] = ()) -> Entries:
    """Return every plan: its cost, how near its simulation comes, and some of its nodes."""
    out: Entries = {}
    for name in names or examples():
        if 'plan' not in load_scenario(name).raw:
            continue
        scenario = load_scenario(name)
        planned = planner_of(scenario.system.name).plan(scenario, lambda _: True)
        result, plan = plan_result(planned), planned.plan
        report = {k: v for k, v in plan.report.items() if k != 'cpu_seconds'}
        rows = np.linspace(0, len(plan.times) - 1, SAMPLES).round().astype(int)
        out[name] = {
            'reached': result['reached'],
            # beside its tolerance: how far below is the solver's affair
            'goal_error': [result['goal_error'], result['goal_tolerance']],
            'report': {k: v for k, v in report.items() if isinstance(v, (int, float, str))},
            'nodes': len(plan.times),
            'duration': plan.duration,
            'states': plan.states[rows].tolist(),
            'controls': plan.controls[rows].tolist(),
            'keys': _keys(result) + sorted(f'plan.{key}' for key in result['plan']),
        }
        out[name]['report'].pop('goal_error', None)
    return out


def files() -> Entries:
    """Return what pip and colcon install, the latter by the call that it makes of setup.py."""
    with tempfile.TemporaryDirectory() as folder:
        source, wheel, prefix = (Path(folder, name) for name in ('source', 'wheel', 'prefix'))
        listed = _run('git', 'ls-files').splitlines()
        for name in listed:
            if not name.startswith(('test/', 'docs/', 'benchmarks/')):
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                (source / name).write_bytes((ROOT / name).read_bytes())
        pip = ('-m', 'pip', 'wheel', '-q', '--no-deps', '--no-index', '--no-build-isolation')
        _run(sys.executable, *pip, '-w', wheel, source)
        with zipfile.ZipFile(next(wheel.iterdir())) as archive:
            by_pip = archive.namelist()
        options = ('--single-version-externally-managed', '--no-compile', '--record', 'record')
        install = ('setup.py', '-q', 'install', '--prefix', prefix, *options)
        _run(sys.executable, '-W', 'ignore', *install, cwd=source)
        by_colcon = (source / 'record').read_text().replace(f'{prefix}/', '').splitlines()
    return {'pip': _installed(by_pip), 'colcon': _installed(by_colcon)}


def _installed(paths: Sequence[str]) -> list[str]:
    """Return installed files but for modules, of which the packages are named."""
    plain = [re.sub(r'^.*site-packages/|-py3\.\d+', '', path) for path in paths]
    modules = {path for path in plain if path.endswith('.py')}
    return sorted({*plain, *(f'{m.partition("/")[0]}/*.py' for m in modules)} - modules)


def _run(*command: object, cwd: Path = ROOT) -> str:
    done = subprocess.run(
        [*map(str, command)], check=False, capture_output=True, text=True, cwd=cwd
    )
    if done.returncode:
        raise RuntimeError(f'{command}: {done.stdout}{done.stderr}')
    return done.stdout


PARTS: dict[str, Callable[[], Entries]] = {
    'schema': schema, 'files': files, 'simulate': simulate, 'steps': steps, 'plans': plans,
}  # fmt: skip


def read(part: str) -> Entries:
    """Return what was recorded."""
    entries: Entries = json.loads((FOLDER / f'{part}.json').read_text(encoding='utf-8'))
    return entries


def write(part: str, entries: Entries) -> None:
    """Write a part, an entry a line."""
    lines = (f'{json.dumps(k)}: {json.dumps(v)}' for k, v in sorted(entries.items()))
    text = '{\n' + ',\n'.join(lines) + '\n}\n'
    (FOLDER / f'{part}.json').write_text(text, encoding='utf-8')


def plain(entries: Entries) -> Entries:
    """Return entries as they are read from a file."""
    read_back: Entries = json.loads(json.dumps(entries))
    return read_back


def compared(part: str) -> Iterator[str]:
    """Yield where a part differs from what was recorded."""
    return differences(read(part), plain(PARTS[part]()), part)


def differences(old: Value, new: Value, where: str, tolerance: float = RELATIVE) -> Iterator[str]:
    """Yield where two entries differ; numbers of a list relative to the largest of them."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            near = OF_EVENTS if key in {'time', 'times'} else tolerance
            if key not in new or key not in old:
                yield f'{where}/{key} {"is new" if key in new else "is missing"}'
            else:
                yield from differences(old[key], new[key], f'{where}/{key}', near)
    elif _shape(old) is not None and _shape(old) == _shape(new):
        a, b = np.array(old, float), np.array(new, float)
        apart = float(np.max(np.abs(a - b), initial=0.0))
        scale = float(np.max(np.abs(a), initial=0.0))
        if not apart <= tolerance * (max(scale, 1.0) if tolerance == OF_EVENTS else scale):
            yield f'{where}: {apart:.3g} apart, largest number {scale:.6g}'
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        if isinstance(old, list) and isinstance(new, list):
            gone = [v for v in old if v not in new]
            come = [v for v in new if v not in old]
            yield f'{where}: without {gone}, with {come}, or in another order'
        else:
            yield f'{where}: was {old!r}, is {new!r}'


def _shape(value: Value) -> tuple[int, ...] | None:
    """Return the shape of numbers; None of anything else, truth values too."""
    array = np.array(value, dtype=object)
    plain = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in array.flat)
    return array.shape if plain else None


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('action', choices=('record', 'compare'))
    parser.add_argument('parts', nargs='*', metavar='PART', help=', '.join(PARTS))
    args = parser.parse_args()
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f'no part {", ".join(unknown)}; there are: {", ".join(PARTS)}')
    if args.action == 'record' and not args.parts:
        parser.error('name the parts to record: an entry changes in a commit of its own')
    found: list[str] = []
    for part in args.parts or PARTS:
        if args.action == 'record':
            write(part, PARTS[part]())
        else:
            found += compared(part)
    print('\n'.join(found) or f'{args.action}: done, no difference')
    return bool(found)


if __name__ == '__main__':
    sys.exit(main())
