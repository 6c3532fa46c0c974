"""
A ball brought to a random pose: it starts off, is pushed, and is not what was planned with.

Position uniform in +-0.25 m and attitude in SO(3); mass and inertia up to 10 % off, each; start
10 mm and 0.2 rad off; states 6 to 10 ms late, with noise of 0.2 mm and 0.2 degrees in the pose,
from which an observer of constant gain takes the velocities; one push through the centre.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from benchmarks.problems import REST
import numpy as np
from rolling_controller import Horizon, PredictiveLaw, TimeVaryingLqr
from rolling_controller.predictive.pursuit import Pursuit
from rolling_controller.predictor import Predictor
from rolling_dynamics.compiled import settle
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.surfaces import Plane, Sphere
from rolling_planner import plan_rolling, PlanProblem

RADIUS, MASS, MU, EDGE, LIMIT = 0.1, 0.1, 0.3, 0.4, 50.0
MARGIN = 0.04  # of the plate that plans leave to feedback [m]
OFF, TURNED, NOISE, TURN_NOISE = 0.01, 0.2, 2e-4, np.radians(0.2)
PUSH, PUSHED = 0.05, 0.05  # m/s times the mass, s
REACHED, HELD, DURATION, STEP = 6.0, 1.0, 7.0, 1e-3  # s
GAIN = 0.05  # of the observer on what the pose misses, per step
SYSTEM = ContactSystem(Sphere(RADIUS), Plane())
Array = np.ndarray


class End(NamedTuple):
    """
    How a trial ended.

    Attributes
    ----------
    begun
        From when on the goal was held [s]; None if it was not.
    position, attitude, spin
        Errors [mm, degrees] and spin about the normal [rad/s] at the end.
    lost
        Whether the ball left the plate.
    slid
        Greatest friction beyond the cone, away from the push, in weights.

    """

    begun: float | None
    position: float
    attitude: float
    spin: float
    lost: bool
    slid: float


def _parameters(mass: float, inertia: float) -> Array:
    p = SYSTEM.pack_parameters(mass=mass, inertia=inertia, mu=MU)
    p[SYSTEM.parameters.slice('hand_edges')] = [-EDGE, EDGE, -EDGE, EDGE]
    return p


def _aside(rng: np.random.Generator, position: float, turn: float) -> Array:
    d = np.zeros(SYSTEM.tangent.size)
    for name, size in (('contact_h', position), ('d_HO', turn)):
        where = SYSTEM.tangent.slice(name)
        direction = rng.normal(size=where.stop - where.start)
        d[where] = size * direction / np.linalg.norm(direction)
    return d


def _moved(x: Array, d: Array) -> Array:
    return np.array(SYSTEM.retract(x, d)).ravel()


class Observer:
    """Follows noisy poses by the model, with constant gains; blind to the ball's velocity."""

    def __init__(self, p: Array) -> None:
        """Take the model that plans are made with."""
        self._step, self._k = Stepper(SYSTEM, p, max_step=STEP), 0
        self._x = np.zeros(0)

    def at(self, k: int, measured: Array, controls: list[Array]) -> Array:
        """Return the state at step k, of which the pose was measured."""
        if not self._x.size:
            self._x, self._k = measured, k
        while self._k < k:
            self._x = self._step.step(self._x, controls[self._k], STEP, self._k * STEP)
            self._k += 1
        where = SYSTEM.tangent.slice
        d = np.array(SYSTEM.difference(measured, self._x)).ravel()
        q = self._x[SYSTEM.state.slice('q_HO')]
        turn = d[where('d_HO')]
        turn = turn + 2 * np.cross(q[1:], np.cross(q[1:], turn) + q[0] * turn)  # in the hand
        u, v = d[where('contact_h')]
        turn[:2] = (turn[:2] + np.array([-v, u]) / RADIUS) / 2  # it rolls
        d[where('d_HO')] *= GAIN
        d[where('contact_h')] *= GAIN
        d[where('w_HO_H')] = GAIN**2 / (2 - GAIN) / STEP * turn
        self._x = _moved(self._x, d)
        return np.array(self._x)


class Drawn(NamedTuple):
    """What chance decides before a trial begins."""

    problem: PlanProblem
    plant: Array  # its true parameters
    start: Array  # its true state
    delay: int  # of the states [ms]
    pushed_at: float  # s
    push: Array  # added to the angular velocity at each step [rad/s]


def _drawn(rng: np.random.Generator) -> Drawn:
    q = rng.normal(size=4)
    goal = {'q_HO': q / np.linalg.norm(q), 'contact_h': rng.uniform(-0.25, 0.25, 2)}
    inertia = 0.4 * MASS * RADIUS**2
    mass_off, inertia_off = 1 + 0.1 * rng.uniform(-1, 1), 1 + 0.1 * rng.uniform(-1, 1)
    start = SYSTEM.state.pack(**REST, q_HO=[1, 0, 0, 0], w_HO_H=[0] * 3)
    x = _moved(start, _aside(rng, OFF, TURNED))
    delay, pushed_at = int(rng.integers(6, 11)), rng.uniform(0.5, 3.0)
    heading = rng.uniform(0, 2 * np.pi)
    share = 1 / (1 + inertia * inertia_off / (MASS * mass_off * RADIUS**2))
    problem = PlanProblem(
        system=SYSTEM,
        p=_parameters(MASS, inertia),
        x_start=start,
        goal=goal,
        horizon=2.5,
        active_controls=('alpha_WH_H_x', 'alpha_WH_H_y'),
        control_limits=LIMIT,
        state_limits=dict.fromkeys(('u_h', 'v_h'), (MARGIN - EDGE, EDGE - MARGIN)),
        quiet_ends=True,
    )
    return Drawn(
        problem=problem,
        plant=_parameters(MASS * mass_off, inertia * inertia_off),
        start=x,
        delay=delay,
        pushed_at=pushed_at,
        push=np.array([-np.sin(heading), np.cos(heading), 0.0])
        * (PUSH * share / RADIUS * STEP / PUSHED),
    )


def trial(seed: int, law: str) -> End:
    """Return how a law ends: ``pursuit``, ``lqr`` or ``open``."""
    rng = np.random.default_rng(seed)
    problem, plant, x, delay, pushed_at, push = _drawn(rng)
    command = _law(problem, law)
    predictor, observer = (
        Predictor(SYSTEM, problem.p, delay=0.0, horizon=0.05),
        Observer(problem.p),
    )
    step, wanted = Stepper(SYSTEM, plant, max_step=STEP), problem.goal_state[0]
    states: list[Array] = [x]
    controls: list[Array] = []
    since: float | None = None
    guards, slid = next(iter(SYSTEM.modes.values())).guards, 0.0
    for k in range(round(DURATION / STEP)):
        t, seen = k * STEP, max(k - delay, 0)
        d = np.zeros(SYSTEM.tangent.size)
        d[SYSTEM.tangent.slice('contact_h')] = NOISE * rng.normal(size=2)
        d[SYSTEM.tangent.slice('d_HO')] = TURN_NOISE * rng.normal(size=3)
        estimate = observer.at(seen, _moved(states[seen], d), controls)
        _, estimate = predictor.predict(seen * 1_000_000, estimate, k * 1_000_000)
        u = np.array(command(t, estimate))
        predictor.note(k * 1_000_000, u)
        controls.append(u)
        x = step.step(x, u, STEP, t)
        if pushed_at <= t < pushed_at + PUSHED:
            x[SYSTEM.state.slice('w_HO_H')] += push
        states.append(x)
        error = _errors(x, wanted)
        lost = any(float(guards[n](x, u, t, plant)) < 0 for n in ('normal_force', 'edge'))
        if not pushed_at - PUSHED <= t < pushed_at + 2 * PUSHED:
            slid = max(slid, -float(guards['friction'](x, u, t, plant)))
        if lost or not np.isfinite(x).all():
            return End(None, *error[:2], error[4], True, slid)
        good = error[0] < 1 and error[1] < 0.5 and error[2] < 0.5 and error[3] < 5e-3
        since = (t if since is None else since) if good else None
        if since is not None and t - since >= HELD:
            break
    reached = since if since is not None and t - since >= HELD else None
    return End(reached, *error[:2], error[4], False, slid)


def _errors(x: Array, wanted: Array) -> tuple[float, float, float, float, float]:
    """Return position [mm], attitude and tilt [degrees], speed [m/s], spin [rad/s]."""
    d = np.array(SYSTEM.difference(x, wanted)).ravel()
    w = x[SYSTEM.state.slice('w_HO_H')]
    where = SYSTEM.tangent.slice
    return (
        1e3 * float(np.linalg.norm(d[where('contact_h')])),
        float(np.degrees(np.linalg.norm(d[where('d_HO')]))),
        float(np.degrees(np.linalg.norm(d[where('d_WH')][:2]))),
        RADIUS * float(np.linalg.norm(w[:2])),
        float(w[2]),
    )


def _law(problem: PlanProblem, name: str) -> Callable[[float, Array], Any]:
    plan = plan_rolling(problem)
    if name == 'open':
        return lambda t, _: plan.control_at(t)
    if name == 'lqr':
        lqr = TimeVaryingLqr(SYSTEM, problem.p, plan, control_limits=LIMIT)
        settle(300.0)
        return lqr.command
    law = PredictiveLaw(
        SYSTEM, problem.p, plan, control_limits=LIMIT, horizon=Horizon(period=4e-3, slew=10.0)
    )
    settle(300.0)

    def ask(again: PlanProblem) -> Callable[[], Any]:
        found = plan_rolling(again)
        return lambda: found

    return Pursuit(law, replace(problem, goal_tolerance=5e-4), ask).command
