"""
A ballbot of students, 92 Hz: lean, wheel angles and commanded torques (as fractions of the PWM).

In one plane, near upright: the lean and the angle of the ball accelerate by the lean, the torque,
and the rate of the wheels, whose motors brake. Six factors and two offsets are fitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import math
from pathlib import Path

import casadi as ca
from evidence.reality.row import Found, Model, Row, Scalars
import numpy as np
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.identification.identify import fitted, predictions
from rolling_dynamics.identification.log import Log, log_of
from rolling_dynamics.identification.shooting import Shooting, windows_of

REPOSITORY = 'brandmcd/rob311-ballbot'
LICENCE = 'none stated'
COMMIT = '56d16a6d796f6a3e4c214618f59ed380cbec2866'
SHA256 = {
    'main_control_1.txt': 'b2f8fb77e120815d8ccf7c37d1b597c63741283973f5709244c3ec4423e90bec',
}
UPRIGHT, SPLIT = (8.0, 52.0), 38.0  # s: it balances; before it is fitted, later is held out
WINDOW = 0.6  # s, of which the second half is predicted
WHEEL, BALL = 0.048, 0.121  # m, radii that the authors give
FACTORS = 'lean_lean lean_torque lean_rate lean_offset ball_lean ball_torque ball_rate ball_offset'
BEGIN = np.array([[10.0, -5.0, 0.5, 0.0, -20.0, 30.0, -5.0, 0.0]])
BOUNDS = np.array([0.0, -100, 0, -3, -200, 0, -50, -5]), np.array([60.0, 0, 50, 3, 0, 300, 0, 5])


SCALES = {'lean': 0.1, 'turned': 1.0, 'lean_rate': 0.5, 'turned_rate': 2.0}  # rad, rad/s


def _rates(x: Scalars, u: Scalars, p: Scalars) -> Sequence[ca.SX]:
    lean, _, lean_rate, rate = x
    by = ca.reshape(ca.vertcat(*p), 4, 2).T
    wheel = rate - lean_rate  # the wheels turn the ball against the body
    return lean_rate, rate, by @ ca.vertcat(lean, *u, wheel, 1)


def plane() -> Model:
    """Return a body that leans on a ball which it turns, near upright."""
    state = Layout(tuple(Entry(name, (name,), '', scale=s) for name, s in SCALES.items()))
    return Model(_rates, state, FACTORS, 'torque')


def read(path: Path) -> Log:
    """Return lean, angle of the ball, and torque of the plane of the roll."""
    table = np.genfromtxt(path, names=True)
    ball = math.sqrt(2 / 3) * WHEEL / BALL * (table['psi_2'] - table['psi_3'])
    columns = table['t_now'], np.radians(table['theta_x']), ball, table['Ty']
    return log_of(path, ['lean', 'turned'], np.column_stack(columns))


def found(_: Path, paths: Sequence[Path]) -> Iterator[Found]:
    """Yield factors, and residuals of lean and ball [rad]."""
    log = read(paths[0])
    shooting = Shooting(plane(), 'moving', BEGIN[0], np.arange(8), list(log.names))
    shooting.noise[:] = 0.005, 0.02
    windows = [
        w
        for w in windows_of(log, WINDOW, 1)
        if UPRIGHT[0] < w.times[0] and w.times[-1] < UPRIGHT[1]
    ]
    chosen = [w for w in windows if w.times[-1] < SPLIT]
    kept = [w for w in windows if w.times[0] >= SPLIT]
    z = fitted(shooting, chosen, np.zeros(4), BEGIN, BOUNDS)
    residuals = predictions(shooting, kept, np.zeros(4), z)
    for k in range(len(ROWS)):
        yield Found(z, residuals.entry(k))


ROWS = [
    Row(
        name=f'Ballbot rob311, {what}',
        unit='rad',
        fitted=f'six factors and two offsets, windows of {WINDOW:g} s to {SPLIT:g} s',
        held_out=f'second halves of windows of {WINDOW:g} s, {SPLIT:g} to {UPRIGHT[1]:g} s',
        lacks='the delay of the IMU in a closed loop: a lean that does not fall is found',
    )
    for what in ('lean', 'angle of the ball')
]
