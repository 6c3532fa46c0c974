"""
State and uncertain parameters from noisy poses: an extended Kalman filter on the equations.

The covariance lives in the tangent space; parameters are estimated by their logarithm. A sudden
disturbance, which the quiet filter would take for noise, shows as innovations of one sign: while
their running mean is too large, the velocities are taken to be driven much harder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled_once, FastFunction
from rolling_dynamics.contract.capabilities import smooth_mode
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import check_names, ParameterError
from rolling_dynamics.simulation.stepper import runge_kutta

DERIVATION = 'estimated step 1'  # changes with how it follows from the dynamics
MEMORY = 25  # measurements over which innovations are averaged
SURPRISE = 5.0  # squared mean innovation over what is expected, from which on it is a push
LIVELY = 100.0  # how much stronger the velocities are driven then


class Estimator:
    """
    Follows a system by noisy measurements of a part of its state. Not for use from two threads.

    Attributes
    ----------
    x
        The estimate, shape (state.size,).
    p
        Parameters, the uncertain ones as estimated.
    deviations
        Standard deviations of the estimated tangent numbers and log scales.

    """

    def __init__(
        self,
        system: RollingSystem,
        p: ArrayLike,
        *,
        noise: Mapping[str, float],
        driven: Mapping[str, float],
        uncertain: Mapping[str, float] | None = None,
    ) -> None:
        """
        Compile the step.

        Parameters
        ----------
        system, p
            The system, and its parameters as far as they are known.
        noise
            Standard deviation of measured tangent entries, of one measurement.
        driven
            Tangent entries that are not measured: the standard deviation by which unknown forces
            change them in 1 s. What is neither in here nor in ``noise`` is measured exactly.
        uncertain
            Standard deviation of the logarithm of the scale of parameters, by entry.

        Raises
        ------
        ParameterError
            A name does not exist, or an uncertain parameter is zero.

        """
        entries = [e.name for e in system.tangent.entries]
        check_names([*noise, *driven], entries, 'noise, driven: no entry of the tangent')
        uncertain, self.p = dict(uncertain or {}), np.array(p, dtype=float)
        known = [e.name for e in system.parameters.entries]
        check_names(list(uncertain), known, 'uncertain: no parameter')
        self._scaled = [system.parameters.slice(n) for n in uncertain]
        for name, where in zip(uncertain, self._scaled, strict=True):
            if not np.any(self.p[where]):
                raise ParameterError(f'uncertain: {name} is zero, and has no scale')
        measured, hidden = _numbers(system, noise), _numbers(system, driven)
        self._kept = np.concatenate([measured, hidden])
        self._measured, n = len(measured), len(self._kept)
        self._noise = np.square(_spread(system, noise))
        drive = np.zeros(n + len(uncertain))
        drive[len(measured) : n] = np.square(_spread(system, driven))
        self._drive = drive
        self._start = np.concatenate(
            [self._noise, drive[len(measured) : n], np.square(list(uncertain.values()))]
        )
        self._step = FastFunction(_step(system, self._kept.tolist(), list(uncertain)))
        functions = (system.difference, system.retract)
        self._apart, self._moved = (FastFunction(_dense(f)) for f in functions)
        self.x = np.zeros(0)
        self._C = np.diag(self._start)
        self._surprise, self._pushed = np.zeros(len(measured)), False

    @property
    def deviations(self) -> Array:
        """
        Standard deviations of the state, in tangent units, then of the log scales.

        Shape (n,).
        """
        return np.array(np.sqrt(np.diag(self._C)))

    def begin(self, x: ArrayLike) -> None:
        """Start from a state as good as one measurement of it."""
        self.x, self._C = np.array(x, dtype=float), np.diag(self._start)
        self._surprise[:] = 0.0

    def update(self, measured: ArrayLike, u: ArrayLike, h: float) -> Array:
        """
        Return the estimate at a measurement.

        Parameters
        ----------
        measured
            State, shape (state.size,), of which the entries of ``driven`` are not looked at.
        u
            Control that acted since the last one.
        h
            Time since the last one [s].

        """
        self._predict(np.asarray(u, dtype=float), h)
        kept, m = self._kept, self._measured
        off = self._apart(np.asarray(measured, dtype=float), self.x)
        C = self._C
        S = C[:m, :m] + np.diag(self._noise)
        K = np.linalg.solve(S, C[:m]).T
        change = K @ off[kept[:m]]
        self._note(off[kept[:m]], S)
        self._C = C - K @ C[:m]
        self._C = (self._C + self._C.T) / 2
        off[kept] = change[: len(kept)]
        self.x = self._moved(self.x, off)
        for where, log in zip(self._scaled, change[len(kept) :], strict=True):
            self.p[where] *= np.exp(log)
        return self.x

    def ahead(self, controls: Iterable[Array], h: float) -> Array:
        """Return the state after controls that acted for so long each [s] since the estimate."""
        x = self.x
        for u in controls:
            x = self._stepped(x, u, h)[: len(self.x)].copy()
        return x

    def _predict(self, u: Array, h: float) -> None:
        out, n = self._stepped(self.x, u, h), len(self.x)
        size = len(self._drive)
        J = np.eye(size)
        J[: len(self._kept)] = out[n:].reshape(size, -1).T
        self.x = out[:n].copy()
        lively = LIVELY if self._pushed else 1.0
        self._C = J @ self._C @ J.T
        self._C[np.diag_indices(size)] += self._drive * (h * lively * lively)

    def _stepped(self, x: Array, u: Array, h: float) -> Array:
        inputs = self._step.inputs
        inputs[0][:], inputs[1][:], inputs[2][0], inputs[3][:] = x, u, h, self.p
        return self._step.evaluate()

    def _note(self, innovation: Array, S: Array) -> None:
        """Average the innovations; innovations of a correct filter are white."""
        self._surprise += (innovation - self._surprise) / MEMORY
        expected = len(innovation) / (2 * MEMORY - 1)
        square = float(self._surprise @ np.linalg.solve(S, self._surprise))
        self._pushed = square > SURPRISE * expected


def _numbers(system: RollingSystem, names: Iterable[str]) -> NDArray[np.int_]:
    """Return where entries stand in the tangent."""
    indices = np.arange(system.tangent.size)
    return np.concatenate([np.zeros(0, int), *(indices[system.tangent.slice(n)] for n in names)])


def _spread(system: RollingSystem, values: Mapping[str, float]) -> Array:
    """Return the value of each number of entries."""
    t = system.tangent
    sizes = {n: t.slice(n).stop - t.slice(n).start for n in values}
    return np.concatenate([np.zeros(0), *(np.full(sizes[n], v) for n, v in values.items())])


def _dense(function: ca.Function) -> ca.Function:
    a = [ca.SX.sym(f'a{k}', function.size1_in(k)) for k in range(2)]
    return compiled_once(
        f'{DERIVATION} {function.serialize()}',
        (function.name(),),
        lambda: (ca.Function(function.name(), a, [ca.densify(function(*a))]),),
    )[0]


def _step(system: RollingSystem, kept: list[int], uncertain: list[str]) -> ca.Function:
    """Return ``(x, u, h, p) -> (end, J)``, J by the kept tangent and the log scales."""
    f = smooth_mode(system).dynamics
    content = ''.join(g.serialize() for g in (f, system.retract, system.difference))
    return compiled_once(
        f'{DERIVATION} {kept} {uncertain} {content}',
        ('estimated_step',),
        lambda: (_written_out(system, kept, uncertain),),
    )[0]


def _written_out(system: RollingSystem, kept: list[int], uncertain: list[str]) -> ca.Function:
    f = smooth_mode(system).dynamics
    x, u, h = (
        ca.SX.sym('x', system.state.size),
        ca.SX.sym('u', system.control.size),
        ca.SX.sym('h'),
    )
    p, y = ca.SX.sym('p', system.parameters.size), ca.SX.sym('y', system.state.size)
    d, e = ca.SX.sym('d', len(kept)), ca.SX.sym('e', len(uncertain))
    whole, factors = ca.SX(system.tangent.size, 1), ca.SX.ones(p.numel(), 1)
    for i, k in enumerate(kept):
        whole[k] = d[i]
    for i, name in enumerate(uncertain):
        factors[system.parameters.slice(name)] = ca.exp(e[i])
    _, moved = runge_kutta(f, system.retract(x, whole), u, 0, h, p * factors)
    z = ca.vertcat(d, e)
    J = ca.jacobian(system.difference(moved, y)[kept], z)
    zero = ca.DM.zeros(z.numel())
    _, end = runge_kutta(f, x, u, 0, h, p)
    J = ca.substitute(ca.substitute(J, z, zero), y, end)
    return ca.Function('estimated_step', [x, u, h, p], [ca.densify(ca.vertcat(end, ca.vec(J)))])
