"""The sphere with a pendulum: simulation, gaits, sequences of gaits, feedback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
import math
import statistics
import time

from evidence.benchmarks.row import DURATION, Row, simulated, timed, TOLERANCE
import numpy as np
from rolling_controller.gait_following.gait_follower import GaitFollower
from rolling_controller.law import Around
from rolling_controller.lockstep import run_lockstep
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import PlanningError
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits, gaits_for_speed
from rolling_dynamics.pendulum_sphere.parameters import (
    paper_parameters,
    scales_of,
    SphereParameters,
)
from rolling_dynamics.pendulum_sphere.system import PendulumSphere, STATE
from rolling_planner.gait_planner.plan_gaits import plan_gaits
from rolling_planner.gait_planner.problem import Circle, GaitProblem, GaitSequence, Waypoint
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem, Weights
from rolling_planner.refinement.planner import plan_rolling
from rolling_robotics.arrays import Series
from rolling_robotics.trials.trial import Criterion, Outcome, Record, Task, Trial, tried

DISTURBED, NEAR = 100, 0.02  # runs, and the distance from the goal over the length of the plan
SHORTER, SHORTENINGS = 0.85, 6  # ratio of one horizon to the one before, and how many
COURSE = (
    (1.0, 0.3),
    (2.0, -0.3),
    (3.0, 0.4),
    (4.0, 0.0),
    (5.0, 0.5),
    (5.2, 1.5),
    (4.6, 2.4),
    (3.6, 1.8),
    (2.6, 2.4),
    (1.6, 1.9),
    (0.6, 2.5),
    (-0.4, 2.0),
    (-0.9, 1.1),
    (-0.3, 0.5),
    (0.2, 1.1),
    (1.0, 1.0),
    (1.8, 1.1),
)
OBSTACLES = (
    ((1.5, 0.25), 0.12),
    ((2.5, 0.6), 0.2),
    ((4.4, 0.9), 0.2),
    ((3.1, 2.7), 0.15),
    ((0.0, 1.6), 0.15),
)


def rows() -> Iterator[Row]:
    """Yield the figures."""
    system, params = PendulumSphere(), paper_parameters()
    raised = [0.3, math.sin(0.5), -math.cos(0.5)]
    seconds, error = simulated(
        system,
        system.pack_parameters(params),
        system.rolling_state(params, velocity=[0.3, 0.1], spin=0.5, pendulum=raised),
        events={'normal_force': 'stop', 'friction': 'record'},
    )
    name = 'pendulum sphere, 20 s of free motion'
    against = f'tolerance {TOLERANCE:g}, {1e3 * seconds:.3g} ms, error {error:.2g}'
    yield Row(name, DURATION / seconds, 'times real time', 'at least 2000', against)
    yield _inversion()
    spent, plan = timed(lambda: plan_gaits(course()), 3)
    name = 'plan of gaits round five obstacles, CPU time'
    against = f'{len(plan.steps)} swings, {plan.length:.3g} m in {plan.duration:.3g} s'
    yield Row(name, statistics.median(spent), 's', 'at most 2', against)
    yield from _disturbed(plan)
    yield from _comparison()


def course() -> GaitProblem:
    """Return the manoeuvre of twenty swings round five obstacles."""
    return GaitProblem(
        params=paper_parameters(),
        start=(0.0, 0.0),
        waypoints=[Waypoint(position=p) for p in COURSE],
        obstacles=[Circle(center=c, radius=r) for c, r in OBSTACLES],
    )


def _inversion() -> Row:
    params = paper_parameters()
    scales = scales_of(params)
    spent, roots = [], 0
    for T in (1.0, 2.0, 5.0):
        for change in np.linspace(0.05, 0.7, 14):
            v, period = change * scales.unit('velocity'), T * scales.unit('time')
            once, found = timed(
                partial(gaits_for_speed, params, v, period), clock=time.perf_counter
            )
            spent += once
            roots += len(found)
    name = 'a gait inverted, all roots within two turns'
    against = f'median of {len(spent)}, {roots} roots, longest {1e3 * max(spent):.3g} ms'
    return Row(name, 1e3 * statistics.median(spent), 'ms', 'at most 5', against)


def _disturbed(plan: GaitSequence) -> Iterator[Row]:
    runs, count = tried(Trial(task=Following(plan), criterion=Arrived(plan)), range(DISTURBED))
    parts = [r.values['miss'] / plan.length for r in runs]
    clear = [
        min(np.hypot(*(r['path'] - c).T).min() - radius for c, radius in OBSTACLES) for r in runs
    ]
    name = f'disturbed runs of {DISTURBED} that arrive within 2 % of the path'
    against = f'worst {100 * max(parts):.3g} %, median {100 * statistics.median(parts):.3g} %'
    yield Row(name, count, goal=f'at least {DISTURBED}', reference=against)
    yield Row(
        name='disturbed runs that touch no obstacle',
        value=float(sum(c > plan.params.shell_radius for c in clear)),
        reference=f'greatest friction {max(r.values["friction"] for r in runs):.3g} of '
        f'{plan.params.mu:g}, '
        f'least normal force {min(r.values["least_normal_force"] for r in runs):.3g} N',
    )


def _comparison() -> Iterator[Row]:
    problem = GaitProblem(
        params=paper_parameters(),
        start=(0, 0),
        waypoints=[Waypoint(position=(0.6, 0.8))],
        limits=GaitLimits(torque=0.5),
    )
    gaits = plan_gaits(problem)
    efforts = {
        'gaits': gaits.effort(),
        'direct': plan_effort(direct_plan(problem, gaits.duration)),
    }
    with suppress(PlanningError):  # the last horizon is too short
        for k in range(1, SHORTENINGS + 1):
            plan = direct_plan(problem, gaits.duration * SHORTER**k)
            efforts['direct, fastest'] = plan_effort(plan)
    for name, row in efforts.items():
        yield Row(
            name=f'1 m from rest to rest, energy: {name}',
            value=row['energy'],
            unit='J',
            reference=f'time {row["time"]:.3g} s, torque {row["peak_torque"]:.3g} N m, '
            f'friction {row["friction"]:.3g}',
        )


def direct_plan(problem: GaitProblem, horizon: float) -> Plan:
    """
    Return a plan by collocation to the only waypoint, within the limits of the gaits.

    Obstacles are not regarded.
    """
    system, limits = PendulumSphere(), problem.planning_limits
    p = system.pack_parameters(problem.params)
    p[system.parameters.slice('mu')] = limits.friction or problem.params.mu
    (waypoint,) = problem.waypoints
    return plan_rolling(
        PlanProblem(
            system=system,
            p=p,
            x_start=system.rolling_state(problem.params, contact=problem.start),
            goal={'contact': waypoint.position},
            horizon=horizon,
            control_limits=limits.torque / math.sqrt(2),
            segments=30,
            refinements=3,
            normal_force_min=limits.normal_force,
            weights=Weights(control=1.0),
            goal_tolerance=waypoint.tolerance / 10,
        )
    )


def plan_effort(plan: Plan) -> dict[str, float]:
    """Return time, energy of the drive, peak torque and friction of a plan."""
    Omega, omega = (plan.states[:, STATE.slice(name)] for name in ('w_WS_W', 'w_WP_W'))
    power = np.abs((plan.controls * (omega - Omega)).sum(axis=1))
    force = plan.contact_wrenches[:, 3:]
    return {
        'time': plan.duration,
        'energy': float(np.trapezoid(power, plan.times)),
        'peak_torque': float(np.linalg.norm(plan.controls, axis=1).max()),
        'friction': float((np.hypot(force[:, 0], force[:, 1]) / force[:, 2]).max()),
    }


LEAD = 2.0  # s of holding before the first swing, in which the slope is learnt
SETTLE = 3.0  # s of holding after the last swing
RATE = 250.0  # of measurement and command [Hz]
# standard deviations of what is measured, by tangent entry [m, rad, rad/s]
NOISE = {'contact': 0.005, 'd_WS': 0.0, 'd_WP': math.radians(0.3), 'w_WS_W': 0.05, 'w_WP_W': 0.03}


@dataclass(frozen=True, kw_only=True)
class Disturbance:
    """
    Differences between the machine and the law's model of it.

    Attributes
    ----------
    shell_mass, pendulum_mass
        Factors of the masses; moments of inertia go with them.
    slope, azimuth
        Of the floor [rad].
    rolling_resistance
        Lever arm [m].
    noise
        Scale of the sensors' noise: 1 is 5 mm, 0.05 rad/s (shell), 0.3 deg, 0.03 rad/s (pendulum).
    seed
        Of the noise.

    """

    shell_mass: float = 1.0
    pendulum_mass: float = 1.0
    slope: float = 0.0
    azimuth: float = 0.0
    rolling_resistance: float = 0.0
    noise: float = 1.0
    seed: int = 0

    def applied(self, params: SphereParameters) -> SphereParameters:
        """Return the sphere as it is."""
        a, b = self.shell_mass, self.pendulum_mass
        return replace(
            params,
            slope=self.slope,
            azimuth=self.azimuth,
            rolling_resistance=self.rolling_resistance,
            shell_mass=params.shell_mass * a,
            shell_inertia=params.shell_inertia * a,
            pendulum_mass=params.pendulum_mass * b,
            pendulum_inertia=params.pendulum_inertia * b,
            pendulum_excess=params.pendulum_excess * b,
        )


def random_disturbance(seed: int) -> Disturbance:
    """Return masses wrong by 10 %, a slope up to 2 degrees, resistance up to 1 mm, and noise."""
    rng = np.random.default_rng([2016, seed])
    signs = rng.choice([0.9, 1.1], size=2)
    return Disturbance(
        shell_mass=float(signs[0]),
        pendulum_mass=float(signs[1]),
        slope=math.radians(2) * math.sqrt(rng.uniform()),
        azimuth=rng.uniform(-math.pi, math.pi),
        rolling_resistance=rng.uniform(0, 1e-3),
        noise=1.0,
        seed=seed,
    )


@dataclass(frozen=True, eq=False)
class Arrived(Criterion):
    """The sphere ends within 2 % of the length of a plan from its goal."""

    plan: GaitSequence

    def outcome(self, record: Record) -> Outcome:
        """Return the distance from the goal over the length of the plan."""
        error = record.values['miss'] / self.plan.length
        failure = '' if error < NEAR else 'too far from the goal'
        return Outcome(failure=failure, error=error, tolerance=NEAR)


@dataclass(frozen=True, eq=False)
class Following(Task):
    """A plan for the undisturbed sphere, followed with the random disturbance of a seed."""

    plan: GaitSequence

    def run(self, trial: Trial) -> Record:
        """Carry out a trial."""
        return follow(self.plan, random_disturbance(trial.seed))


def follow(plan: GaitSequence, disturbance: Disturbance) -> Record:
    """
    Return how the feedback carries a disturbed sphere along a plan, in lockstep.

    Parameters
    ----------
    plan
        Made for the undisturbed sphere.
    disturbance
        What is not as believed.

    Returns
    -------
    Record
        Its ``path`` (k, 2) [m] at its times, negative in the hold before the first swing. Its
        values are ``miss``, the distance from the goal at the end [m], and ``speed`` there [m/s];
        the greatest ``friction`` over normal force and ``least_normal_force`` [N];
        ``slope_estimate`` and ``resistance_estimate`` at the end [rad], [N m].

    """
    true, system = disturbance.applied(plan.params), PendulumSphere()
    p, law = system.pack_parameters(true), GaitFollower(plan)
    rng = np.random.default_rng([7, disturbance.seed])
    sizes = disturbance.noise * np.array(
        [NOISE[e.name] for e in system.tangent.entries for _ in range(e.size)]
    )
    off = Entry('off', tuple(f'off_{name}' for name in system.tangent.names), '')
    n = STATE.size
    seen = Around(
        law,
        before=lambda z, y, _: (z, system.retract(y[:n], y[n:])),
        inputs=Layout((*law.inputs.entries, off)),
        since=LEAD,
    )
    run = run_lockstep(
        system,
        p,
        system.rolling_state(plan.params, contact=plan.start),  # hangs as on a level floor
        seen,
        LEAD + plan.duration + SETTLE,
        rate=RATE,
        signals=lambda _: {'off': sizes * rng.normal(size=sizes.size)},
    )
    wrench = system.function('wrench', system.expressions.wrench)
    force = np.array(wrench(run.states.T, run.controls.T, 0, p)).T[:, 3:]
    Omega, loop = run.states[-1, STATE.slice('w_WS_W')], run.memory[1].loop
    N, path = force[:, 2], run.states[:, STATE.slice('contact')]
    values = {
        'miss': float(np.hypot(*(path[-1] - plan.steps[-1].corner))),
        'speed': float(true.shell_radius * np.hypot(Omega[0], Omega[1])),
        'friction': float((np.hypot(force[:, 0], force[:, 1]) / N).max()),
        'least_normal_force': float(N.min()),
        'slope_estimate': loop.filter.slope,
        'resistance_estimate': float(loop.filter.state[4]),
    }
    return Record(times=run.times - LEAD, arrays={'path': Series(path, 'm')}, values=values)
