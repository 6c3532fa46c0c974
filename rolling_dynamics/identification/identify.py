"""Identification of uncertain parameters from a log of motion, with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import offers, StartMode
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.identification.log import Log
from rolling_dynamics.identification.shooting import projected, Shooting, Window, windows_of
from rolling_dynamics.scenario import Scenario
from scipy.optimize import least_squares
from scipy.stats import t as student


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A parameter: value, unit, half width of its 95 % interval, or why it has none."""

    value: float
    unit: str
    half_width: float | None
    text: str = ''

    def line(self, name: str) -> str:
        """Return a line of a table."""
        half = '' if self.half_width is None else f'+- {self.half_width:<9.2g}'
        return f'{name:20} {self.value:12.6g} {half:12} {self.unit:14} {self.text}'.rstrip()


def jackknife(J: Array, r: Array, group: NDArray[np.intp], prior: Array) -> Array:
    """
    Return the covariance of fitted parameters.

    It is the change of the parameters when a group of residuals is left out, in one step, summed
    over groups (jackknife, HC3 of MacKinnon and White 1985). Errors of the model have one
    direction within a group.

    Parameters
    ----------
    J, r
        Derivatives (k, n) and residuals (k,), scaled so that their noise has unit variance.
    group
        Group of each residual, from 0 on, shape (k,).
    prior
        Derivatives of prior information on the parameters, scaled likewise, shape (j, n).

    """
    information = J.T @ J + prior.T @ prior
    inverse = np.linalg.pinv(information)
    out = inverse @ (prior.T @ prior) @ inverse
    for k in range(int(group.max()) + 1):
        mine, off = J[group == k], r[group == k]
        moved = np.linalg.pinv(information - mine.T @ mine) @ (mine.T @ off)
        out += np.outer(moved, moved)
    return np.asarray(out)


CONFIDENCE = 0.95
DEAD_TIME = 'dead_time'  # of the control, [s]; fitted as if it were a parameter
FEWEST = 4  # windows
UNDETERMINED = 0.25  # half width over the width of the bounds
ALIKE = 0.95  # correlation at which two parameters cannot be distinguished
EXPLAINED = 0.2  # fraction of the variance: below, nothing is determined
OBSERVED = 0.5  # fraction of a window from which the start of a prediction is estimated
RATED = 5  # rows from which the baseline takes its constant velocity
MOST = 25  # evaluations of a fit
CELLS = 3  # along each measured component, of windows between rests
INSIDE = 0.01  # of the width of the bounds: distance of an initial value from them


@dataclass(frozen=True, kw_only=True)
class Errors:
    """
    Errors of a measured component.

    Attributes
    ----------
    residual, explained
        Root mean square over the fitted windows, and the fraction of the variance explained.
    predicted, baseline
        Root mean square over the second halves of the windows held out, with the start estimated
        from the first halves: for the model, and for a constant last velocity.

    """

    residual: float
    explained: float
    predicted: float
    baseline: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Found:
    """
    Result of an identification.

    Attributes
    ----------
    log
        The log.
    estimates
        Parameters by name.
    correlated
        Pairs that cannot be distinguished, and their correlation.
    errors
        Errors of each measured component.
    windows, held_out
        Numbers of windows that were fitted and held out.
    times, residuals, states
        Times [s] (k,), residuals (k, m) and measured components of the model in fitted windows.
    left
        Windows in which a guard of the mode is negative, by guard.
    p
        Parameters of the system, shape (parameters.size,).

    """

    log: Log
    estimates: Mapping[str, Estimate]
    correlated: Sequence[tuple[str, str, float]]
    errors: Mapping[str, Errors]
    windows: int
    held_out: int
    times: Array
    residuals: Array
    states: Array
    left: Mapping[str, int]
    p: Array

    @property
    def explains(self) -> bool:
        """True if the model explains any part of the log."""
        return any(e.explained >= EXPLAINED for e in self.errors.values())

    @property
    def complete(self) -> bool:
        """True if every parameter was determined."""
        return self.explains and all(e.half_width is not None for e in self.estimates.values())


def identify(
    scenario: Scenario,
    log: Log,
    bounds: Mapping[str, tuple[float, float]],
    length: float,
    held_out: float = 0.25,
    lacking: Mapping[str, float] | None = None,
) -> Found:
    """
    Return the uncertain parameters of a scenario.

    Parameters
    ----------
    scenario
        System, initial parameters, mode, and the control if the log has none.
    log
        Log of a motion in one mode.
    bounds
        Bounds of the parameters to fit.
    length
        Length of a window [s].
    held_out
        Fraction of the windows, at the end, that are predicted instead of fitted.
    lacking
        Standard deviation of the unmodelled rate in a window, by component of the state [unit/s].

    Raises
    ------
    ParameterError
        A parameter is unknown, its value is outside of its bounds, or there are too few windows.

    """
    system = scenario.system
    dead_time = max((a.dead_time for a in scenario.actuators), default=0.0)
    initial = np.concatenate([scenario.p, [dead_time], np.zeros(system.control.size)])
    low, high, fitted = _bounds(scenario, bounds, initial)
    if system.parameters.size in fitted and log.controls is None:
        raise ParameterError(
            f'{log.place()}: uncertain: {DEAD_TIME}: there is no control to delay'
        )
    windows = windows_of(log, length, system.control.size)
    apart = round(held_out * len(windows))
    if len(windows) - apart < FEWEST:
        raise ParameterError(
            f'{log.place()}: {len(windows)} windows of {length:g} s without a gap, {apart} held '
            f'out: at least {FEWEST} are fitted; choose a shorter --window, or a longer log'
        )
    chosen, kept = windows[: len(windows) - apart], windows[len(windows) - apart :]
    law = scenario.control.function if log.controls is None else None
    starts, still = offers(system, StartMode), np.zeros(system.control.size)
    mode = scenario.mode or next(iter(system.modes))
    if starts is not None and scenario.mode is None:
        mode = starts.begin(scenario.p, scenario.x0, still, 0.0).mode
    names = list(log.names)
    shooting = Shooting(system, mode, scenario.p, fitted, names, law, log=log, lacking=lacking)
    measured = np.vstack([w.measured for w in chosen])
    shooting.noise = np.maximum(np.nanstd(measured, axis=0), 1e-12)
    fit = _Fit(shooting, chosen, low, high, apart=log.still is None)
    fit.starts = shooting.starts(chosen, scenario.x0, initial[fitted])
    z = (initial[fitted] - low) / (high - low)
    for tolerance in (1e-4, 1e-7):
        z = fit.solve(z, tolerance)
        if fit.weigh(z):
            break  # nothing is explained, nothing to refine
    named = {c: e.unit for e in _fitted(scenario).entries for c in (e.name, *e.components)}
    estimates, correlated = fit.estimates(z, bounds, [named[name] for name in bounds])
    values = low + z * (high - low)
    initial[fitted] = values
    p = initial[: scenario.p.size]
    predicted = predictions(shooting, kept or chosen, scenario.x0, values).errors
    times, residuals, states, whole = fit.over_time(z)
    return Found(
        log=log,
        estimates=estimates,
        correlated=correlated,
        errors=_errors(log.names, residuals, _scatter(chosen), predicted),
        windows=len(chosen),
        held_out=len(kept),
        times=times,
        residuals=residuals,
        states=states,
        left=_left(scenario, mode, chosen, whole, p),
        p=p,
    )


def _errors(
    names: Sequence[str], residuals: Array, scatter: Array, predicted: Array
) -> dict[str, Errors]:
    """Return the errors of each measured component."""
    squares = np.nanmean(residuals**2, axis=0)
    return {
        name: Errors(
            residual=float(np.sqrt(squares[k])),
            explained=float(1 - squares[k] / max(scatter[k], 1e-300)),
            predicted=float(predicted[0, k]),
            baseline=float(predicted[1, k]),
        )
        for k, name in enumerate(names)
    }


def _bounds(
    scenario: Scenario, bounds: Mapping[str, tuple[float, float]], initial: Array
) -> tuple[Array, Array, NDArray[np.int_]]:
    layout = _fitted(scenario)
    if not bounds:
        raise ParameterError(
            'no parameter is uncertain: mark some by the entry `uncertain` of the scenario, or '
            f'by --fit NAME=LOW:HIGH, of {", ".join(layout.names)}'
        )
    where = []
    for name, (low, high) in bounds.items():
        k = layout.index(name, 'uncertain: no parameter')
        if k.size != 1:
            names = ', '.join(layout.names[j] for j in k)
            raise ParameterError(f'uncertain: {name} has {k.size} numbers; name one of {names}')
        value = float(initial[k[0]])
        if not low < high or not low <= value <= high:
            raise ParameterError(
                f'uncertain: {name}: bounds low < high around its value {value:g} are needed, '
                f'got {low:g} to {high:g}'
            )
        where.append(int(k[0]))
    low, high = np.array(list(bounds.values()), dtype=float).T
    return low, high, np.array(where)


def _fitted(scenario: Scenario) -> Layout:
    """Return the layout of values to fit: parameters, dead time, and offsets of the control."""
    system, dead_time = scenario.system, Entry(DEAD_TIME, (DEAD_TIME,), 's')
    return Layout((*system.parameters.entries, dead_time, *system.control.entries))


def _scatter(windows: Sequence[Window]) -> Array:
    """Return the variance of the measurements within windows, shape (m,)."""
    off = np.vstack([w.measured - np.nanmean(w.measured, axis=0) for w in windows])
    return np.asarray(np.nanmean(off**2, axis=0))


def _motions(windows: Sequence[Window]) -> NDArray[np.intp]:
    """Return groups of consecutive windows without a rest."""
    first, last = (np.array([getattr(w, end) for w in windows]) for end in ('first', 'last'))
    return np.cumsum(np.append(True, first[1:] != last[:-1])) - 1


def _places(windows: Sequence[Window]) -> NDArray[np.intp]:
    """Return groups of nearby windows, where errors of a model have one direction."""
    middle = np.array([np.nanmean(w.measured, axis=0) for w in windows])
    low, width = middle.min(axis=0), np.ptp(middle, axis=0)
    cells = np.minimum((CELLS * (middle - low) / width).astype(int), CELLS - 1)
    return np.unique(cells, axis=0, return_inverse=True)[1].ravel()


class _Fit:
    """Least squares of the parameters, in units of the width of their bounds."""

    def __init__(
        self,
        shooting: Shooting,
        windows: list[Window],
        low: Array,
        high: Array,
        *,
        apart: bool = True,
    ) -> None:
        self.shooting, self.windows, self.low, self.high = shooting, windows, low, high
        self.starts = np.empty((len(windows), 0))
        self.groups = [np.arange(len(windows))] if apart else [_motions(windows), _places(windows)]
        self.endless: list[str] = []  # windows of a motion that is not finite
        self._known: tuple[bytes, Array, Array] | None = None

    def rows(self, z: Array) -> tuple[Array, Array]:
        """Return residuals and projected derivatives; the last result is cached."""
        if self._known is None or self._known[0] != z.tobytes():
            self.shooting.renew()
            values, shots = self.low + z * (self.high - self.low), []
            for k, window in enumerate(self.windows):
                start, shot = self.shooting.settled(window, self.starts[k], values)
                if np.isfinite(shot.residuals).all():
                    self.starts[k] = start
                shots.append(shot)
            r = np.concatenate([shot.residuals for shot in shots])
            width = self.high - self.low
            pairs = zip(self.windows, shots, strict=True)
            self.endless = [w.place for w, s in pairs if not np.isfinite(s.residuals).all()]
            none = [np.zeros((r.size, z.size))]
            J = none if self.endless else [projected(s) * width for s in shots]
            self._known = z.tobytes(), r, np.vstack(J)
            sizes = [shot.residuals.size for shot in shots]
            self._groups = [np.repeat(group, sizes) for group in self.groups]
        return self._known[1:]

    def solve(self, z: Array, tolerance: float) -> Array:
        """Return the least-squares parameters."""
        self._known, z = None, np.clip(z, INSIDE, 1 - INSIDE)
        self.rows(z)
        if self.endless:
            raise ParameterError(
                f'{self.endless[0]}: the motion from the measured start is not finite with the '
                'parameters of the scenario: check units and signs of the columns, or choose a '
                'shorter --window'
            )
        found = least_squares(
            lambda z: self.rows(z)[0],
            z,
            jac=lambda z: self.rows(z)[1],
            bounds=(0.0, 1.0),
            x_scale='jac',
            ftol=tolerance,
            xtol=tolerance,
            max_nfev=MOST,
        )
        return np.asarray(found.x)

    def weigh(self, z: Array) -> bool:
        """Set the noise from mean squares of residuals; return whether nothing is explained."""
        _, off, _, _ = self.over_time(z)
        squares, scatter = np.nanmean(off**2, axis=0), _scatter(self.windows)
        self.shooting.noise = np.maximum(np.sqrt(squares), 1e-12)
        self._known = None
        return bool(np.all(squares > (1 - EXPLAINED) * scatter))

    def over_time(self, z: Array) -> tuple[Array, Array, Array, list[Array]]:
        """Return times, residuals, states measured, and whole states of each window."""
        values, index = self.low + z * (self.high - self.low), self.shooting.index
        off, states, whole = [], [], []
        for window, start in zip(self.windows, self.starts, strict=True):
            _, shot = self.shooting.settled(window, start, values)
            off.append(shot.table() * self.shooting.noise)
            states.append(shot.states[:, index])
            whole.append(shot.states)
        times = np.concatenate([w.times for w in self.windows])
        return times, np.vstack(off), np.vstack(states), whole

    def estimates(
        self, z: Array, bounds: Mapping[str, tuple[float, float]], units: Sequence[str]
    ) -> tuple[dict[str, Estimate], list[tuple[str, str, float]]]:
        """Return parameters with their intervals, and pairs that cannot be distinguished."""
        r, J = self.rows(z)
        # prior from the bounds: a direction that the log does not determine keeps their width
        covariances = [jackknife(J, r, group, np.eye(z.size)) for group in self._groups]
        many = [student.ppf((1 + CONFIDENCE) / 2, group.max()) for group in self.groups]
        spreads = np.sqrt([np.diag(covariance) for covariance in covariances])
        widest = (np.array(many)[:, None] * spreads).max(axis=0)
        out = {}
        for k, (name, unit) in enumerate(zip(bounds, units, strict=True)):
            half, width = widest[k], self.high[k] - self.low[k]
            text = ''
            if half > UNDETERMINED:
                text = f'not determined by this log within {self.low[k]:g} to {self.high[k]:g}'
            elif min(z[k], 1 - z[k]) < 1e-6:
                text = f'at the end of its bounds {self.low[k]:g} to {self.high[k]:g}: widen them'
            out[name] = Estimate(
                value=float(self.low[k] + z[k] * width),
                unit=unit,
                half_width=None if text else float(half * width),
                text=text,
            )
        related = covariances[0] / np.outer(spreads[0], spreads[0])
        names = list(bounds)
        pairs = [
            (names[a], names[b], float(related[a, b]))
            for b in range(len(names))
            for a in range(b)
            if abs(related[a, b]) > ALIKE
        ]
        return out, pairs


def fitted(
    shooting: Shooting, windows: list[Window], x0: Array, tries: Array, bounds: tuple[Array, Array]
) -> Array:
    """Return least-squares parameters (q,), the best of those from starts (k, q)."""
    low, width = bounds[0], bounds[1] - bounds[0]
    fit, found = _Fit(shooting, windows, *bounds), []
    for values in tries:
        fit.starts = shooting.starts(windows, x0, values)
        z = fit.solve((values - low) / width, 1e-7)
        found.append((float(np.sum(fit.rows(z)[0] ** 2)), low + width * z))
    return np.asarray(min(found, key=lambda pair: pair[0])[1])


class Residuals(NamedTuple):
    """
    Errors of predictions over time.

    Attributes
    ----------
    times
        Times of predicted rows [s], NaN after each window; shape (k,).
    off
        Predicted minus measured values, of model and baseline, shape (k, 2, m).

    """

    times: Array
    off: Array

    @property
    def errors(self) -> Array:
        """Root mean squares of model and baseline [unit of the column], shape (2, m)."""
        return np.asarray(np.sqrt(np.nanmean(self.off**2, axis=0)))

    def entry(self, k: int, scale: float = 1.0) -> Residuals:
        """Return the errors of one measured entry, in another unit."""
        return Residuals(self.times, scale * self.off[:, :, k : k + 1])


def predictions(
    shooting: Shooting,
    windows: Sequence[Window],
    x0: Array,
    values: Array,
    observed: float = OBSERVED,
) -> Residuals:
    """
    Return errors of predictions, of model and baseline.

    The start is estimated from the first part of each window, the rest is predicted. The baseline
    keeps the velocity of a straight line through the last rows of the first part.

    Parameters
    ----------
    shooting, windows
        Motions and windows.
    x0
        Initial state.
    values
        Fitted parameters.
    observed
        Fraction of a window that is used as its first part.

    """
    times: list[Array] = []
    both: list[Array] = []
    for window in windows:
        rows = max(round(observed * len(window.times)), 2)
        start = shooting.starts([window.until(rows)], x0, values)[0]
        shot = shooting.shot(window, start, values)
        table = shot.table()
        last = slice(max(rows - RATED, 0), rows)
        after = window.times - window.times[rows - 1]
        lines = [_line(after[last], y) for y in window.measured[last].T]
        held = np.array([a + b * after for a, b in lines]).T - window.measured
        held = np.where(shooting.angles, np.arctan2(np.sin(held), np.cos(held)), held)
        off = np.stack([table[rows:] * shooting.noise, held[rows:]], axis=1)
        times.append(np.append(window.times[rows:], np.nan))
        both.append(np.concatenate([off, np.full_like(off[:1], np.nan)]))
    return Residuals(np.concatenate(times), np.concatenate(both))


def _line(t: Array, y: Array) -> tuple[float, float]:
    known = np.isfinite(y)
    if known.sum() < 2:
        return float(np.nanmean(y)) if known.any() else 0.0, 0.0
    slope, at = np.polyfit(t[known], y[known], 1)
    return float(at), float(slope)


def _left(
    scenario: Scenario, mode: str, windows: Sequence[Window], states: Sequence[Array], p: Array
) -> dict[str, int]:
    """Return the number of windows in which the fitted motion leaves the mode, by guard."""
    out: dict[str, int] = {}
    for name, guard in scenario.system.modes[mode].guards.items():
        for window, x in zip(windows, states, strict=True):
            held = np.vstack([window.controls, window.controls[-1:]])
            margins = np.asarray(
                guard.map(len(x))(x.T, held.T, window.times, np.tile(p[:, None], len(x)))
            )
            out[name] = out.get(name, 0) + bool(margins.min() < 0)
    return {name: count for name, count in out.items() if count}
