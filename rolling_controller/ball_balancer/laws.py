"""The laws: cascaded PID and LQR as people use them, tuned by Riccati equations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

import casadi as ca
import numpy as np
from rolling_controller.ball_balancer import estimator
from rolling_controller.ball_balancer.estimator import AXES, estimate, held, pair, RigModel
from rolling_controller.ball_balancer.labyrinth import labyrinth_law
from rolling_controller.ball_balancer.predictive import predictive_law
from rolling_controller.ball_balancer.predictive_c import predictive_as_c
from rolling_controller.export.c import as_c, CSource
from rolling_controller.export.compiled_law import CompiledLaw
from rolling_controller.law import Law, law_named
from rolling_controller.step_law import StepLaw
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.labyrinth_file import LabyrinthFile
from rolling_dynamics.ball_balancer.rig_file import RigFile
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.driven import limited
from rolling_dynamics.scenario import Scenario
from scipy.linalg import solve_discrete_are

# Deviations that count as one: chosen on the rig of config/scenarios/ball_balancer.yaml
LQR_SCALES = (0.015, 0.3, 200.0)  # m, m/s, counts
PID_SCALES = (0.04, 0.3, 0.05)  # m, m/s, m s
TILT = 100.0  # counts of command
NEAR = 0.08  # m from its goal within which a PID integrates
CUTOFF = 8.0  # Hz, of the differences from which a PID takes the rate
FASTEST = 0.25  # m/s that the outer loop of a PID asks for
FARTHEST = 10.0  # m: a measurement beyond is not a ball
SMALLEST = 1e-9  # of a gain that is divided by
LQR_GAINS, PID_GAINS = (
    Layout(tuple(Entry(f'gain_{n}', (f'gain_{n}',), unit) for n, unit in of))
    for of in (
        (('ball', 'counts/m'), ('ball_rate', 'counts s/m'), ('tilt', '')),
        (('place', 'counts/m'), ('place_rate', 'counts s/m'), ('integral', 'counts/(m s)')),
    )
)
TEXTS = {
    'pid': 'cascaded PID: place to rate, rate to tilt',
    'lqr': 'linear quadratic regulator on a Kalman filter with delay',
    'estimator': 'Kalman filter with delay',
}


def lqr_law(rig: RigModel) -> StepLaw:
    """Return a linear quadratic regulator on a Kalman filter with delay; offset fed forward."""
    layout = estimator.layout(rig)
    z, measurement, visible, goal = _symbols(layout)
    e = estimate(rig, z, measurement, visible)
    gains = ca.SX.sym('gains', LQR_GAINS.size)
    k_ball, k_rate, k_tilt = ca.vertsplit(gains)
    m = e.then
    level = m.ball + rig.lever * (m.tilt + e.offset)  # where it is when the plate is level again
    wanted = -e.offset - k_ball * (level - goal) - k_rate * m.ball_rate
    wanted -= k_tilt * (m.tilt + e.offset)
    command = commanded(rig, wanted, e.followed)
    after = estimator.next_state(e, z, command)
    law = _law('lqr', rig, layout, z, (measurement, visible, goal, gains), after, command)
    return replace(law, gains=LQR_GAINS, tuned=tuple(lqr_gain(rig).tolist()))


def lqr_gain(rig: RigModel) -> Array:
    """
    Return the gains on ball [counts/m], its rate [counts s/m] and tilt [1], shape (3,).

    The servo counts as a lag of the time that it needs for half of a count scale of tilt.
    """
    lag = float(np.sqrt(TILT / rig.acceleration))
    g = rig.gain
    A = np.array([[0, 1, 0], [0, 0, g], [0, 0, -1 / lag]])
    B = np.array([[0], [0], [1 / lag]])
    return _riccati(rig, A, B, LQR_SCALES)


def pid_law(rig: RigModel) -> StepLaw:
    """Return a cascade: place to rate, rate to tilt, with an integral; no model of the servos."""
    names = (
        ('place', 'm'),
        ('place_rate', 'm/s'),
        ('integral', 'm s'),
    )
    entries = [Entry(n, tuple(f'{n}_{a}' for a in AXES), unit) for n, unit in names]
    layout = Layout((*entries, Entry('followed', ('followed',), '')))
    z, measurement, visible, goal = _symbols(layout)
    T, was, blind = rig.period, z['followed'], visible < 0.5
    followed = ca.if_else(blind, ca.fmax(was - 1 / estimator.PATIENCE, 0.0), 1.0)
    followed = ca.if_else(followed < 0.5 / estimator.PATIENCE, 0.0, followed)
    fraction = 1 - float(np.exp(-2 * np.pi * CUTOFF * T))
    difference = ca.if_else(was > 0, (measurement - z['place']) / T, 0.0)
    rate = ca.if_else(
        blind, z['place_rate'], z['place_rate'] + fraction * (difference - z['place_rate'])
    )
    place = ca.if_else(blind, z['place'] + T * rate, measurement)
    gains = ca.SX.sym('gains', PID_GAINS.size)
    k_ball, k_rate, k_integral = ca.vertsplit(gains)
    error = goal - place
    asked = limited(k_ball / ca.fmax(k_rate, SMALLEST) * error, ca.SX(FASTEST))
    wanted = k_rate * (asked - rate) + k_integral * z['integral']
    free = ca.fabs(wanted) < rig.reach  # the integral waits at the stops, and far from its goal
    near = ca.fabs(error) < NEAR
    integral = z['integral'] + ca.if_else(free * near, T * error, 0.0)
    most = rig.reach / 2 / ca.fmax(k_integral, SMALLEST)
    integral = ca.if_else(followed > 0, limited(integral, most), 0.0)
    command = commanded(rig, wanted, followed)
    after = {'place': place, 'place_rate': rate, 'integral': integral, 'followed': followed}
    law = _law('pid', rig, layout, z, (measurement, visible, goal, gains), after, command)
    return replace(law, gains=PID_GAINS, tuned=tuple(pid_gain(rig).tolist()))


def pid_gain(rig: RigModel) -> Array:
    """Return gains on place [counts/m], rate [counts s/m], integral [counts/(m s)], shape (3,)."""
    A = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]])
    B = np.array([[0], [rig.gain], [0]])
    return _riccati(rig, A, B, PID_SCALES)


def estimator_alone(rig: RigModel) -> StepLaw:
    """Return the Kalman filter with delay; it takes the command instead of a set point."""
    layout = estimator.layout(rig)
    z, measurement, visible, command = _symbols(layout)
    e = estimate(rig, z, measurement, visible)
    after = estimator.next_state(e, z, command)
    known = ca.vertcat(e.then.ball, e.then.ball_rate, e.offset)
    law = _law('estimator', rig, layout, z, (measurement, visible, command), after, known)
    parts = (('ball', 'm'), ('ball_rate', 'm/s'), ('offset', 'counts'))
    entries = tuple(entry for n, unit in parts for entry in pair(n, unit).entries)
    return replace(
        law,
        set_point=pair('command', 'counts'),
        output=Layout(entries),
        limits=(FARTHEST, 4 * rig.reach),
    )


EXPORTED: Mapping[str, Callable[[RigModel], StepLaw]] = {
    'pid': pid_law,
    'lqr': lqr_law,
    'estimator': estimator_alone,
}
LAWS: Mapping[str, Callable[[RigModel], Law[Any]]] = {
    'pid': pid_law,
    'lqr': lqr_law,
    'predictive': predictive_law,
}


def exported_law(rig: RigModel) -> CompiledLaw:
    """Return the predictive law as its exported C, compiled for this machine."""
    return CompiledLaw(source=predictive_as_c(predictive_law(rig)))


ON_NODES: Mapping[str, Callable[[RigModel], Law[Any]]] = {**LAWS, 'exported': exported_law}
# s by which each lags behind a set point that moves, on config/scenarios/ball_balancer.yaml
LEADS: Mapping[str, float] = {'pid': 0.4, 'lqr': 0.45, 'predictive': 0.27, 'exported': 0.27}


def law_on_nodes(file: RigFile, name: str) -> Law[Any]:
    """Return a law of a rig; raise ParameterError if it has none such."""
    laws: dict[str, Callable[[], Law[Any]]]
    if isinstance(file, BallBalancerFile):
        laws = {key: partial(make, RigModel.of(file)) for key, make in ON_NODES.items()}
    else:
        laws = {'predictive': partial(labyrinth_law, cast('LabyrinthFile', file))}
    return law_named(laws, name, 'this rig')


def sources_of(scenario: Scenario) -> dict[str, Callable[[], CSource]]:
    """Return what writes the laws for the rig of a scenario as C, by name."""
    file = BallBalancerFile.of(scenario)
    system, _ = file.system_and_parameters()
    rig, control = RigModel.of(file), file.commanding(system)

    def source(name: str) -> CSource:
        make = EXPORTED.get(name)
        made = predictive_as_c(predictive_law(rig)) if make is None else as_c(make(rig))
        return replace(made, control=control)

    return {name: partial(source, name) for name in (*EXPORTED, 'predictive')}


def commanded(rig: RigModel, wanted: ca.SX, followed: ca.SX) -> ca.SX:
    """Return whole counts within reach; level while the ball is lost."""
    counts = ca.floor(limited(wanted, ca.SX(rig.reach)) + 0.5)
    return ca.if_else(followed > 0, counts, 0.0)


def _riccati(rig: RigModel, A: Array, B: Array, scales: tuple[float, ...]) -> Array:
    """Return the gains of a regulator in steps of a frame, weights by what counts as one."""
    A_d, B_d = held(A, B, rig.period)
    Q, R = np.diag(1 / np.square(scales)), np.array([[1 / TILT**2]])
    P = solve_discrete_are(A_d, B_d, Q, R)
    K = np.linalg.solve(R + B_d.T @ P @ B_d, B_d.T @ P @ A_d)
    return np.asarray(K).ravel()


def _symbols(layout: Layout) -> tuple[dict[str, ca.SX], ca.SX, ca.SX, ca.SX]:
    z = {e.name: ca.SX.sym(e.name, e.size) for e in layout.entries}
    return z, ca.SX.sym('measurement', 2), ca.SX.sym('seen'), ca.SX.sym('set_point', 2)


def _law(
    name: str,
    rig: RigModel,
    layout: Layout,
    z: dict[str, ca.SX],
    inputs: tuple[ca.SX, ...],
    after: dict[str, ca.SX],
    command: ca.SX,
) -> StepLaw:
    state = ca.vertcat(*z.values())
    moved = ca.vertcat(*(after[e.name] for e in layout.entries))
    return StepLaw(
        name=name,
        text=TEXTS[name],
        period=rig.period,
        state=layout,
        measurement=pair('place', 'm'),
        set_point=pair('goal', 'm'),
        output=pair('tilt', 'counts'),
        function=ca.Function(name, [state, *inputs], [moved, command]),
        limits=(FARTHEST, FARTHEST),
    )
