"""
Motions over windows of a log, and their derivatives by start and parameters.

Each window has its own start, which follows from the window alone. For given parameters it results
from Gauss-Newton steps, and its effect is projected out of the derivatives (variable projection,
Golub and Pereyra 1973).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
import math
from typing import NamedTuple, Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.capabilities import offers
from rolling_dynamics.contract.rolling_system import RollingSystem, tangent_steps, WrittenSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.identification.log import Log, stretches
from rolling_dynamics.simulation.stepper import step_of_order_4

LONGEST = 0.01  # s, of a step of Runge-Kutta
SHORT = 0.0045  # s, if servos follow the control
BEGINNING, LATER, HALVINGS = 15, 4, 5  # Gauss-Newton steps of the start of a window
ENOUGH = 1e-9  # relative decrease of the cost at which they stop
POOR = 0.1  # mean square of scaled residuals over which another start is tried
FEWEST = 4  # rows after the first, of a window between rests
RANK = 1e-9  # of singular values: directions of a start that the log does not determine


class FollowsCommands(Protocol):
    """Has states that depend on the commands alone and forget their initial values."""

    @property
    def follows(self) -> tuple[str, ...]:
        """Components of the state, as of servos at commanded angles."""


@dataclass(frozen=True, eq=False)
class Window:
    """
    A segment of a log.

    Attributes
    ----------
    log
        The log.
    first, last
        First and last row.
    size
        Size of a control.

    """

    log: Log
    first: int
    last: int
    size: int

    @property
    def times(self) -> Array:
        """Times of its rows [s], shape (N,)."""
        return self.log.times[self.first : self.last + 1]

    @property
    def measured(self) -> Array:
        """Measured components [SI], shape (N, m)."""
        return self.log.measured[self.first : self.last + 1]

    @property
    def controls(self) -> Array:
        """Controls in force from each row to the next, shape (N - 1, nu)."""
        given = self.log.controls
        none = np.zeros((self.last - self.first, self.size))
        return none if given is None else given[self.first : self.last]

    @property
    def place(self) -> str:
        """File and lines."""
        return self.log.place(self.first, self.last)

    def until(self, rows: int) -> Window:
        """Return its first rows."""
        return replace(self, last=self.first + rows - 1)


class Shot(NamedTuple):
    """
    Residuals (k,), derivatives by start (k, m) and parameters (k, q), rows, states (N, n).

    Residuals of the measurements come first, then those of the unmodelled rates.
    """

    residuals: Array
    by_start: Array
    by_parameters: Array
    where: NDArray[np.bool_]
    states: Array

    def table(self) -> Array:
        """Return residuals of the measurements [1], (N, m), NaN where there is none."""
        out = np.full(self.where.shape, np.nan)
        out[self.where] = self.residuals[: np.count_nonzero(self.where)]
        return out

    @property
    def cost(self) -> float:
        """Sum of squares; infinite if the motion is not finite."""
        with np.errstate(over='ignore', invalid='ignore'):
            found = float(self.residuals @ self.residuals)
        return found if math.isfinite(found) else math.inf


def windows_of(log: Log, length: float, controls: int) -> list[Window]:
    """
    Return windows of a length [s], one after the other; none spans a gap.

    Raises
    ------
    ParameterError
        No window fits between gaps, or between two rows.

    """
    apart = float(np.median(np.diff(log.times))) if len(log.times) > 1 else length
    if apart > length:
        raise ParameterError(
            f'{log.place()}: the rows are {apart:.3g} s apart, more than a --window of '
            f'{length:g} s: map a time in other units by a `scale`, or choose a longer --window'
        )
    rows = max(round(length / apart), 1)
    cuts = [
        pair
        for first, last in stretches(log)
        for pair in pairwise(
            range(first, last + 1, rows) if log.still is None else _pieces(first, last, rows)
        )
    ]
    out = [
        Window(log, a, b, controls)
        for a, b in cuts
        if np.isfinite(log.measured[a : b + 1]).sum() > (b - a) / 2
    ]
    if not out:
        most, ends = max((float(np.ptp(log.times[list(e)])), e) for e in stretches(log))
        raise ParameterError(
            f'{log.place(*ends)}: {most:.3g} s, the longest part without a gap or rest, has no '
            f'window of {length:g} s: choose a shorter --window'
        )
    return out


def _pieces(first: int, last: int, rows: int) -> list[int]:
    """Return where to cut a motion between rests into equal parts of about so many rows."""
    if last - first < FEWEST:
        return []
    parts = max(round((last - first) / rows), 1)
    return [round(k) for k in np.linspace(first, last, parts + 1).tolist()]


class Shooting:
    """Motions of a system from starts of windows, compared with measurements."""

    def __init__(
        self,
        system: RollingSystem | WrittenSystem,
        mode: str,
        p: Array,
        fitted: NDArray[np.int_],
        names: list[str],
        law: ca.Function | None = None,
        free: Sequence[str] | None = None,
        log: Log | None = None,
        lacking: Mapping[str, float] | None = None,
    ) -> None:
        """
        Prepare the derivatives.

        Parameters
        ----------
        system, mode, p
            The system, its mode of motion, and its parameters.
        fitted
            Indices of the fitted parameters in p; beyond its end, the dead time of the control
            [s], then the offset of each of its components.
        names
            Measured components of the state.
        law
            ``(x, t) -> u`` if the log has no control, else None.
        free
            Components of the tangent that are fitted at the start of a window; None for all.
        log
            Whole log, for dead time and for states that depend on the controls alone
            (:attr:`Servo.follows`), which have no start in each window; None without either.
        lacking
            Standard deviation of an unmodelled constant rate in each window, fitted with its
            start, by component of the state [unit/s].

        """
        self.system, self.p, self.fitted = system, np.array(p), fitted
        self.index = np.array([system.state.index(n)[0] for n in names])
        kinds = {c: e.kind for e in system.state.entries for c in e.components}
        self.angles = np.array([kinds[n] == 'angle' for n in names])
        self.noise = np.ones(len(names))
        scales = [e.scale for e in system.tangent.entries for _ in e.components]
        self.scale = np.array(scales)
        if free is not None:
            self.scale[[name not in free for name in system.tangent.names]] = 0.0
        given, follows = None if log is None else log.controls, tuple[str, ...]()
        if log is None or given is None:
            self._commands = np.zeros(1), np.zeros((1, system.control.size))
        else:
            own = offers(system, FollowsCommands)
            self._commands, follows = (log.times, given), () if own is None else own.follows
        self.follows = np.array([system.state.index(n)[0] for n in follows], dtype=int)
        self.scale[[name in follows for name in system.tangent.names]] = 0.0
        self._followed: tuple[bytes, Array, Array] = b'', np.empty(0), np.empty(0)
        self.late = np.flatnonzero(fitted == len(p))
        self.longest = SHORT if self.follows.size else LONGEST
        self.free = np.flatnonzero(self.scale)
        self.spread = np.array(list((lacking or {}).values()))
        self.lacking = np.array([system.state.index(n)[0] for n in lacking or {}], dtype=int)
        step, follow, self._tangent = self._equations(mode, law)
        self._step, self._follow = (FastFunction(f) for f in compiled(step, follow))

    def renew(self) -> None:
        """Switch to machine code if it is ready."""
        for f in (self._step, self._follow):
            f.renew()

    def _equations(self, mode: str, law: ca.Function | None) -> tuple[ca.Function, ...]:
        """Return a step, a step under the control alone, and the basis of the tangent."""
        system = self.system
        n, q = system.state.size, self.fitted.size
        f = system.modes[mode].dynamics
        x, z, t = ca.SX.sym('x', n), ca.SX.sym('z', q), ca.SX.sym('t')
        lacked = ca.SX.sym('lacked', self.lacking.size)
        u, before = (ca.SX.sym(name, system.control.size) for name in ('u', 'before'))
        beyond = ca.vertcat(self.p, ca.SX.zeros(1 + u.numel()))
        for k, where in enumerate(self.fitted.tolist()):
            beyond[where] = z[k]
        p, _, added = ca.vertsplit(beyond, [0, self.p.size, self.p.size + 1, beyond.numel()])

        def rate(x: ca.SX, t: ca.SX, u: ca.SX = u) -> ca.SX:
            out = ca.densify(f(x, (u if law is None else law(x, t)) + added, t, p))
            out[self.lacking.tolist()] += lacked
            return out

        def step(name: str, rows: list[int], columns: int) -> ca.Function:
            """Return a step of rows of the state with derivatives, those by parameters last."""
            inside = ca.SX.sym('x', len(rows))

            def part(y: ca.SX, t: ca.SX, u: ca.SX = u) -> ca.SX:
                whole = ca.SX.zeros(n)
                whole[rows] = y
                return rate(whole, t, u)[rows]

            h = ca.SX.sym('h')
            at = t, t + h / 2, t + h
            _, after = step_of_order_4(lambda y, k: part(y, at[k]), inside, h)
            S = ca.SX.sym('S', len(rows), columns + q)
            switched = ca.SX(S)
            for k in self.late.tolist():  # longer dead time: the previous control acts longer
                switched[:, columns + k] += part(inside, t, before) - part(inside, t)
            moved = ca.jacobian(after, inside) @ switched
            known = ca.vertcat(lacked, z) if columns else z
            moved[:, S.shape[1] - known.numel() :] += ca.jacobian(after, known)
            y, out = ca.vertcat(inside, ca.vec(S)), ca.vertcat(after, ca.vec(moved))
            return ca.Function(name, [y, u, before, t, h, lacked, z], [ca.densify(out)])

        turned = tangent_steps(system, x)[:, self.free.tolist()]
        tangent = ca.Function('tangent', [x], [ca.densify(turned)])
        whole = step('motion', list(range(n)), self.free.size + self.lacking.size)
        return whole, step('following', self.follows.tolist(), 0), tangent

    def _run(
        self,
        step: FastFunction,
        times: Array,
        given: tuple[Array, Array],
        y: Array,
        known: tuple[Array, Array],
    ) -> Array:
        """Return y after steps, at times (N,); controls (k, nu) start at separate times."""
        begins, controls = given
        late = float(known[1][self.late].sum())
        switched = begins + late if self.late.size else begins[:0]
        inside = switched[(switched > times[0]) & (switched < times[-1])]
        nodes = np.unique(np.concatenate([times, inside]))
        h = np.diff(nodes)
        many = np.maximum(np.ceil(h / self.longest - 1e-9), 1).astype(int)
        ends = np.cumsum(many)
        steps = np.repeat(h / many, many)
        starts = np.repeat(nodes[:-1], many)
        starts += steps * (np.arange(ends[-1]) - np.repeat(ends - many, many))
        row = np.clip(np.searchsorted(begins + late, nodes[:-1], side='right') - 1, 0, None)
        u = controls[np.minimum(row, len(controls) - 1)]
        U, before = np.repeat(u, many, axis=0), np.repeat(u, many, axis=0)
        before[(ends - many)[1:]] = u[:-1]
        table, into = np.empty((steps.size + 1, y.size)), step.inputs
        table[0], into[5][:], into[6][:] = y, *known
        for k in range(steps.size):
            into[0][:], into[1][:], into[2][:] = table[k], U[k], before[k]
            into[3][0], into[4][0] = starts[k], steps[k]
            step.call()
            table[k + 1] = step.output
        return np.asarray(table[np.concatenate([[0], ends])[np.searchsorted(nodes, times)]])

    def followed(self, z: Array) -> tuple[Array, Array]:
        """Return states that depend on the control alone, at log rows (N, k), and slopes."""
        if self._followed[0] != z.tobytes():
            k = self.follows.size
            y = np.zeros(k + k * z.size)
            known = np.zeros(self.lacking.size), z
            table = self._run(self._follow, self._commands[0], self._commands, y, known)
            slopes = table[:, k:].reshape(len(table), z.size, k).transpose(0, 2, 1)
            self._followed = z.tobytes(), table[:, :k], slopes
        return self._followed[1:]

    def states(self, window: Window, start: Array, z: Array) -> tuple[Array, Array]:
        """Return states (N, n) from a start, and their derivatives (N, n, columns + q)."""
        n = self.system.state.size
        x, lacked = start[:n].copy(), start[n:]
        S = np.zeros((n, self.free.size + lacked.size + z.size))
        S[:, : self.free.size] = self._tangent(x)
        if self.follows.size:
            values, slopes = (v[window.first] for v in self.followed(z))
            x[self.follows], S[self.follows, S.shape[1] - z.size :] = values, slopes
        given = self._commands if self.late.size else (window.times[:-1], window.controls)
        y = np.concatenate([x, S.ravel(order='F')])
        table = self._run(self._step, window.times, given, y, (lacked, z))
        return table[:, :n], table[:, n:].reshape(len(table), -1, n).transpose(0, 2, 1)

    def shot(self, window: Window, start: Array, z: Array) -> Shot:
        """Return residuals [1], scaled by their noise, and derivatives, from a start (n,)."""
        states, S = self.states(window, start, z)
        off = states[:, self.index] - window.measured
        turns = np.arctan2(np.sin(off), np.cos(off))
        off = np.where(self.angles, turns, off) / self.noise
        where = np.isfinite(window.measured)
        J = (S[:, self.index] / self.noise[:, None])[where]
        m, many = self.free.size, self.lacking.size
        scale = np.concatenate([self.scale[self.free], self.spread])
        prior = np.eye(many, m + many, m)
        return Shot(
            np.concatenate([off[where], start[states.shape[1] :] / self.spread]),
            np.vstack([J[:, : m + many] * scale, prior]),
            np.vstack([J[:, m + many :], np.zeros((many, z.size))]),
            where,
            states,
        )

    def settled(
        self, window: Window, x: Array, z: Array, steps: int = LATER
    ) -> tuple[Array, Shot]:
        """Return the start (n,) of a window that fits best, and its residuals [1]."""
        now = self.shot(window, x, z)
        for _ in range(steps):
            if not math.isfinite(now.cost):
                break
            d, n, m = np.zeros(self.scale.size), self.system.state.size, self.free.size
            found, *_ = np.linalg.lstsq(now.by_start, -now.residuals, rcond=RANK)
            d[self.free] = self.scale[self.free] * found[:m]
            for k in range(HALVINGS):
                moved = np.asarray(self.system.retract(x[:n], d / 2**k)).ravel()
                there = np.concatenate([moved, x[n:] + self.spread * found[m:] / 2**k])
                tried = self.shot(window, there, z)
                if tried.cost < now.cost:
                    break
            else:
                break
            enough = tried.cost > (1 - ENOUGH) * now.cost
            x, now = there, tried
            if enough:
                break
        return x, now

    def starts(self, windows: list[Window], x0: Array, z: Array) -> Array:
        """
        Return starts of windows [SI], each near the end of the one before it.

        A start is a state and the unmodelled rates of the window, shape (k, n + lacking).
        """
        none = np.zeros(self.lacking.size)
        x0 = np.concatenate([x0, none])
        out, x, end = [], x0, -1
        for window in windows:
            tried = [x, x0] if window.first == end else [x0]
            found = []
            for start in tried:
                begin = window.measured[0]
                at = start.copy()
                at[self.index] = np.where(np.isfinite(begin), begin, at[self.index])
                found.append(self.settled(window, at, z, BEGINNING))
                if found[-1][1].cost < POOR * found[-1][1].residuals.size:
                    break
            x, shot = min(found, key=lambda pair: pair[1].cost)
            out.append(x)
            x, end = np.concatenate([shot.states[-1], none]), window.last
        return np.array(out)


def projected(shot: Shot) -> Array:
    """Return derivatives by parameters of the part that the start of the window cannot explain."""
    U, s, _ = np.linalg.svd(shot.by_start, full_matrices=False)
    U = U[:, s > RANK * s[:1]]
    return np.asarray(shot.by_parameters - U @ (U.T @ shot.by_parameters))
