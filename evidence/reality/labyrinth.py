"""
A ball on the plate of a labyrinth rig without its walls, seen by a camera at 23 Hz.

Along each axis of the plate the ball accelerates by the tilt, and by five sevenths of what it is
thrown outward by as the plate turns; what resists it is dry and viscous. A gain of 5/7 g a rad is
that of a solid ball. The clock of the camera is regular, its stamps are not. The level of the
plate, by its markers, moves: each window has its own. A checksum is that of the numbers which are
read of a log: the part of it that is clear of the walls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import math
from pathlib import Path
from typing import NamedTuple

import casadi as ca
from evidence.reality.row import between, Found, Model, Row, Scalars, scalars
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.friction import against
from rolling_dynamics.identification.identify import fitted, predictions, Residuals
from rolling_dynamics.identification.log import Column, Log, read_columns
from rolling_dynamics.identification.shooting import Shooting, Window

REPOSITORY = 'dimikoumou/cyberrunner_basics_no_ros'
LICENCE = 'none stated; a checksum is that of the numbers that are read of a log'
COMMIT = 'adb1cbc7d6145fe8de20534da582e7218bbbfff8'
LOGS = {  # what is read of each [s], and its checksum: two are fitted, the last is held out
    '142924': (2.0, 5.31, '5460563b42540d2dd8a401416b7edd08fb3d8f9fd1bbbba001600377aaeb6be6'),
    '143807': (5.3, 8.71, '0c8b014986e5b312bca7759c51c20577edb1e80f625d69db171621cb51dd9cb5'),
    '143132': (2.7, 9.18, 'fb636cfb5feec58522dd4d0a38102dcbca0c7579071ce88a00cb2b020557c99a'),
}
SHA256 = {f'rl_hw/pd_logs/pd_20260926_{name}.csv': log[-1] for name, log in LOGS.items()}
COLUMNS = ('t', 'xb', 'yb', 'alpha', 'beta', 'ball_found')
WINDOW, SLOW = 1.6, 0.01  # s, of a fit; m/s over which dry resistance turns
NOISE, MOVES = 3e-4, 0.05  # m; m/s^2 by which the level of a window is elsewhere
GOALS = {0.26: 1.25e-3, 2.0: 3e-3}  # m, by the time that is predicted [s]
SOLID = 5 / 7
ROLLING = SOLID * 9.81  # m/s^2 a rad
BEGIN = np.array([ROLLING, ROLLING, 0.04, -0.02, 0.3, 0.05])
BOUNDS = np.array([3.0, 3.0, -0.1, -0.1, 0.0, 0.0]), np.array([12.0, 12.0, 0.15, 0.15, 5.0, 1.0])


class Try(NamedTuple):
    """
    A reading of the logs, a fit and a prediction.

    What is predicted, from what before it [s]; when an angle acts, from its row on (0) to before
    it (1); heights of the axes over the ball [m]; whether stamps of rows are believed, the plate's
    turning throws, and how far the level moves [m/s^2]; which parameters are fitted.
    """

    name: str
    ahead: float = 0.26
    observed: float = 0.26
    late: float = 0.5
    heights: tuple[float, float] = (0.0, 0.0)
    stamped: bool = False
    throws: float = 1.0
    moves: float = MOVES
    fitted: tuple[int, ...] = (0, 1, 2, 3, 4, 5)


FLAT = (2, 3, 4, 5)
PLAIN = Try('0.26 s'), Try('2 s', ahead=2.0, observed=1.2)
EXPLANATIONS = (
    Try('nothing thrown outward', throws=0.0),
    Try('one level in all windows', moves=0.0),
    PLAIN[1]._replace(name='one level, 2 s', moves=0.0),
    Try('stamps of the rows', stamped=True),
    Try('axes 9 and 4.5 mm over the ball', heights=(9e-3, 4.5e-3)),
    Try('angles half a row later', late=0.0),
    Try('angles half a row earlier', late=1.0),
    Try('viscous resistance alone', fitted=(0, 1, 2, 3, 4)),
)
TRIES = PLAIN + EXPLANATIONS


def _rates(x: Scalars, u: Scalars, p: Scalars) -> Sequence[ca.SX]:
    """Return rates at angles [rad] and their rates; parameters as those of the plate."""
    (x, y, *v), (alpha, beta, *turns) = x, u
    gain_x, gain_y, level_x, level_y, viscous, dry, throws = p
    out = turns[1] * (x * turns[1] - y * turns[0]), turns[0] * (y * turns[0] - x * turns[1])
    pull = gain_x * ca.sin(beta - level_x), -gain_y * ca.sin(alpha - level_y)
    resisted = dry * against(ca.vertcat(*v), SLOW) - viscous * ca.vertcat(*v)
    return *v, ca.vertcat(*pull) + SOLID * throws * ca.vertcat(*out) + resisted


def plate() -> Model:
    """Return a ball on a plate, places [m] and their rates along its axes."""
    parameters = 'gain_x gain_y level_x level_y viscous dry throws'
    return Model(
        _rates, scalars('x y x_rate y_rate'), parameters, 'alpha beta alpha_rate beta_rate'
    )


def _evaluated(path: Path) -> tuple[Array, Array, Array, NDArray[np.int_]]:
    """Return times, places of the ball where it was seen, angles, and lines of what is read."""
    table, lines = read_columns(path, [Column(name=name) for name in COLUMNS])
    begin, end, _ = LOGS[path.stem[-6:]]
    inside = (table[:, 0] >= begin) & (table[:, 0] < end)
    times, x, y, alpha, beta, visible = table[inside].T
    places = np.column_stack([x, y])
    places[visible == 0] = np.nan
    return times, places, np.column_stack([alpha, beta]), lines[inside]


def evaluated(path: Path) -> bytes:
    """Return the numbers that are read of a log."""
    times, places, angles, _ = _evaluated(path)
    return times.tobytes() + places.tobytes() + angles.tobytes()


def _on_clock(times: Array) -> Array:
    """Return the times of a regular clock that missed rows, by irregular stamps of its rows."""
    apart = np.diff(times)
    ticks = np.append(0, np.cumsum(np.round(apart / np.median(apart))))
    return np.asarray(np.polyval(np.polyfit(ticks, times, 1), ticks))


def read(path: Path, tried: Try) -> Log:
    """Return places of the ball, and angles between rows with their rates."""
    t, places, angles, lines = _evaluated(path)
    t = t if tried.stamped else _on_clock(t)
    places = places - np.array(tried.heights) * angles[:, ::-1] * [1, -1]
    moved = np.diff(angles, axis=0, append=angles[-1:])
    u = np.column_stack([angles + tried.late * moved, moved / np.append(np.diff(t), 1)[:, None]])
    return Log(times=t, lines=lines, names=['x', 'y'], measured=places, controls=u)


def _windows(log: Log, begin: float, end: float, length: float) -> list[Window]:
    return [between(log, t, t + length) for t in np.arange(begin, end - length, length)]


def _fit(paths: Sequence[Path], tried: Try) -> tuple[Array, Residuals]:
    """Return parameters, and residuals [m] of their predictions."""
    parts = [(read(p, tried), *log[:2]) for p, log in zip(paths, LOGS.values(), strict=True)]
    still, fit = np.zeros(4), np.array(tried.fitted)
    p, moves = np.array([ROLLING, ROLLING, 0, 0, 0, 0, tried.throws]), ('x_rate', 'y_rate')
    lacking = dict.fromkeys(moves, tried.moves) if tried.moves else None
    shooting = Shooting(plate(), 'moving', p, fit, ['x', 'y'], lacking=lacking)
    shooting.noise[:] = NOISE
    chosen = [w for part in parts[:-1] for w in _windows(*part, WINDOW)]
    z = fitted(shooting, chosen, still, BEGIN[fit][None], (BOUNDS[0][fit], BOUNDS[1][fit]))
    p[fit] = z
    length = tried.observed + tried.ahead
    kept = _windows(*parts[-1], length)
    return p, predictions(shooting, kept, still, z, tried.observed / length)


def found(_: Path, paths: Sequence[Path]) -> Iterator[Found]:
    """Yield gains, resistances and the noise of angles [mrad], with residuals [m]."""
    angles = [_evaluated(path)[2] for path in paths]
    noise = [1e3 * np.diff(u, 4, axis=0).std(axis=0) / math.sqrt(70) for u in angles]
    fits = {tried: _fit(paths, tried) for tried in TRIES}
    plain = {tried.ahead: fits[tried][1] for tried in PLAIN}
    for tried, (p, ours) in fits.items():
        flat = tried._replace(fitted=FLAT)
        rival = plain[tried.ahead] if tried in EXPLANATIONS else _fit(paths, flat)[1]
        yield Found([*p[[0, 1, 4, 5]], np.min(noise), np.max(noise)], ours, rival)


ROWS = [
    Row(
        name=f'Labyrinth rig, {tried.name}',
        unit='m',
        fitted='gains, level, resistance on seconds of two logs',
        values=': {:.2f} and {:.2f} m/s^2 a rad, resistance {:.2f} 1/s and {:.3f} m/s^2, angles '
        'with a noise of {:.1f} to {:.1f} mrad by fourth differences',
        held_out='{:g} to {:g} s of a third log'.format(*LOGS['143132']),
        published='the first rows' if tried in EXPLANATIONS else '5/7 g a rad, the rest fitted',
        goal=GOALS[tried.ahead],
        lacks='' if tried in EXPLANATIONS else 'how the level moves: a mrad of it is 14 mm in 2 s',
    )
    for tried in TRIES
]
