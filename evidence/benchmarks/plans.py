"""
Plans of problems of every kind: time, cost, attempts.

``python -m evidence.benchmarks.plans hard`` makes one plan, and prints JSON: CPU times from the
start of Python, and what another integrator than the planner's says of the plan.
"""

from __future__ import annotations

from collections.abc import Iterator
import json
import os
from pathlib import Path
import statistics
import subprocess
import sys
import time
from typing import Any

from evidence.benchmarks.row import Row
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiles
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contract import RollingSystem
from rolling_dynamics.simulation import simulate
from rolling_dynamics.surfaces import Plane, Sphere
from rolling_planner import plan_rolling, PlanProblem, Weights
from rolling_planner.problem.goal import goal_error

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
        title = f'plan {name}, simulated goal error'
        against = 'another integrator, tolerance 1e-12'
        yield Row(title, last['goal_error'], goal=f'at most {error:g}', reference=against)
        if name == 'cone':
            title = 'plan cone, excess over the friction cone'
            yield Row(title, last['cone_excess'], 'weights', 'at most 1e-3', '50 points a segment')
        title = f'plan {name}, longest time between reports'
        yield Row(title, last['longest_silence'], 's', 'at most 0.2', 'each report can cancel')
        if compiles():
            title = f'plan {name}, CPU time without a compiler'
            against = f'with machine code {cpu:.2g} s'
            yield Row(title, _plan(name, ROLLING_COMPILE='never')['cpu'], 's', reference=against)


def _plan(name: str, **environment: str) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603  (our own module)
        [sys.executable, '-m', 'evidence.benchmarks.plans', name],
        cwd=Path(__file__).parents[2],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


MASS = 0.1
REST = {
    'q_WH': [1, 0, 0, 0],
    'p_WH': [0, 0, 0],
    'contact_h': [0, 0],
    'w_WH_H': [0, 0, 0],
    'v_WH_H': [0, 0, 0],
}
COMMON: dict[str, Any] = {
    'horizon': 2.0,
    'active_controls': ('alpha_WH_H_x', 'alpha_WH_H_y'),
    'control_limits': 50.0,
}
TABLE_II = {
    'Phi_WH': 1,
    'contact_o': 10,
    'contact_h': 1000,
    'psi': 10,
    'w_WH_H': 1,
    'contact_o_dot': 10,
    'contact_h_dot': 10,
    'psi_dot': 10,
}


def aside(system: RollingSystem, rng: np.random.Generator, position: float, turn: float) -> Array:
    """Return a change of the state that puts an object aside [m] and turns it [rad], anyhow."""
    d = np.zeros(system.tangent.size)
    for name, size in (('contact_h', position), ('d_HO', turn)):
        where = system.tangent.slice(name)
        direction = rng.normal(size=where.stop - where.start)
        d[where] = size * direction / np.linalg.norm(direction)
    return d


def hard(mu: float = 1.0, **options: Any) -> PlanProblem:  # noqa: ANN401
    """Return the goal that needs a nonholonomic loop: a ball of 0.1 m."""
    radius = 0.1
    system = ContactSystem(Sphere(radius), Plane())
    return PlanProblem(
        system=system,
        p=system.pack_parameters(mass=MASS, inertia=0.4 * MASS * radius**2, mu=mu),
        x_start=system.state.pack(**REST, q_HO=[1, 0, 0, 0], w_HO_H=[0, 0, 0]),
        goal={
            'contact_h': [0, -0.033],
            'q_HO': [np.cos(np.pi / 4), np.sin(np.pi / 4), 0, 0],
        },
        **{**COMMON, **options},
    )


def cone() -> PlanProblem:
    """Return the same with an active friction cone."""
    return hard(mu=0.1)


def straight() -> PlanProblem:
    """
    Return the goal of one straight roll, by the paper's own loop and weights.

    ``ball_on_plate_table_ii.yaml``, written out: reading a scenario is not planning.
    """
    radius = 0.033 / (np.pi / 2)  # the goal is one straight roll
    system = ContactSystem(Sphere(radius), Plane(), representation='coordinates')
    return PlanProblem(
        system=system,
        p=system.pack_parameters(mass=MASS, inertia=0.4 * MASS * radius**2, mu=1.0),
        x_start=system.state.pack(**REST, contact_o=[np.pi / 2, 0], psi=0, w_HO_Ch=[0, 0, 0]),
        goal={'contact_h': [0, -0.033], 'contact_o': [np.pi / 2, np.pi / 2], 'psi': 0},
        method='trapezoidal',
        segments=50,
        refinements=3,
        goal_tolerance=0.1,
        goal_mode='terminal_weight',
        guess='stationary',
        weights=Weights(
            view='chart',
            control=1e-3,
            tracking={name: weight / 100 for name, weight in TABLE_II.items()},
            terminal={name: weight * 1000 for name, weight in TABLE_II.items()},
        ),
        **COMMON,
    )


PROBLEMS = {'straight': straight, 'hard': hard, 'cone': cone}


def main() -> None:
    """Plan, stop the clock, evaluate the plan, print."""
    imported = time.process_time()
    problem = PROBLEMS[sys.argv[1]]()
    stated = time.process_time()
    marks: list[float] = []

    def on_iteration(_: object) -> bool:
        marks.append(time.monotonic())
        return True

    began = time.monotonic()
    plan = plan_rolling(problem, on_iteration)
    cpu, wall = time.process_time(), time.monotonic() - began

    points = np.linspace(0.0, plan.duration, 50 * (len(plan.times) - 1) + 1)
    states = simulate(
        problem.system,
        problem.p,
        problem.x_start,
        plan.control_samples(),
        plan.duration,
        t_eval=points,
        events=(),
    ).states
    controls = plan.controls_at(points)
    wrench_of = next(iter(problem.system.modes.values())).wrench
    if wrench_of is None:
        raise SystemExit('the system has no contact')
    wrench = np.array(wrench_of.map(len(points))(states.T, controls.T, 0, problem.p))
    params = problem.system.parameters.unpack(problem.p)
    weight = float(params['mass'][0] * np.linalg.norm(params['gravity_W']))
    excess = np.hypot(wrench[3], wrench[4]) - params['mu'][0] * wrench[5]
    print(
        json.dumps(
            {
                'cpu': cpu,
                'import_cpu': imported,
                'problem_cpu': stated - imported,
                'wall': wall,
                'longest_silence': float(np.diff(marks).max()),
                'goal_error': goal_error(problem, states[-1]),
                'cone_excess': float(excess.max()) / weight,
                'least_normal_force': float(wrench[5].min()) / weight,
                'segments': plan.report['segments'],
                'iterations': plan.report['iterations'],
            }
        )
    )


if __name__ == '__main__':
    main()
