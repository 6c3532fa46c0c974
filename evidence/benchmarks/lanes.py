"""
Trials by the thousand: a period of the laboratory as one expression of vectors.

It does what :class:`HardwareInterface` does with an emulation, in the same order and by the same
equations, in the plane, with the object rolling: law, bridge, motors, arm, object. In place of
camera and estimator an error is added to the true state that was measured in trials of the chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_controller.law import as_function, check_inputs, split, STATE
from rolling_dynamics.arrays import Array
from rolling_dynamics.batch.kernels import VectorFunction
from rolling_dynamics.batch.trajectories import equations
from rolling_dynamics.contract.rolling_system import turn_between
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.from_contact_system import model_state
from rolling_dynamics.rotations import product, rotation_matrix
from rolling_dynamics.simulation.stepper import step_of_order_4
from rolling_hw_interface.arm import Arm, hand_equations
from rolling_hw_interface.emulated_motors import (
    motors_of,
    ripple_phases,
    turn_equations,
    turn_numbers,
)
from rolling_hw_interface.motor_bridge import (
    BridgeSettings,
    drive_numbers,
    limit_numbers,
    reference_equations,
    torque_equations,
)
from rolling_hw_interface.motor_model import MotorModel
from rolling_robotics.trials.chain import Draw, emulated_laboratory, Imperfections, PERIOD
from rolling_robotics.trials.run import Judge, LaboratorySetup, moments

JOINTS = 3
# joints, drives and the bridge's reference; the command on its way; the plate's part of
# the contact force; the object on the hand; how the trial stands. The memory of the law follows
SIZES = {
    'q': JOINTS, 'qd': JOINTS, 'torque': JOINTS, 'counted': JOINTS, 'reported': JOINTS,
    'q_ref': JOINTS, 'qd_ref': JOINTS, 'sent': 3, 'wrench': 3, 'plant': 14,
    'failure': 1, 'time': 1,
}  # fmt: skip


class Period:
    """
    The period of an experiment, under a law of the state that is not opaque.

    Attributes
    ----------
    experiment
        What is done.
    failures
        What may end a trial: entry k of them has the number k + 1.
    function
        ``(state, off, period, error) -> state``, of scalars: ``off`` are factors of the object's
        inertia and of friction, and the phases of the drives' ripple; ``period`` is a row of
        :meth:`periods`; ``error`` is what the estimated state is off.

    """

    def __init__(self, experiment: LaboratorySetup, law_name: str, motors: MotorModel) -> None:
        """
        Write the expression.

        Parameters
        ----------
        experiment
            With the laboratory and the arm as they are believed to be.
        law_name
            In which way it is done.
        motors
            The drives as they are believed to be.

        Raises
        ------
        ParameterError
            The law is opaque or takes more than the state, or the arm has not three joints.

        """
        self.experiment, self._motors = experiment, motors
        self._arm, laboratory = Arm(experiment.arm.chain), experiment.laboratory
        law = experiment.laws[law_name]()
        check_inputs(law, (STATE,))
        self._law = as_function(law)
        if self._arm.joints != JOINTS:
            raise ParameterError(
                f'compiled trials take a planar arm of {JOINTS} joints, it has {self._arm.joints}'
            )
        self._model, (self._plant, self._p) = laboratory.model()[0], laboratory.plant()
        self._equations = equations(self._plant, 'rolling')
        self.failures = (*self._equations.names, 'off the goal', 'arm', 'joint')
        self.function = self._written()

    def starts(self, imperfections: Imperfections, seeds: Iterable[int]) -> tuple[Array, Array]:
        """
        Return trajectories at their start, a column each, with what their seeds draw.

        Returns
        -------
        tuple
            States, shape (sum of SIZES, trajectories), and what is off, shape (2 + joints,
            trajectories).

        Raises
        ------
        ParameterError
            Commands take another time to the bridge than the one period that is written here.

        """
        if imperfections.transport != 1:
            raise ParameterError(
                'compiled trials have 1 period from the controller to the bridge, got '
                f'{imperfections.transport}'
            )
        known: dict[Draw, Array] = {}
        states, off = [], []
        for seed in seeds:
            draw = imperfections.draw(seed)
            alike = draw._replace(seed=0)
            if alike not in known:
                known[alike] = self._start(draw)
            phases = ripple_phases(np.random.default_rng(seed), JOINTS)
            states.append(known[alike])
            off.append([draw.inertia, draw.friction_torque, *phases])
        size = sum(SIZES.values()) + self._law.memory.size
        return np.reshape(states, (-1, size)).T.copy(), np.reshape(off, (-1, 2 + JOINTS)).T.copy()

    def _start(self, draw: Draw) -> Array:
        e = self.experiment
        perfect = Imperfections(motors=self._motors)
        machine = emulated_laboratory(e.laboratory, e.start, e.arm, perfect, draw)
        joints = motors_of(machine).q
        counted = np.floor(joints / self._motors.resolution) * self._motors.resolution
        given = {
            'q': joints,
            'counted': counted,
            'q_ref': counted,
            'wrench': machine.emulation.load()[[0, 2, 4]],
            'plant': machine.emulation.state.x,
        }
        parts = (given.get(name, np.zeros(n)) for name, n in SIZES.items())
        return np.concatenate([*parts, self._law.memory])

    def periods(self, warm_up: float) -> Array:
        """
        Return what all trajectories have in common, a row for each period.

        It is what the law is given, the time [s], whether the object is held, and whether the
        object's angle counts.

        Parameters
        ----------
        warm_up
            Time for which the object is held first [s].

        """
        e = self.experiment
        k = np.arange(-round(warm_up / PERIOD), round(e.duration / PERIOD))
        times = PERIOD * k
        judged = (k + 1) * PERIOD > e.duration - e.last
        given = np.array([self._law.given(max(t, 0.0)) for t in times])
        return np.column_stack([given, times, k < 0, judged])

    def _written(self) -> ca.Function:
        s = {name: ca.SX.sym(name, n) for name, n in SIZES.items()}
        given, memory = self._law.given(0.0).size, ca.SX.sym('memory', self._law.memory.size)
        off, period = ca.SX.sym('off', 2 + JOINTS), ca.SX.sym('period', given + 3)
        error = ca.SX.sym('error', self._model.tangent.size)
        time, held, judged = ca.vertsplit(period[given:])
        p = self._true_parameters(off)
        truth = model_state(self._plant, self._model)(s['plant'], p)
        estimate = self._model.retract(truth, error)
        step = self._law.function(memory, estimate, time, period[:given])
        after, u = split(step, memory.numel())
        after, u = ca.if_else(held, memory, after), (1 - held) * u
        reference, torque, behind, singular = self._bridge(s)
        drives = self._motors_turned(s, torque, off)
        q, qd = drives[:2]
        hand = hand_equations(self._arm.structure)
        numbers = ca.DM(self._arm.numbers)
        nothing = ca.DM.zeros(6)
        moved = hand(s['q'], s['qd'], (qd - s['qd']) / PERIOD, nothing, numbers)[13:19]
        control = moved[self._model.control_index.tolist()]
        ahead, guards = self._rolled(s['plant'], control, p)
        plant = ca.if_else(held, s['plant'], ahead)
        plant = self._on_hand(plant, hand(q, qd, ca.DM.zeros(JOINTS), nothing, numbers))
        away = ca.fabs(self._turned(plant, self.experiment.goal))
        ends = [
            *((1 - held) * ca.logic_not(g >= 0) for g in ca.vertsplit(guards)),
            judged * ca.logic_not(away <= self.experiment.tolerance),
            singular,
            behind,
        ]
        failure = s['failure']
        for k, end in enumerate(ends, start=1):
            failure = ca.if_else(ca.logic_and(failure == 0, end > 0), k, failure)
        new = {
            'q': q, 'qd': qd, 'torque': drives[2], 'counted': drives[3], 'reported': drives[4],
            'q_ref': reference[0], 'qd_ref': reference[1], 'sent': u,
            'wrench': self._on_plate(plant, control, p), 'plant': plant,
            'failure': failure,
            'time': ca.if_else(s['failure'] > 0, s['time'], time + PERIOD),
        }  # fmt: skip
        out = ca.cse(ca.densify(ca.vertcat(*(new[name] for name in SIZES), after)))
        inputs = [ca.vertcat(*s.values(), memory), off, period, error]
        return ca.Function('period', inputs, [out])

    def _true_parameters(self, off: ca.SX) -> ca.SX:
        """Return the parameters of the object as it is."""
        p, at = ca.SX(ca.DM(self._p)), self._plant.parameters.slice
        p[at('inertia')] *= off[0]
        p[at('rolling_resistance')] *= off[1]
        return p

    def _bridge(self, s: dict[str, ca.SX]) -> tuple[tuple[ca.SX, ca.SX], ca.SX, ca.SX, ca.SX]:
        """Return reference, torques, and 1 where a joint lags and where the arm is singular."""
        chain, motors, settings = self._arm.chain, self._motors, BridgeSettings()
        control = ca.densify(self._model.whole_control(s['sent']))
        structure, numbers = self._arm.structure, ca.DM(self._arm.numbers)
        then = ca.vertcat(s['q_ref'], s['qd_ref'])
        limits = ca.DM(limit_numbers(chain))
        out = reference_equations(structure)(
            s['q_ref'], s['qd_ref'], control, PERIOD, numbers, limits
        )
        reading, trusted = ca.vertcat(s['counted'], s['reported']), ca.DM.ones(JOINTS)
        drives = ca.DM(drive_numbers(chain, motors, settings.feedback_share))
        torque = torque_equations(structure)(
            reading, trusted, then, out[: 3 * JOINTS], settings.stiffness, numbers, drives
        )
        behind = ca.mmax(ca.fabs(s['counted'] - s['q_ref'])) > settings.tracking_limit
        singular = ca.fabs(out[-1]) < chain.determinant
        return (out[:JOINTS], out[JOINTS : 2 * JOINTS]), torque, behind, singular

    def _motors_turned(self, s: dict[str, ca.SX], torque: ca.SX, off: ca.SX) -> list[ca.SX]:
        """Return what the drives are like after the period: angle, rate, torque and readings."""
        motors, structure = self._motors, self._arm.structure
        turns = round(PERIOD * motors.rate)
        given = ca.SX(ca.DM(turn_numbers(motors, np.zeros(JOINTS))))
        given[JOINTS : 2 * JOINTS] *= off[1]
        given[4 * JOINTS : 5 * JOINTS] = off[2:]
        wrench = ca.vertcat(s['wrench'][0], 0, s['wrench'][1], 0, s['wrench'][2], 0)
        law = ca.vertcat(torque, ca.DM.zeros(2 * JOINTS))
        coulomb, free = off[1] * ca.DM(motors.coulomb), ca.DM.zeros(JOINTS)
        rest = coulomb, free, ca.DM.ones(JOINTS), PERIOD / turns, ca.DM(self._arm.numbers), given
        names = ('q', 'qd', 'torque', 'counted', 'reported')
        state = ca.vertcat(*(s[name] for name in names))
        for _ in range(turns):
            state = turn_equations(structure)(state, law, wrench, *rest)
        out: list[ca.SX] = ca.vertsplit(state, JOINTS)
        return out

    def _rolled(self, x: ca.SX, u: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the object after a Runge-Kutta step, and the guards of rolling there."""
        f = self._equations.dynamics
        _, ahead = step_of_order_4(lambda at, _: f(at, u, 0, p), x, PERIOD)
        ahead = self._equations.project(ahead, p)
        return ahead, self._equations.guards(ahead, u, 0, p)

    def _on_hand(self, plant: ca.SX, hand: ca.SX) -> ca.SX:
        """Return the object's state with the hand where the arm has it."""
        plane, out = self._plant, ca.SX(plant)
        at = dict(zip(plane.state.names, range(plane.state.size), strict=True))
        for entry, first in (('q_WH', 0), ('p_WH', 4), ('w_WH_H', 7), ('v_WH_H', 10)):
            for k, name in enumerate(plane.whole.state.entry(entry).components, first):
                if name in at:
                    out[at[name]] = hand[k]
        return out

    def _turned(self, plant: ca.SX, goal: float) -> ca.SX:
        """Return the angle of the object from the goal in the world [rad]."""
        plane = self._plant
        whole = plane.whole.state.split(plane.whole_state(plant, plane.symbols.p))
        q, at = product(whole['q_WH'], whole['q_HO']), [np.cos(goal / 2), np.sin(goal / 2)]
        return turn_between(q[[0, 2]], ca.DM(at))

    def _on_plate(self, plant: ca.SX, control: ca.SX, p: ca.SX) -> ca.SX:
        """Return force x, z [N] and moment y [N m] on the hand about its origin, in W."""
        plane, zero = self._plant, ca.SX(0)
        point = plane.of(plane.whole.touch)(plant, p)[2]
        on_object = plane.of(plane.whole.modes['rolling'].wrench)(plant, control, zero, p)
        R = rotation_matrix(plane.whole_state(plant, p)[plane.whole.state.slice('q_WH')])
        force = R @ on_object[3:6]
        moment = R @ on_object[0:3] + ca.cross(R @ point, force)
        return -ca.vertcat(force[0], force[2], moment[1])


class EstimateError(NamedTuple):
    """
    Measured errors.

    Attributes
    ----------
    series
        Tangent vectors of rolling in the plane by period, shape (trials, periods, 9); after the
        end of a trial that failed those of another one.
    kinds
        What is alike in trials whose errors stand for each other.
    successes
        Which of them succeeded.

    """

    series: Array
    kinds: tuple[tuple[float, float], ...]
    successes: NDArray[np.bool_]

    def drawn(self, imperfections: Imperfections, seeds: Iterable[int]) -> NDArray[np.int64]:
        """Return which of the series a trial has, by its random seed; shape (seeds,), indices."""
        every = np.arange(len(self.kinds))
        found = []
        for seed in seeds:
            kind = _kind(imperfections.draw(seed))
            alike = every[[k == kind for k in self.kinds]]
            found.append(np.random.default_rng([seed, 1]).choice(alike if alike.size else every))
        return np.array(found, dtype=np.int64)


def _kind(draw: Draw) -> tuple[float, float]:
    return draw.inertia, draw.turn


def measured(
    experiment: LaboratorySetup, law_name: str, imperfections: Imperfections, seeds: Sequence[int]
) -> EstimateError:
    """
    Return the errors in trials of the whole chain.

    Parameters
    ----------
    experiment, law_name
        What is done, and in which way.
    imperfections, seeds
        Of the trials.

    Raises
    ------
    ParameterError
        There are no trials.

    """
    if not seeds:
        raise ParameterError('errors are measured on at least one trial, got none')
    found = [_series(experiment, law_name, seed, imperfections) for seed in seeds]
    kinds = tuple(_kind(imperfections.draw(seed)) for seed in seeds)
    periods = round((imperfections.warm_up + experiment.duration) / PERIOD)
    whole = [len(series) == periods for series, _ in found]
    longest = max(range(len(found)), key=lambda k: len(found[k][0]))
    out = []
    for k, (series, _) in enumerate(found):
        alike = [j for j, kind in enumerate(kinds) if whole[j] and kind == kinds[k]]
        other = found[alike[k % len(alike)] if alike else longest][0]
        both = np.concatenate([series, other[len(series) :]])
        held = np.repeat(both[-1:], periods - len(both), axis=0)
        out.append(np.concatenate([both, held]))
    return EstimateError(np.array(out), kinds, np.array([good for _, good in found]))


def _series(
    experiment: LaboratorySetup, law_name: str, seed: int, imperfections: Imperfections
) -> tuple[Array, bool]:
    """Return the errors of a trial until it fails, and whether it succeeded."""
    difference = experiment.laboratory.model()[0].difference
    judge, errors = Judge(experiment), [np.zeros(difference.numel_out(0))]
    for now in moments(experiment, law_name, seed, imperfections, judge):
        error = errors[-1]  # without an estimate the last error stays
        if now.estimate is not None:
            error = np.array(difference(now.estimate, now.truth)).ravel()
        errors.append(error)
    return np.array(errors[1:]), not judge.failure


TOGETHER = 256  # trials of one call of machine code
BEGINS = dict(zip(SIZES, np.cumsum([0, *SIZES.values()]).tolist(), strict=False))  # in a state


def fly(
    period: Period, imperfections: Imperfections, error: EstimateError, seeds: Sequence[int]
) -> tuple[NDArray[np.str_], Array]:
    """
    Carry out a trial for each random seed, whatever is carried beside it.

    Parameters
    ----------
    period
        What is done in each period.
    imperfections
        What is off; the chain draws the same for the same seed.
    error
        What the estimator's error is at these imperfections.
    seeds
        Of the trials.

    Returns
    -------
    tuple
        What ended each trial, empty for success, and when, from the release of the object on [s].

    """
    rows, chosen = period.periods(imperfections.warm_up), error.drawn(imperfections, seeds)
    states, off = period.starts(imperfections, seeds)
    for first in range(0, len(seeds), TOGETHER):
        part = slice(first, first + TOGETHER)
        own, drawn, now = off[:, part], chosen[part], states[:, part]
        step = VectorFunction(period.function, len(drawn))
        for k, row in enumerate(rows):
            now = step(now, own, row, error.series[drawn, k].T)
            if now[BEGINS['failure']].all():
                break
        states[:, part] = now
    names = np.array(['', *period.failures])
    return names[states[BEGINS['failure']].astype(int)], states[BEGINS['time']]
