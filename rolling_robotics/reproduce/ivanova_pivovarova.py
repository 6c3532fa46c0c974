"""
The printed numbers and figures of Ivanova & Pivovarova, beside what is computed here.

The paper prints R_t = 0.25 R_o, a thin disk of radius 0.92 R_o, and no mass or inertia of the
shell. Inferred: a thin shell, I = 2/3 M R_o^2, of M = 0.1 m. All three printed numbers that depend
on it (0.38, 2.56, 0.83) come out only for M between 0.0996 m and 0.1022 m; other pairs of M and I
with the same I + M R_o^2, such as a solid ball of 0.12 m, cannot be told from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.pendulum_sphere import (
    paper_parameters,
    PendulumSphere,
    scales_of,
    SphereParameters,
)
from rolling_dynamics.pendulum_sphere.gaits import (
    choose_gait,
    GaitLimits,
    gaits_for_speed,
    speed_change,
)
from rolling_dynamics.pendulum_sphere.prescribed_motion import fixed_points
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing
from rolling_dynamics.pendulum_sphere.system import pendulum_direction, to_paper
from rolling_dynamics.simulation import simulate
from rolling_robotics.reproduce.row import beside, Row

SUMMARY = 'pendulum-driven sphere: gaits, constant acceleration (Ivanova & Pivovarova)'
PERIOD, CHANGE, TURN, ACCELERATION = 5.0, 0.5, math.radians(40), 0.1  # of the examples
AFTER = 2.0  # time shown after the swing
REPLAYED = 1e-6  # relative error of a swing that is replayed on the full model


class Replay(NamedTuple):
    """A swing's torque replayed open loop on the full model, in the paper's units and axes."""

    times: NDArray[np.float64]
    n: NDArray[np.float64]
    omega: NDArray[np.float64]
    torque: NDArray[np.float64]
    path: NDArray[np.float64]
    velocity: NDArray[np.float64]
    acceleration: NDArray[np.float64]


@cache
def paper_sphere() -> SphereParameters:
    """Return the sphere of the paper in its own units."""
    si = paper_parameters()
    return scales_of(si).parameters_to_dimensionless(si)


def rows() -> list[Row]:
    """Return every number the paper prints."""
    return list(_numbers())


def stated(_: list[Row]) -> list[str]:
    """Return what the paper leaves unsaid."""
    params = paper_sphere()
    M, m = params.shell_mass, params.pendulum_mass
    share = Fraction(params.shell_inertia / (M * params.shell_radius**2)).limit_denominator(100)
    return [
        f'unsaid in the paper, inferred: thin shell, I = {share} M R_o^2, M = {M / m:g} m',
        'unit of time t_0 = sqrt((i + j) / (m g R_t)), of length g t_0^2, of mass m',
        'Eq. (12) with the signs of its first and third terms corrected',
    ]


def figures(folder: Path) -> list[Path]:
    """Draw figures 3, 4, 7, 8, 9 and 10 into a folder and return the files."""
    # matplotlib is slow to import
    from rolling_robotics.reproduce.ivanova_pivovarova_figures import draw_all  # noqa: PLC0415

    return draw_all(folder)


def example(velocity: tuple[float, float], direction: float) -> Replay:
    """Return a swing of 0.5 in 5 in a direction, and the free rolling after it."""
    params = paper_sphere()
    amplitude = choose_gait(params, CHANGE, PERIOD, GaitLimits(friction=1.0)).amplitude
    # the paper's y points the other way
    swing = SpatialSwing(params=params, direction=-direction, amplitude=amplitude, period=PERIOD)
    system = PendulumSphere()
    x0 = system.rolling_state(params, velocity=[velocity[0], -velocity[1]])
    times = np.linspace(0, PERIOD, 201)
    run = simulate(
        system,
        system.pack_parameters(params),
        x0,
        lambda t: swing.at(t).torque[0],
        PERIOD,
        t_eval=times,
        rtol=1e-10,
        atol=1e-12,
    )
    table = swing.at(times)
    s = system.state
    after = np.linspace(0, AFTER, 41)[1:]
    n = np.array([pendulum_direction(x) for x in run.states])
    Omega = run.states[:, s.slice('w_WS_W')]
    V = params.shell_radius * np.column_stack([Omega[:, 1], -Omega[:, 0], 0 * Omega[:, 0]])
    r = np.column_stack([run.states[:, s.slice('contact')], 0 * times])

    def extended(values: NDArray[np.float64], rest: NDArray[np.float64]) -> NDArray[np.float64]:
        return to_paper(np.vstack([values, rest]))

    zero = np.zeros((after.size, 3))
    a = np.column_stack([table.acceleration, 0 * times])
    return Replay(
        np.concatenate([times, PERIOD + after]),
        extended(n, zero + n[-1]),
        extended(run.states[:, s.slice('w_WP_W')], zero),
        extended(table.torque, zero),
        extended(r, r[-1] + after[:, None] * V[-1]),
        extended(V, zero + V[-1]),
        extended(a, zero),
    )


def _numbers() -> Iterator[Row]:
    """Yield the rows; a number that the paper rounds may differ by half its last digit."""
    params = paper_sphere()
    center, saddle = fixed_points(params, ACCELERATION)
    name = '{} fixed point at a_0 = 0.1 (Section 3)'
    yield beside(name.format('stable'), 0.38, center.theta, 0.005, 'rad')
    yield beside(name.format('unstable'), 2.56, saddle.theta, 0.005, 'rad')
    gaits = gaits_for_speed(params, CHANGE, PERIOD)
    name = 'amplitude for a change of speed by 0.5 in 5 (Example 1)'
    yield beside(name, 0.83, gaits[0].amplitude, 0.005, 'rad')
    speed = CHANGE / math.tan(TURN)
    yield beside('initial speed of the turn by 40 deg (Example 2)', 0.6, speed, 0.05, 'x_0/t_0')
    reached = example((0.0, 0.0), 0.0).velocity[-1, 0]
    name = 'speed after the swing, replayed on the full model (Example 1)'
    yield beside(name, CHANGE, reached, REPLAYED * CHANGE, 'x_0/t_0')
    turn = example((speed, 0.0), math.pi / 2)
    angle = math.degrees(math.atan2(turn.velocity[-1, 1], turn.velocity[-1, 0]))
    name, printed = 'turn by the swing, replayed on the full model (Example 2)', math.degrees(TURN)
    yield beside(name, printed, angle, REPLAYED * printed, 'deg')
    stop = gaits_for_speed(params, -CHANGE, PERIOD)[0].amplitude
    yield beside('amplitude of the stop (Section 2.1)', -0.83, stop, 0.005, 'rad')
    odd = np.sum(speed_change(params, np.array([0.83, -0.83]), PERIOD))
    name = 'odd: dV(alpha) + dV(-alpha) at 0.83, 5 (Section 2.1)'
    yield beside(name, 0.0, odd, 1e-12, 'x_0/t_0')
    count = sum(g.amplitude > 0 for g in gaits)
    name = 'amplitudes for 0.5 in 5: at least (Section 2.1)'
    yield beside(name, 2, count, 0.0, relation='at least')
