"""
A ball of 19 mm that rolls out in a valley of a bent track, filmed at 100 Hz.

The shape of the track is a polynomial through the places of the ball in the part that is fitted.
What of gravity accelerates the ball follows from its inertia factor: 2/5 of a ball on its equator,
more of one in a groove, which rolls on a smaller circle; then dry and viscous resistance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import casadi as ca
from evidence.reality.row import between, Found, Model, Row, Scalars, scalars
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.identification.identify import fitted, predictions
from rolling_dynamics.identification.log import log_of
from rolling_dynamics.identification.shooting import Shooting

REPOSITORY = 'krissrex/physics_rolling-ball-simulation'
LICENCE = 'none stated'
COMMIT = '2b299cb44c805caa21729b11cac978070c8d5816'
SHA256 = {
    'test_data/P1100902-data.csv': (
        '42eba200ef78edebe689713ed59c54cc7de111c638519959a1b00b9f408d5ed8'
    )
}
FITTED, HELD_OUT = (4.5, 14.5), (14.5, 24.5)  # s: ten swings each, the ball rests after 36 s
DEGREE, GRAVITY, SMOOTH = 6, 9.81, 5e-3  # of the polynomial; m/s^2; m/s over which dry one turns
BEGIN = np.array([[0.4, 0.01, 0.05]])
BOUNDS = np.array([0.3, 0.0, 0.0]), np.array([2.0, 0.1, 1.0])
BRAKED = 0.1119893  # 1/s: the authors' deceleration over speed, and of a flat track 5/7 g
AUTHORS = np.array([0.4, 0.0, 1.4 * BRAKED])
START = 0.05  # of the windows: what the start of a prediction follows from


def valley(shape: Array) -> Model:
    """
    Return a ball on a track whose height is a polynomial of its place, highest power first.

    Parameters are its inertia over mass and square of the rolling radius, dry resistance over
    the normal force, and the viscous one [1/s].
    """

    def rates(x: Scalars, _: Scalars, p: Scalars) -> Sequence[ca.SX]:
        (place, rate), (inertia, dry, viscous) = x, p
        height = ca.polyval(ca.DM(shape), place)
        slope = ca.gradient(height, place)
        bend = ca.gradient(slope, place)
        long = 1 + slope**2  # squared length of the way over dx
        along = rate * ca.sqrt(long)
        normal = (GRAVITY + bend * rate**2) / ca.sqrt(long)
        resisting = dry * normal * ca.tanh(along / SMOOTH) + viscous * along
        pull = -GRAVITY * slope - resisting * ca.sqrt(long)
        return rate, (pull / (1 + inertia) - slope * bend * rate**2) / long

    return Model(rates, scalars('place rate'), 'inertia dry viscous')


def found(_: Path, paths: Sequence[Path]) -> Iterator[Found]:
    """Yield factor and resistances; residuals [m], and those by the authors' resistance."""
    table = np.loadtxt(paths[0], delimiter=';', skiprows=2)
    begin, end = np.searchsorted(table[:, 0], FITTED)
    shape = np.polyfit(table[begin:end, 1], table[begin:end, 2], DEGREE)
    log, system = log_of(paths[0], ['place'], table[:, :2]), valley(shape)
    shooting = Shooting(system, 'moving', BEGIN[0], np.arange(3), ['place'])
    half = sum(FITTED) / 2
    windows = [between(log, FITTED[0], half), between(log, half, FITTED[1])]
    z = fitted(shooting, windows, np.zeros(2), BEGIN, BOUNDS)
    kept = [between(log, *HELD_OUT)]
    yield Found(z, *(predictions(shooting, kept, np.zeros(2), v, START) for v in (z, AUTHORS)))


ROWS = [
    Row(
        name='Ball in a valley of a track',
        unit='m',
        fitted='inertia factor, dry and viscous resistance, {:g} to {:g} s'.format(*FITTED),
        values=': {:.2f}, {:.4f} and {:.4f} 1/s',
        held_out='{:g} to {:g} s, its start from the first half second'.format(*HELD_OUT),
        published="the authors' resistance, proportional to the speed, in this model",
        lacks='the sides of the groove, and the lens of the camera',
    )
]
