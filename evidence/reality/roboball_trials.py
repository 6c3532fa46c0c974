"""
RoboBall II let go on the floor three times, with its pendulum measured (Oevermann et al. 2025).

Joint, floor and shell are identified on two trials; the third is predicted from where it begins.
"""

from __future__ import annotations

import math
from pathlib import Path

from evidence.reality.roboball import GOAL, OPENING, RADIUS, read, rolling_ball
from evidence.reality.row import between, fetched, judged, log_of, Row
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.identification.identify import fitted, predictions, Residuals
from rolling_dynamics.identification.shooting import Shooting

REPOSITORY = 'mjoo-man/Drake_Based_Pendulum_Driven_Spherical_Robot'
LICENCE = 'MIT, Micah Oevermann 2025'
COMMIT = '3c40a110630f948e4686104b6e32e20cf0795158'
_TRIAL = 'ball_plant/data/steering_data/trimmed_20250429_{}.csv'
SHA256 = {  # the last one is held out
    _TRIAL.format('165825'): '2c44d60ce935d8295e70a960f2855e8a8a497d8ba43fc6c09337b2983932d9f9',
    _TRIAL.format('165853'): 'c81439a48077f3e791485f7286f100bab352a25e9575938c04837524f05bcbbd',
    _TRIAL.format('165914'): '07f7c63674cf90511c411014512599411f979e8c4e5c07a9d2b402e21dc3597f',
}
BEGIN = np.array([0.6, 0.3, 2e-3, 0.3, 50.0, 0.0])  # a fit begins there
LET_GO = -0.37  # rad, of the sphere


def _trials(paths: list[Path]) -> tuple[Array, Residuals]:
    """Return what joint, floor and shell resist with; residuals of the last trial."""
    system, windows = rolling_ball(), []
    for path in paths:
        given = read(path, ('timestamp', 'ball_roll.position', 'roll_joint.position'))
        scaled = np.column_stack(
            [1e-9 * (given.times - given.times[0]), given.measured * [-RADIUS, 1.0]]
        )
        log = log_of(scaled, ['contact_y', 'pendulum'])
        windows.append(between(log, 0.0, float(log.times[-1])))
    shooting = Shooting(
        system, next(iter(system.modes)), BEGIN, np.arange(6), ['contact_y', 'pendulum'], free=()
    )
    shooting.noise[0] = RADIUS
    bounds = np.array([0, 0, 0, 0, 0, -0.2]), np.array([5, 5, 0.05, 10, 200, 0.2])
    half = LET_GO / 2
    x = system.state.pack(q_WS=[math.cos(half), math.sin(half), 0, 0])
    z = fitted(shooting, windows[:-1], x, BEGIN[None], bounds)
    return z, predictions(shooting, windows[-1:], x, z, OPENING)


def rows(data: Path | None) -> list[Row]:
    """Return a row for the sphere and one for the pendulum."""
    paths = fetched(data, REPOSITORY, SHA256)
    z, residuals = _trials(paths) if paths else (np.zeros(6), None)
    found = f': {z[0]:.2f} N m dry, {z[1]:.2f} N m s, {z[4]:.0f} N m/rad' if paths else ''
    return [
        Row(
            name=f'RoboBall II, third trial, {what}',
            unit='rad',
            fitted=f'resistance of joint and floor, torque of the shell on two trials{found}',
            held_out='the third trial, 4.3 s, from its first 0.1 s',
            goal=GOAL,
            lacks='lumps and hysteresis of the shell, which end each trial at another angle',
            **judged(residuals and residuals.entry(k, scale)),
        )
        for k, (what, scale) in enumerate((('sphere', 1 / RADIUS), ('pendulum', 1.0)))
    ]
