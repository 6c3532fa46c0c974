"""
Record how the suite behaves, and compare with what was recorded in test/golden.

    .venv/bin/python tools/golden.py compare [PART ...]
    .venv/bin/python tools/golden.py record PART ...

The rule for changes is in test/golden/README.md. Exit status 1: something differs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
import json
import math
import os
from pathlib import Path
import re
import subprocess
import sys
import tempfile
from typing import Any
import zipfile

import numpy as np
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.configuration import examples, find_config
from rolling_dynamics.errors import RollingError
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_dynamics.simulation import Stepper
from rolling_planner.planners.planner import planner_of
from rolling_robotics.experiments import EXPERIMENTS, RECORDER
from rolling_robotics.result import plan_result, simulate_scenario, simulation_result, violations
from rolling_robotics.scenario_schema import scenario_schema
from rolling_robotics.trials.trial import run_trials, Trial, tried

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / 'test' / 'golden'
sys.path += [str(ROOT), str(ROOT / 'tools')]  # for evidence, and the tool that reads the graph
RELATIVE, OF_EVENTS = 1e-6, 1e-9  # tolerances; the second one of the entries `time` and `times`
TOLERANCES = {
    'time': OF_EVENTS,
    'times': OF_EVENTS,
    'goal_error': 1e-3,  # of the goal's tolerance, which stands beside it
    # Sines without FMA move this plan by 1.5e-6, and the next one to another optimum.
    'plans/laboratory_flip_up': 1e-5,
    'plans/balance_ellipsoid': math.inf,
}
SEEDS = range(3)
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
    """Return how two trajectories end: the scenario, and the same a little off at the start."""
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
        own = {'cpu_seconds', 'goal_error', 'iterations'}  # of the solver, or judged below
        report = {k: v for k, v in plan.report.items() if k not in own}
        rows = np.linspace(0, len(plan.times) - 1, SAMPLES).round().astype(int)
        out[name] = {
            'reached': result['reached'],
            'goal_error': [result['goal_error'], result['goal_tolerance']],
            'report': {k: v for k, v in report.items() if isinstance(v, (int, float, str))},
            'nodes': len(plan.times),
            'duration': plan.duration,
            'states': plan.states[rows].tolist(),
            'controls': plan.controls[rows].tolist(),
            'keys': _keys(result) + sorted(f'plan.{key}' for key in result['plan']),
        }
    return out


def graph(names: Iterable[str] = ()) -> Entries:
    """
    Return what each node of each launch file has on the ROS graph, with types and QoS.

    Rows that all nodes have stand once, below ``every node``; what is there in one kind of time
    alone says so. Needs rclpy.
    """
    policies = import_module('security_policies')
    os.environ['ROLLING_COMPILE'] = 'never'
    out: Entries = {}
    with policies.private_domain():
        for name in names or EXPERIMENTS:
            experiment = EXPERIMENTS[name]
            params = find_config(experiment.params_file)
            for entry in (*experiment.every_node, RECORDER):
                both = []
                for simulated in (False, True):
                    made = policies.configured(entry, params, use_sim_time=simulated)
                    with made as (node, namespace):
                        both.append(_endpoints(policies, node, namespace))
                real, lockstep = both
                seldom = {f'{row} (simulated time)' for row in lockstep - real}
                seldom |= {f'{row} (real time)' for row in real - lockstep}
                out[f'{name}/{entry.name}'] = {*(real & lockstep), *seldom}
            kinds = experiment.hardware or {'': experiment.nodes}
            out[f'{name}.launch.py'] = {
                f'{kind} {e.name} {e.executable} {dict(e.remaps)}'
                for kind in kinds
                for e in kinds[kind]
            }
    nodes = [rows for name, rows in out.items() if not name.endswith('.py')]
    common = set.intersection(*nodes)
    return {'every node': sorted(common), **{n: sorted(rows - common) for n, rows in out.items()}}


def _endpoints(policies: Any, node: Any, namespace: str) -> set[str]:  # noqa: ANN401  (modules of rclpy)
    """Return topics with type and QoS, and services and actions with type, of a node."""
    policies.own_rights(node, namespace)  # waits until the graph has them
    name = node.get_name()
    out = set()
    for right, ends in (('publish', node.publishers), ('subscribe', node.subscriptions)):
        for end in ends:
            topic = policies.relative(end.topic_name, name, namespace)
            kind = end.msg_type
            typed = f'{kind.__module__.partition(".")[0]}/{kind.__name__}'
            out.add(f'{right} {topic} {typed} {_qos(end)}')
    for right, found in (
        ('reply', node.get_service_names_and_types_by_node),
        ('request', node.get_client_names_and_types_by_node),
    ):
        for service, types in found(name, namespace):
            out.add(f'{right} {policies.relative(service, name, namespace)} {" ".join(types)}')
    return out


def _qos(end: Any) -> str:  # noqa: ANN401
    """Return the quality of service of a publisher or subscription, without what is default."""
    qos = end.qos_profile
    words = [qos.reliability.name, qos.durability.name, qos.history.name, f'depth {qos.depth}']
    times = {
        'deadline': qos.deadline,
        'lifespan': qos.lifespan,
        'lease': qos.liveliness_lease_duration,
    }
    words += [f'{k} {v.nanoseconds} ns' for k, v in times.items() if 0 < v.nanoseconds < 2**62]
    return ' '.join(words).lower()


def lockstep() -> Entries:
    """Return verdicts of every experiment by random seed, without ROS."""
    from evidence.benchmarks import balance_arm, ball_balancer, butterfly  # noqa: PLC0415  (slow to import)
    from rolling_controller.ball_balancer import laws as rig_laws  # noqa: PLC0415
    from rolling_controller.ball_balancer import protocol  # noqa: PLC0415
    from rolling_controller.ball_balancer.labyrinth import labyrinth_law  # noqa: PLC0415
    from rolling_dynamics.ball_balancer.labyrinth_file import LabyrinthFile  # noqa: PLC0415
    from rolling_robotics.demo.laboratory import LABORATORY  # noqa: PLC0415
    from rolling_robotics.plugins.labyrinth.demo import Arrival, Through  # noqa: PLC0415
    from rolling_robotics.trials.run import CRITERIA, run_many  # noqa: PLC0415

    out: Entries = {}
    for name in CRITERIA:
        trials = run_many(name, LABORATORY[name].lengths(), SEEDS, workers=1)
        out[f'{name}, emulated hardware'] = _verdicts((t.law, t.ended) for t in trials)
    for name, demo in LABORATORY.items():
        out[f'{name}, simulated hand'] = _demonstrated(demo.all_trials(seeds=SEEDS))
    stands = Trial(task=balance_arm.BalanceOnArm(), criterion=balance_arm.Balanced())
    swings = Trial(task=butterfly.Butterfly(), criterion=butterfly.Arrived())
    way = labyrinth_law(LabyrinthFile.of(load_scenario('labyrinth')))
    labyrinth = Trial(task=Through(law=way), criterion=Arrival())
    several = {'balance_3d on a UR5e': stands, 'butterfly': swings, 'labyrinth': labyrinth}
    for name, trial in several.items():
        records, _ = tried(trial, SEEDS)
        out[name] = [not trial.criterion.outcome(record).failure for record in records]
    for name in rig_laws.LAWS:
        records, _ = tried(replace(ball_balancer.JUMPING, law=name), SEEDS[:2])
        jumps = [protocol.judged(record.times, record['ball']) for record in records]
        out[f'ball_balancer, {name}'] = {
            'lost': [bool(record.ended) for record in records],
            'within 5 mm': [ball_balancer.within(those) for those in jumps],
        }
    rest = [name for name in EXPERIMENTS if not any(title.startswith(name) for title in out)]
    # each executes one plan, from one start
    return out | {name: _demonstrated(EXPERIMENTS[name].load_demo().all_trials()) for name in rest}


def _demonstrated(trials: Sequence[Trial]) -> Entries:
    """Return by law which trials succeed, in their order."""
    judged = (trials[0].criterion.outcome(record) for record in run_trials(trials))
    return _verdicts((t.law, found.failure) for t, found in zip(trials, judged, strict=True))


def _verdicts(trials: Iterable[tuple[str, str]]) -> Entries:
    """Return by law which of its trials succeeded, in the order of seeds, from what failed."""
    out: Entries = {}
    for law, failed in trials:
        out.setdefault(law, []).append(not failed)
    return out


def ros() -> Entries:
    """Return how every demonstration ends on its nodes, in simulated time."""
    from rolling_robotics.demo.laboratory import LABORATORY  # noqa: PLC0415

    out: Entries = {}
    for name in EXPERIMENTS:
        trials = ['--trials', str(len(SEEDS[:2]))] if name in LABORATORY else []
        with tempfile.TemporaryDirectory() as folder:
            demo = ['-m', 'rolling_robotics.cli', 'demo', name, '--simulated-time', *trials]
            done = subprocess.run(
                [sys.executable, *demo, '--out', folder],
                check=False,
                capture_output=True,
                text=True,
            )
        # of a law, the trials that succeed and those that were judged
        rows = re.findall(r'^  (\w+ +\d+ of \d+)', done.stdout, re.MULTILINE)
        out[name] = {'status': done.returncode, 'laws': [' '.join(row.split()) for row in rows]}
        print(name, out[name], flush=True)
    return out


def files() -> Entries:
    """Return what pip and colcon install, the latter by the call that it makes of setup.py."""
    with tempfile.TemporaryDirectory() as folder:
        source, wheel, prefix = (Path(folder, name) for name in ('source', 'wheel', 'prefix'))
        listed = _run('git', 'ls-files').splitlines()
        for name in listed:
            if not name.startswith(('test/', 'docs/', 'evidence/benchmarks/')):
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
    'graph': graph,
    'lockstep': lockstep,
    'ros': ros,
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
            near = TOLERANCES.get(f'{where}/{key}', TOLERANCES.get(key, tolerance))
            near = math.inf if math.isinf(tolerance) else near
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
    recorded = [part for part in PARTS if (FOLDER / f'{part}.json').exists()]
    for part in args.parts or recorded:
        if args.action == 'record':
            write(part, PARTS[part]())
        else:
            found += compared(part)
    if missing := [part for part in PARTS if part not in {*recorded, *args.parts}]:
        print(f'not recorded: {", ".join(missing)}')
    print('\n'.join(found) or f'{args.action}: done, no difference')
    return bool(found)


if __name__ == '__main__':
    sys.exit(main())
