"""
RoboBall II let go on the floor three times, with its pendulum measured (Oevermann et al. 2025).

Joint, floor and shell are identified on two trials; the third is predicted from where it begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from evidence.reality import roboball
from evidence.reality.row import between, fetched, Found, Row
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.identification.identify import fitted, predictions, Residuals
from rolling_dynamics.identification.log import Log, log_of
from rolling_dynamics.identification.shooting import Shooting
from transforms3d.quaternions import axangle2quat

REPOSITORY = 'mjoo-man/Drake_Based_Pendulum_Driven_Spherical_Robot'
LICENCE = 'MIT, Micah Oevermann 2025'
COMMIT = '3c40a110630f948e4686104b6e32e20cf0795158'
_TRIAL = 'ball_plant/data/steering_data/trimmed_20250429_{}.csv'
SHA256 = {  # the last one is held out
    _TRIAL.format('165825'): '2c44d60ce935d8295e70a960f2855e8a8a497d8ba43fc6c09337b2983932d9f9',
    _TRIAL.format('165853'): 'c81439a48077f3e791485f7286f100bab352a25e9575938c04837524f05bcbbd',
    _TRIAL.format('165914'): '07f7c63674cf90511c411014512599411f979e8c4e5c07a9d2b402e21dc3597f',
}
BEGIN = np.array([0.6, 0.3, 2e-3, 0.3, 50.0, 0.0, 0.1])  # a fit begins there
BOUNDS = np.array([0, 0, 0, 0, 0, -0.2, 0]), np.array([5, 5, 0.05, 10, 200, 0.2, 5.0])
MOVING = ('w_WS_S_x', 'pendulum_rate')
HYPOTHESES = (  # how a row says it, what is added, what of the start is fitted, on which part
    ('', ('', (), roboball.OPENING)),
    (', Stribeck', ('stribeck', (), roboball.OPENING)),
    (', free play', ('play', (), roboball.OPENING)),
    (', moving start', ('', MOVING, 0.05)),
)
LET_GO = -0.37  # rad, of the sphere
SHELL = np.array([4, 5])  # its torque and rest, among the parameters


def _trials(
    paths: Sequence[Path], added: str, free: Sequence[str], opening: float
) -> tuple[Array, Residuals]:
    """Return what joint, floor and shell resist with; residuals of the last trial."""
    system, windows = roboball.rolling_ball(added), []
    for path in paths:
        given = roboball.read(path, ('timestamp', 'ball_roll.position', 'roll_joint.position'))
        scaled = np.column_stack(
            [1e-9 * (given.times - given.times[0]), given.measured * [-roboball.RADIUS, 1.0]]
        )
        log = log_of(path, ['contact_y', 'pendulum'], scaled)
        windows.append(between(log, 0.0, float(log.times[-1])))
    fit, mode = np.arange(system.parameters.size), next(iter(system.modes))
    p, bounds = BEGIN[fit], (BOUNDS[0][fit], BOUNDS[1][fit])
    shooting = Shooting(system, mode, p, fit, ['contact_y', 'pendulum'], free=free)
    shooting.noise[0] = roboball.RADIUS
    x = system.state.pack(q_WS=axangle2quat([1, 0, 0], LET_GO))
    z = fitted(shooting, windows[:-1], x, p[None], bounds)
    return z, predictions(shooting, windows[-1:], x, z, opening)


def found(data: Path, paths: Sequence[Path]) -> Iterator[Found]:
    """Yield parameters, with residuals of sphere and pendulum by hypothesis, and let go [rad]."""
    fits = [_trials(paths, *tried) for _, tried in HYPOTHESES]
    for z, residuals in fits:
        yield Found(z, residuals.entry(0, 1 / roboball.RADIUS))
        yield Found(z, residuals.entry(1))
    other = fetched(data, roboball.REPOSITORY, roboball.SHA256)
    if other:
        log = roboball.released(other[1])
        yield _let_go(log, fits[0][0], np.arange(0))
        yield _let_go(log, fits[0][0], SHELL)


def _let_go(log: Log, p: Array, fit: NDArray[np.int_]) -> Found:
    """Return what the trials say, some of it fitted on the first part of another log instead."""
    shooting, x = roboball.let_go(p, fit, roboball.FREE if fit.size else ())
    z, opening, bounds = p.copy(), roboball.OPENING, (BOUNDS[0][fit], BOUNDS[1][fit])
    if fit.size:
        z[fit] = fitted(shooting, [between(log, *roboball.FITTED)], x, p[fit][None], bounds)
        opening = roboball.FITTED[1] / roboball.HELD_OUT[1]
    whole = [between(log, 0.0, roboball.HELD_OUT[1])]
    residuals = predictions(shooting, whole, x, z[fit], opening)
    return Found(z, residuals.entry(0, 1 / roboball.RADIUS))


_TRIAL_ROW = Row(
    name='RoboBall II, third trial',
    unit='rad',
    fitted='resistance of joint and floor, torque of the shell on two trials',
    values=': {0:.2f} N m dry, {1:.2f} N m s, {4:.0f} N m/rad',
    held_out=f'0 to {roboball.HELD_OUT[1]:g} s of the log let go on the floor',
    goal=roboball.GOAL,
    lacks='lumps and hysteresis of the shell, which end each trial at another angle',
)
ROWS = [
    *(
        replace(
            _TRIAL_ROW,
            name=f'{_TRIAL_ROW.name}, {what}{text}',
            values=_TRIAL_ROW.values + (', added {6:.2f}' if added else ''),
            held_out=f'the third trial, 4.3 s, from its first {4.3 * opening:.1f} s',
        )
        for text, (added, _, opening) in HYPOTHESES
        for what in ('sphere', 'pendulum')
    ),
    replace(
        _TRIAL_ROW,
        name='RoboBall II, let go, by these trials',
        lacks='where the pendulum starts, and another floor',
    ),
    replace(
        _TRIAL_ROW,
        name='RoboBall II, let go, by these trials but its shell',
        fitted=f'joint and floor on the trials, the shell to {roboball.FITTED[1]:g} s',
        held_out='{:g} to {:g} s of the log let go on the floor'.format(*roboball.HELD_OUT),
    ),
]
