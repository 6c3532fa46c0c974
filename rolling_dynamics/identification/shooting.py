"""
Motions over windows of a log, and their derivatives by where they begin and by parameters.

Each window begins in a state of its own, which follows from the window alone: for given
parameters it is found by Gauss-Newton steps, and what it explains is projected out of the
derivatives (variable projection, Golub and Pereyra 1973).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem, WrittenSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.identification.log import Log, stretches

LONGEST = 0.01  # s, of a step of Runge-Kutta
BEGINNING, LATER, HALVINGS = 15, 4, 5  # Gauss-Newton steps of the start of a window
ENOUGH = 1e-9  # relative decrease of the cost at which they end
POOR = 0.1  # mean square of scaled residuals over which another start is tried
RANK = 1e-9  # of singular values: what the log does not say of a start


@dataclass(frozen=True, eq=False, kw_only=True)
class Window:
    """
    A stretch of a log.

    Attributes
    ----------
    first, last
        Rows of the log.
    times
        Of its rows [s], shape (N,).
    measured
        Shape (N, m).
    controls
        In force from each row to the next, shape (N - 1, nu).

    """

    first: int
    last: int
    times: Array
    measured: Array
    controls: Array

    def until(self, rows: int) -> Window:
        """Return its first rows."""
        return replace(
            self,
            last=self.first + rows - 1,
            times=self.times[:rows],
            measured=self.measured[:rows],
            controls=self.controls[: rows - 1],
        )


class Shot(NamedTuple):
    """Residuals (k,), derivatives by start (k, n) and parameters (k, q), where, states (N, n)."""

    residuals: Array
    by_start: Array
    by_parameters: Array
    where: NDArray[np.bool_]
    states: Array

    @property
    def cost(self) -> float:
        """Sum of squares; infinite where the motion is not finite."""
        with np.errstate(over='ignore', invalid='ignore'):
            found = float(self.residuals @ self.residuals)
        return found if math.isfinite(found) else math.inf


def window_of(log: Log, first: int, last: int, controls: int) -> Window:
    """Return the window from a row of a log to another."""
    given = np.zeros((len(log.times), controls)) if log.controls is None else log.controls
    inside = slice(first, last + 1)
    return Window(
        first=first,
        last=last,
        times=log.times[inside],
        measured=log.measured[inside],
        controls=given[first:last],
    )


def windows_of(log: Log, length: float, controls: int) -> list[Window]:
    """
    Return windows of a length [s], one after the other; none spans a gap.

    Raises
    ------
    ParameterError
        None fits between gaps.

    """
    rows = (
        max(round(length / float(np.median(np.diff(log.times)))), 1) if len(log.times) > 1 else 1
    )
    out = [
        window_of(log, k, k + rows, controls)
        for first, last in stretches(log)
        for k in range(first, last - rows + 1, rows)
        if np.isfinite(log.measured[k : k + rows + 1]).sum() > rows / 2
    ]
    if not out:
        raise ParameterError(
            f'no window of {length:g} s fits between the gaps of the log, which has '
            f'{len(log.times)} rows over {np.ptp(log.times) if len(log.times) else 0:.3g} s: '
            'choose a shorter --window'
        )
    return out


class Shooting:
    """Motions of a system from starts of windows, compared with what was measured."""

    def __init__(
        self,
        system: RollingSystem | WrittenSystem,
        mode: str,
        p: Array,
        fitted: NDArray[np.int_],
        names: list[str],
        law: ca.Function | None = None,
        free: Sequence[str] | None = None,
    ) -> None:
        """
        Prepare the derivatives.

        Parameters
        ----------
        system, mode, p
            The system, its mode of motion, and its parameters.
        fitted
            Where in p the fitted ones are.
        names
            Measured components of the state.
        law
            ``(x, t) -> u`` where the log has no control; None where it has.
        free
            Components of the tangent that the start of a window is fitted in; None for all.

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
        self._step, self._tangent = self._equations(mode, law)
        self._over: dict[int, ca.Function] = {}

    def _equations(self, mode: str, law: ca.Function | None) -> tuple[ca.Function, ca.Function]:
        system = self.system
        n, m, q = system.state.size, system.tangent.size, self.fitted.size
        f = system.modes[mode].dynamics
        x, u = ca.SX.sym('x', n), ca.SX.sym('u', system.control.size)
        t, h, z = ca.SX.sym('t'), ca.SX.sym('h'), ca.SX.sym('z', q)
        p = ca.SX(self.p)
        for k, where in enumerate(self.fitted.tolist()):
            p[where] = z[k]

        def rate(x: ca.SX, t: ca.SX) -> ca.SX:
            return f(x, u if law is None else law(x, t), t, p)

        k1 = rate(x, t)
        k2 = rate(x + h / 2 * k1, t + h / 2)
        k3 = rate(x + h / 2 * k2, t + h / 2)
        k4 = rate(x + h * k3, t + h)
        after = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        S = ca.SX.sym('S', n, m + q)
        moved = ca.jacobian(after, x) @ S
        moved[:, m:] += ca.jacobian(after, z)
        y = ca.vertcat(x, ca.vec(S))
        step = ca.Function('step', [y, u, t, h, z], [ca.densify(ca.vertcat(after, ca.vec(moved)))])
        d = ca.SX.sym('d', m)
        turned = ca.jacobian(system.retract(x, d), d)
        tangent = ca.Function(
            'tangent', [x], [ca.densify(ca.substitute(turned, d, ca.DM.zeros(m)))]
        )
        return step, tangent

    def states(self, window: Window, x: Array, z: Array) -> tuple[Array, Array]:
        """Return states (N, n) from a start, and their derivatives (N, n, m + q)."""
        h = np.diff(window.times)
        many = max(math.ceil(float(h.max()) / LONGEST - 1e-9), 1)
        steps, u = np.repeat(h / many, many), np.repeat(window.controls, many, axis=0)
        times = window.times[0] + np.concatenate([[0.0], np.cumsum(steps)[:-1]])
        n, width = x.size, self.scale.size + z.size
        S = np.hstack([np.asarray(self._tangent(x)), np.zeros((n, z.size))])
        if steps.size not in self._over:
            self._over[steps.size] = self._step.mapaccum(steps.size)
        start = np.concatenate([x, S.ravel(order='F')])
        held = np.tile(z[:, None], steps.size)
        run = np.asarray(self._over[steps.size](start, u.T, times, steps, held))
        table = np.vstack([start, run.T[many - 1 :: many]])
        return table[:, :n], table[:, n:].reshape(len(table), width, n).transpose(0, 2, 1)

    def shot(self, window: Window, x: Array, z: Array) -> Shot:
        """Return residuals [1], scaled by their noise, and derivatives, from a start (n,)."""
        states, S = self.states(window, x, z)
        off = states[:, self.index] - window.measured
        turns = np.arctan2(np.sin(off), np.cos(off))
        off = np.where(self.angles, turns, off) / self.noise
        where = np.isfinite(window.measured)
        J = (S[:, self.index] / self.noise[:, None])[where]
        m = self.scale.size
        return Shot(off[where], J[:, :m] * self.scale, J[:, m:], where, states)

    def settled(
        self, window: Window, x: Array, z: Array, steps: int = LATER
    ) -> tuple[Array, Shot]:
        """Return the start (n,) of a window that fits best, and its shot: residuals [1]."""
        now = self.shot(window, x, z)
        for _ in range(steps):
            if not math.isfinite(now.cost):
                break
            d, *_ = np.linalg.lstsq(now.by_start, -now.residuals, rcond=RANK)
            for k in range(HALVINGS):
                there = np.asarray(self.system.retract(x, self.scale * d / 2**k)).ravel()
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
        """Return starts (k, n) [SI] of windows, each near the end of the one before it."""
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
            x, end = shot.states[-1], window.last
        return np.array(out)


def projected(shot: Shot) -> Array:
    """Return derivatives by parameters of what the start of the window cannot explain."""
    U, s, _ = np.linalg.svd(shot.by_start, full_matrices=False)
    U = U[:, s > RANK * s[:1]]
    return np.asarray(shot.by_parameters - U @ (U.T @ shot.by_parameters))
