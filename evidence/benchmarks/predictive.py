"""Predictive control of the ball of Table II: time of a step, pushes, and goals that jump."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
import time
from typing import Any, NamedTuple

import casadi as ca
from evidence.benchmarks.plans import aside, hard, REST
from evidence.benchmarks.row import Row
import numpy as np
from rolling_controller import Horizon, LqrWeights, PredictiveLaw, run_lockstep, TimeVaryingLqr
from rolling_controller.law import Around, Law, OpenLoop, state_inputs
from rolling_controller.lockstep import ClosedLoop, run_emulated
from rolling_controller.measured_state import MeasuredLaw, SensorFilter
from rolling_controller.predictive.pursuit import Answer, Pursuit, Replanning
from rolling_controller.supervisor import Source
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import settle
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contract import default_weights, Entry, Layout, quaternion_entry
from rolling_dynamics.contract.instruments import Sensor
from rolling_dynamics.simulation.emulation import Emulation
from rolling_dynamics.surfaces import Plane, Sphere
from rolling_dynamics.testing.motion import values
from rolling_dynamics.uncertain import UncertainSystem
from rolling_planner import Plan, plan_rolling, PlanProblem
from rolling_planner.progress import InfeasibleError
from rolling_robotics.trials.trial import Criterion, Outcome, Record, Task, Trial, tried

RADIUS, MASS, MU, EDGE, LIMIT = 0.1, 0.1, 0.3, 0.4, 50.0
CAREFUL = 0.9  # fraction of the friction that plans and predictions count on
LEAST = 0.3  # normal force in plans, over the weight
HORIZON = Horizon(period=4e-3, slew=20.0, tail=1.0, normal_force_min=0.2)
# 0.5 degrees and 1 mm less what the estimate may be off
REPLANNING = Replanning(tolerance=8e-3, deviation=8e-3, within={'contact_h': 8e-4}, slow=1.0)
BRISK = {'w_HO_H': 0.5}, 0.03  # weights of speed and control: half and a third of the default
MARGIN = 0.08  # of the plate that plans leave to feedback [m]
OFF, TURNED, NOISE, TURN_NOISE = 0.01, 0.2, 2e-4, np.radians(0.2)
PUSH, PUSHED = 0.05, 0.05  # m/s times the mass, s
REACHED, HELD, DURATION, STEP = 6.0, 1.0, 7.0, 1e-3  # s
ROUGH = 1e6  # friction at which nothing slides
DRIVEN = 0.003  # rad/s in 1 s by what is not modelled, but for pushes
MORE_TIME = 1.3  # over the horizon, for a first plan that could not be made
RATIO = 0.08  # standard deviation of the logarithm of inertia over mass
WINDOW = 0.025  # s, in which innovations show a push
SYSTEM = ContactSystem(Sphere(RADIUS), Plane())
UNCERTAIN = UncertainSystem(SYSTEM, ['inertia'])
POSES = Sensor(
    name='pose',
    output=Layout(
        (Entry('position', ('position_u', 'position_v'), 'm'), quaternion_entry('orientation'))
    ),
    measure=lambda at: ca.vertcat(at.state['contact_h'], at.state['q_HO']),
    covariance=np.diag([NOISE**2] * 2 + [(TURN_NOISE / 2) ** 2] * 4),
    rate=1 / STEP,
    message='pose',
    topic='',
)


class Held(Criterion):
    """The pose is held for a second, from soon enough on, and the ball stays on the plate."""

    def outcome(self, record: Record) -> Outcome:
        """Return why a trial did not succeed, and from when on the goal was held."""
        v = record.values
        failure = record.ended
        if not failure and not v['begun'] <= REACHED:
            far = f'{v["position"]:.2g} mm and {v["attitude"]:.2g} degrees off'
            failure = f'not there after {DURATION:g} s, {far}'
            if np.isfinite(v['begun']):
                failure = f'there from {v["begun"]:.2f} s on, wanted by {REACHED:g} s'
        return Outcome(failure=failure, error=v['begun'], tolerance=REACHED, unit='s')


def _parameters(mass: float, inertia: float, mu: float = MU) -> Array:
    p = SYSTEM.pack_parameters(mass=mass, inertia=inertia, mu=mu)
    p[SYSTEM.parameters.slice('hand_edges')] = [-EDGE, EDGE, -EDGE, EDGE]
    return p


class Drawn(NamedTuple):
    """Random values of a trial."""

    problem: PlanProblem
    plant: Array  # its true parameters
    start: Array  # its true state
    delay: float  # of the poses [s]
    pushed_at: float  # s
    push: Array  # tangent vector that is added at each step


def drawn(rng: np.random.Generator) -> Drawn:
    """Return what a trial begins with."""
    q = rng.normal(size=4)
    goal = {'q_HO': q / np.linalg.norm(q), 'contact_h': rng.uniform(-0.25, 0.25, 2)}
    inertia = 0.4 * MASS * RADIUS**2
    mass_off, inertia_off = 1 + 0.1 * rng.uniform(-1, 1), 1 + 0.1 * rng.uniform(-1, 1)
    plant = _parameters(MASS * mass_off, inertia * inertia_off)
    p, start = (
        _parameters(MASS, inertia, CAREFUL * MU),
        SYSTEM.state.pack(**REST, q_HO=[1, 0, 0, 0], w_HO_H=[0] * 3),
    )
    x = values(SYSTEM.retract, start, aside(SYSTEM, rng, OFF, TURNED))
    delay, pushed_at = int(rng.integers(6, 11)) * STEP, rng.uniform(0.5, 3.0)
    heading = rng.uniform(0, 2 * np.pi)
    part = 1 / (1 + plant[SYSTEM.parameters.slice('inertia')][0] / (MASS * mass_off * RADIUS**2))
    push, turned = np.zeros(SYSTEM.tangent.size), [-np.sin(heading), np.cos(heading), 0.0]
    size = PUSH * part / RADIUS * STEP / PUSHED
    push[SYSTEM.tangent.slice('w_HO_H')] = size * np.array(turned)
    inside = dict.fromkeys(('u_h', 'v_h'), (MARGIN - EDGE, EDGE - MARGIN))
    problem = PlanProblem(
        system=SYSTEM,
        p=p,
        x_start=start,
        goal=goal,
        horizon=2.5,
        active_controls=('alpha_WH_H_x', 'alpha_WH_H_y'),
        control_limits=LIMIT,
        state_limits=inside,
        quiet_ends=True,
        normal_force_min=LEAST,
    )
    return Drawn(problem, plant, x, delay, pushed_at, push)


class PushedBall(Task):
    """A ball is brought to a random pose, and struck on its way, by one of :data:`PUSHED_BY`."""

    def run(self, trial: Trial) -> Record:
        """
        Carry out a trial.

        Returns
        -------
        Record
            Its values are ``begun``, from when on the goal was held [s], not a number if it was
            not; ``position``, ``attitude`` and ``spin``, errors [mm, degrees] and spin about the
            normal [rad/s] at the end; ``slid``, greatest friction beyond the cone, away from the
            push, in weights.

        """
        chance, n = drawn(np.random.default_rng(trial.seed)), SYSTEM.state.size
        law, poses = _law(chance.problem, trial.law), replace(POSES, delay=chance.delay)
        known = Around(
            law,
            before=lambda z, x, _: (z, ca.vertcat(x[:n], ca.exp(x[n:]))[: law.inputs.size]),
            inputs=state_inputs(UNCERTAIN),
        )
        state = _filter(chance.problem, poses)
        measured = MeasuredLaw(state, known, latency=chance.delay, ahead=True)
        plant = Emulation(SYSTEM, _rough(chance.plant), [poses], seed=trial.seed)
        plant.restart(chance.start, np.zeros(SYSTEM.control.size))
        pushes = [(chance.pushed_at + k * STEP, chance.push) for k in range(round(PUSHED / STEP))]
        run = run_emulated(plant, measured, state.given, DURATION, lambda u: u, pushes=pushes)
        return _record(chance, run)


def _rough(p: Array) -> Array:
    """Return parameters of a ball that rolls whatever the friction, which is judged instead."""
    p = p.copy()
    p[SYSTEM.parameters.slice('mu')] = ROUGH
    return p


def _record(chance: Drawn, run: ClosedLoop) -> Record:
    """Return the record of a motion: until the goal was held for :data:`HELD`, or to its end."""
    times, x, u = run.times[1:], run.states[1:], run.controls[:-1]
    judged = _judged().map(times.size)
    goal, _ = chance.problem.goal_state
    out = np.array(judged(x.T, u.T, times[None, :], chance.plant, goal)).T
    off, margins = np.split(out, [SYSTEM.tangent.size], axis=1)
    position, attitude, tilt, speed, spin = _errors(x, off)
    good = (position < 1) & (attitude < 0.5) & (tilt < 0.5) & (speed < 5e-3)
    index = np.arange(times.size)
    first = np.maximum.accumulate(np.where(good, 0, index + 1))  # of those that are good since
    held = good & (times - times[np.minimum(first, index)] >= HELD)
    end = int(np.argmax(held)) if held.any() else times.size - 1
    away = abs(times - chance.pushed_at - PUSHED / 2) > 1.5 * PUSHED
    return Record(
        end=times[end],
        ended='' if run.ended is None or held.any() else 'contact lost',
        values={
            'begun': float(times[first[end]]) if held.any() else np.nan,
            'position': float(position[end]),
            'attitude': float(attitude[end]),
            'spin': float(spin[end]),
            'slid': float(np.max(-margins[: end + 1, 2][away[: end + 1]], initial=0.0)),
        },
    )


def _filter(problem: PlanProblem, poses: Sensor) -> SensorFilter:
    """Return the filter of poses: a push, or what it does not know of inertia, is found."""
    return SensorFilter(
        UNCERTAIN,
        problem.p,
        [poses],
        [*problem.x_start, 0.0],
        start={'contact_h': OFF, 'd_HO': TURNED, 'w_HO_H': DRIVEN, 'inertia_log': RATIO},
        lost={'w_HO_H': PUSH / RADIUS, 'd_HO': PUSH * PUSHED / RADIUS, 'contact_h': PUSH * PUSHED},
        drift={'w_HO_H': DRIVEN},
        sources={POSES.name: Source(name='the ball', agreement=0.0, window=WINDOW)},
    )


def _judged() -> ca.Function:
    """Return ``(x, u, t, p, goal) -> what is missed, normal force, edge, friction``."""
    (x, u, t, p), goal = SYSTEM.symbols, ca.SX.sym('goal', SYSTEM.state.size)
    guards = next(iter(SYSTEM.modes.values())).guards
    margins = (guards[n](x, u, t, p) for n in ('normal_force', 'edge', 'friction'))
    values = ca.densify(ca.vertcat(SYSTEM.difference(x, goal), *margins))
    return ca.Function('judged', [x, u, t, p, goal], [values])


def _errors(x: Array, d: Array) -> tuple[Array, ...]:
    """Return position [mm], attitude and tilt [degrees], speed [m/s], spin [rad/s], (k,) each."""
    w = x[:, SYSTEM.state.slice('w_HO_H')]
    position, turn, tilt = (d[:, SYSTEM.tangent.slice(n)] for n in ('contact_h', 'd_HO', 'd_WH'))
    return (
        1e3 * np.linalg.norm(position, axis=1),
        np.degrees(np.linalg.norm(turn, axis=1)),
        np.degrees(np.linalg.norm(tilt[:, :2], axis=1)),
        RADIUS * np.linalg.norm(w[:, :2], axis=1),
        w[:, 2],
    )


def planned(problem: PlanProblem) -> tuple[PlanProblem, Plan]:
    """Return a plan and for what it is: one that cannot be made is tried again with more time."""
    try:
        return problem, plan_rolling(problem)
    except InfeasibleError:
        longer = replace(problem, horizon=MORE_TIME * problem.horizon)
        return longer, plan_rolling(longer)


def predictive_law(problem: PlanProblem, plan: Plan) -> PredictiveLaw:
    """Return the law of the trial on a plan, compiled."""
    speed, control = BRISK
    weights = LqrWeights(tracking={**default_weights(SYSTEM).tracking, **speed}, control=control)
    law = PredictiveLaw(
        SYSTEM,
        problem.p,
        plan,
        weights,
        control_limits=LIMIT,
        horizon=HORIZON,
        scaled=('inertia',),
    )
    settle(300.0)
    return law


def _law(problem: PlanProblem, name: str) -> Law[Any]:
    problem, plan = planned(problem)
    if name == 'open':
        return OpenLoop(SYSTEM, plan)
    if name == 'lqr':
        lqr = TimeVaryingLqr(SYSTEM, problem.p, plan, control_limits=LIMIT)
        settle(300.0)
        return lqr
    law = predictive_law(problem, plan)

    def ask(again: PlanProblem) -> Answer:
        found = plan_rolling(again)
        return lambda _: found

    return Pursuit(law, replace(problem, goal_tolerance=5e-4), ask, REPLANNING)


PUSHED_BY = 'pursuit', 'lqr', 'open'
PUSHED_BALL = Trial(task=PushedBall(), criterion=Held())
SEEDS = 10
PUBLISHED = (
    'contact-implicit predictive control of hands: 20 Hz (jiang2024contact), 50 to 100 Hz '
    '(jin2024complementarity); one plan of the paper takes 171 + 346 + 946 s '
    '(woodruff2022juggling, below Table II)'
)


def rows() -> Iterator[Row]:
    """Yield the figures."""
    seconds, excess = _steps()
    for name, value, bound in (
        ('median', np.median(seconds), 1),
        ('99 of 100', np.quantile(seconds, 0.99), 2),
    ):
        title = f'a step of predictive control, ball on a plate, {name}'
        yield Row(title, 1e3 * float(value), 'CPU ms', f'at most {bound}', PUBLISHED)
    yield Row('greatest control over its limit, pushed ball', excess, 'rad/s^2', 'at most 0')
    for law in PUSHED_BY:
        ends, count = tried(replace(PUSHED_BALL, law=law), range(SEEDS))
        yield Row(
            name=f'goals reached of {SEEDS}, pushed ball, {law}',
            value=count,
            goal=f'at least {0.99 * SEEDS:g}' if law == 'pursuit' else '',
            reference=_text(ends),
        )


def _text(ends: list[Record]) -> str:
    """Return the errors at the end, and what else happened."""
    values = {name: [e.values[name] for e in ends] for name in ends[0].values}
    position, attitude = (np.median(values[name]) for name in ('position', 'attitude'))
    return (
        f'error at the end, median {position:.2g} mm, {attitude:.2g} degrees; off the plate '
        f'{sum(bool(e.ended) for e in ends)}; friction beyond its cone by at most '
        f'{max(values["slid"]):.2g} weights; greatest spin at the end '
        f'{np.abs(values["spin"]).max():.2g} rad/s'
    )


def _steps() -> tuple[list[float], float]:
    """Return the processor times of predictions with a push, and the greatest excess of u."""
    limit = 50.0
    problem = hard(mu=0.3, quiet_ends=True)
    system, plan = problem.system, plan_rolling(problem)
    law = PredictiveLaw(system, problem.p, plan, control_limits=limit)
    settle(300.0)
    push = np.zeros(system.tangent.size)
    push[system.tangent.slice('w_HO_H')] = [0.4, 0.3, 0.0]
    seconds, given = list[float](), (system, problem.p, problem.x_start, law, 2.5)
    run = run_lockstep(*given, signals=noting(law, seconds), pushes=[(1.0, push)])
    return seconds, max(float(np.abs(run.controls).max()) - limit, 0.0)


def noting(law: PredictiveLaw, seconds: list[float]) -> Callable[[float], dict[str, Array]]:
    """Return signals that note the processor time of each program that the law has solved [s]."""
    solved = 0

    def signals(_: float) -> dict[str, Array]:
        nonlocal solved
        before, solved = solved, law.record.solved
        if solved not in (0, before):
            seconds.append(law.record.seconds)
        return {}

    return signals


TRIES = 2  # plans asked for at once
MOTIONS, JUMPS = 20, 5  # jumps in each motion
BETWEEN = 0.3, 1.5  # s of the motion
WANTED = 0.5  # CPU s


class MovedGoals(Task):
    """Goals jump, one after the other, at one time of a motion without imperfections."""

    def run(self, trial: Trial) -> Record:
        """
        Ask for a plan to each goal.

        Returns
        -------
        Record
            Its events are the answers: CPU seconds until a plan could be followed, or was given
            up, and what it leads to, ``whole``, ``position`` alone, or nothing.

        """
        rng = np.random.default_rng([trial.seed, MOTIONS])
        problem, plan = planned(drawn(rng).problem)
        law = predictive_law(problem, plan)
        at = float(rng.uniform(*BETWEEN))
        x = run_lockstep(SYSTEM, problem.p, problem.x_start, law, at).states[-1]
        law.predict(at, x)
        return Record(
            end=at, events=[self._answer(rng, problem, law, at, x) for _ in range(JUMPS)]
        )

    def _answer(
        self,
        rng: np.random.Generator,
        problem: PlanProblem,
        law: PredictiveLaw,
        at: float,
        x: Array,
    ) -> tuple[float, str]:
        q, asked, plans = rng.normal(size=4), list[PlanProblem](), list[Plan]()

        def ask(again: PlanProblem) -> Answer:
            asked.append(again)
            plans.append(plan_rolling(again))
            return lambda _: None

        pursuit = Pursuit(law, replace(problem, goal_tolerance=5e-4), ask, REPLANNING)
        pursuit.pursue({'q_HO': q / np.linalg.norm(q), 'contact_h': rng.uniform(-0.25, 0.25, 2)})
        began = time.thread_time()
        while not plans and len(asked) < TRIES:
            pursuit.predict(at, x)
        if plans:
            law.reference_of(plans[0], at)
        seconds = time.thread_time() - began
        whole = asked[-1].goal['q_HO'] is not None
        return seconds, ('whole' if whole else 'position') if plans else ''


def moved_goals_rows() -> Iterator[Row]:
    """Yield how many of the goals are answered soon enough."""
    records, _ = tried(Trial(task=MovedGoals()), range(MOTIONS))
    answered = [answer for record in records for answer in record.events]
    seconds = np.array([spent for spent, _ in answered])
    soon = sum(bool(goal) and spent <= WANTED for spent, goal in answered)
    count = Counter(goal for _, goal in answered)
    yield Row(
        name=f'goals of {len(answered)} that jump in place and attitude, a plan within {WANTED} s',
        value=soon,
        goal=f'at least {len(answered)}',
        reference=f'CPU time, median {np.median(seconds):.2g} s, 95 of 100 within '
        f'{np.quantile(seconds, 0.95):.2g} s, at most {seconds.max():.2g} s; '
        f'{count["position"]} to the position first, {count[""]} without a plan',
    )
