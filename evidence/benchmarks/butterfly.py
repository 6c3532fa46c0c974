"""
The butterfly in lockstep: plate and ball are not what was planned with, and the ball starts off.

Masses and inertias up to 5 % off, each, and the ball up to 2 mm off along the rim; the first
sixteen trials are the corners of that. The regulator's acceleration becomes a torque on the shaft
by the inertias that were planned with; what the plate then does follows from the true ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, cast

import casadi as ca
from evidence.benchmarks.row import Row
import numpy as np
from rolling_controller import LqrWeights, run_lockstep, StateFeedback, TimeVaryingLqr
from rolling_controller.law import Law, OpenLoop
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contract import default_weights
from rolling_dynamics.scenario import load_scenario
from rolling_planner import plan_rolling
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.trials.trial import Criterion, OPEN_LOOP, Outcome, Record, Task, Trial, tried

TRIALS, CORNERS = 100, 16
SHARE, OFF = 0.05, 2e-3  # of masses and inertias; m
PLATE_INERTIA = 1.581e-3  # kg m^2; not printed where the shape is, see docs/errata.md
NEAR, LEVEL, SLOW = 5e-3, 0.05, 0.02  # m, rad, m/s: what counts as arrived
SHAFT = 1  # number of the angular acceleration of the plate among the controls


class Arrived(Criterion):
    """The ball is at rest on the other side and never lost its grip."""

    def outcome(self, record: Record) -> Outcome:
        """Return what was missed, and the error of the place."""
        v = record.values
        far = v['place'] >= NEAR or v['tilt'] >= LEVEL or v['speed'] >= SLOW
        slipped = v['normal'] <= 0 or v['friction'] > v['mu']
        failure = record.ended or ('the grip was lost' if slipped else 'not at rest there' * far)
        return Outcome(failure=failure, error=v['place'], tolerance=NEAR, unit='m')


class Butterfly(Task):
    """The motion from one side to the other, its plan and its regulator."""

    def __init__(self) -> None:
        """Plan from one side to the other."""
        scenario = load_scenario('butterfly_plate')
        self.problem = read_problem(scenario)
        self.system, self.p = cast(ContactSystem, scenario.system), scenario.p
        self.wrench = cast(ca.Function, self.system.mode.wrench)
        self.mu = float(self.system.parameters.unpack(self.p)['mu'][0])
        self.plan = plan_rolling(self.problem)

    @cached_property
    def law(self) -> TimeVaryingLqr:
        """The feedback along the plan."""
        own = default_weights(self.system)
        blind = {'d_HO': 0.0}  # how the ball has turned does not matter
        weights = LqrWeights(
            control=0.1,
            tracking={**own.tracking, **blind},
            terminal={**own.terminal, **blind},
        )
        return TimeVaryingLqr(
            self.system,
            self.p,
            self.plan,
            weights,
            control_limits=self.problem.control_limits,
        )

    @cached_property
    def torque(self) -> ca.Function:
        """``(x, u, p, plate inertia) -> torque on the shaft``, its derivative by the turn."""
        s = self.system
        x, u = ca.SX.sym('x', s.state.size), ca.SX.sym('u', s.control.size)
        p, inertia = ca.SX.sym('p', s.parameters.size), ca.SX.sym('inertia')
        frame = s.contact_frame(x, p)
        force = frame[:3, :3] @ self.wrench(x, u, 0, p)[3:]  # on the ball, in W
        arm = frame[:3, 3] - x[s.state.slice('p_WH').start : s.state.slice('p_WH').stop]
        torque = inertia * u[SHAFT] + ca.cross(arm, force)[1]  # the axis is y of W and of H
        return ca.Function('torque', [x, u, p, inertia], [torque, ca.jacobian(torque, u[SHAFT])])

    def run(self, trial: Trial) -> Record:
        """
        Carry out a trial with the errors of its seed, see :func:`errors_of`.

        Returns
        -------
        Record
            Its values are what the contact [m], the plate [rad] and the ball over the rim [m/s]
            miss at the end, ``place``, ``tilt`` and ``speed``; the least ``normal`` force in
            weights, the greatest ``friction`` needed beside ``mu``, and the greatest ``torque``
            on the shaft [N m].

        """
        s, x, (errors, off) = self.system, self.problem.x_start.copy(), errors_of(trial.seed)
        x[s.state.slice('contact_h').start] += off
        true, inertia = self.p.copy(), PLATE_INERTIA * (1 + errors[2])
        true[s.parameters.slice('mass')] *= 1 + errors[0]
        true[s.parameters.slice('inertia')] *= 1 + errors[1]
        torques, idle = [], np.zeros(s.control.size)
        law: Law[Any] = OpenLoop(s, self.plan) if trial.law == OPEN_LOOP else self.law

        def plate(t: float, motion: Array) -> Array:
            _, wanted = law.step(law.start(), motion, t)
            torques.append(float(self.torque(motion, wanted, self.p, PLATE_INERTIA)[0]))
            held, slope = (float(v) for v in self.torque(motion, idle, true, inertia))
            out = idle.copy()
            out[SHAFT] = (torques[-1] - held) / slope
            return out

        run = run_lockstep(s, true, x, StateFeedback(s, plate), self.plan.duration)
        wrench = np.array(self.wrench.map(len(run.times))(run.states.T, run.controls.T, 0, true))
        miss = np.array(s.difference(run.states[-1], self.problem.goal_state[0])).ravel()
        radius = float(s.parameters.unpack(true)['object_surface'][0])
        weight = float(true[s.parameters.slice('mass')][0] * np.linalg.norm(s.gravity(true)))
        along = np.linalg.norm(run.states[-1, s.state.slice('w_HO_H')]) * radius
        values = {
            'place': abs(float(miss[s.tangent.slice('contact_h').start])),
            'tilt': float(np.linalg.norm(miss[s.tangent.slice('d_WH')])),
            'speed': float(along),
            'normal': float(wrench[5].min()) / weight,
            'friction': float(np.max(np.hypot(*wrench[3:5]) / np.maximum(wrench[5], 1e-9))),
            'mu': self.mu,
            'torque': float(np.max(np.abs(torques))),
        }
        ended = '' if run.ended is None else run.ended.name
        return Record(times=run.times, end=self.plan.duration, ended=ended, values=values)


def errors_of(number: int) -> tuple[Array, float]:
    """Return relative errors and offset [m] of a trial by its number."""
    if number < CORNERS:
        signs = np.array([1.0 if number >> k & 1 else -1.0 for k in range(4)])
    else:
        signs = np.random.default_rng(number).uniform(-1, 1, 4)
    return SHARE * signs[:3], OFF * float(signs[3])


def rows() -> Iterator[Row]:
    """Yield how many of the trials arrive, and by what margin."""
    ends, count = tried(Trial(task=Butterfly(), criterion=Arrived()), range(TRIALS))
    values = {name: [end.values[name] for end in ends] for name in ends[0].values}
    of = f'of {TRIALS}, 5 % and 2 mm off'
    yield Row('arrived on the other side', count, reference=of, goal='at least 95')
    yield Row('least normal force', min(values['normal']), 'weights', 'at least 0', of)
    for name, value, unit in (
        ('greatest friction needed', max(values['friction']), ''),
        ('greatest error of the place', 1e3 * max(values['place']), 'mm'),
        ('greatest torque on the shaft', max(values['torque']), 'N m'),
    ):
        yield Row(name, value, unit, reference=of)
