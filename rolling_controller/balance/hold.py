"""LQR about an equilibrium, and the hold nearest a state; Woodruff & Lynch, VIII-C to E."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.balance.kalman_decomposition import (
    kalman_decomposition,
)
from rolling_controller.law import FunctionLaw, state_inputs
from rolling_controller.time_varying_lqr import (
    law_equations,
    limit_arrays,
    Limits,
    LqrWeights,
    regulator,
)
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract import RegulatorWeights
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.equilibrium import (
    FAR,
    hidden_modes,
    linear_model,
    nearest_equilibrium,
    UNSTABLE,
)
from rolling_dynamics.errors import check_names, ParameterError
from rolling_dynamics.restriction import moving_directions

PERIOD = 1e-3  # s, of the control loop
LEAST = 1e-6  # part of a motion, of norm 1, below which it is rounding
ROUNDING = 1e-12  # fraction of the maximum derivative below which an entry counts as independent


class BalanceLqr(FunctionLaw):
    """
    Feedback u = u_e - K (x - x_e) about an equilibrium, within limits.

    A law without memory, see :class:`rolling_controller.law.Law`.

    Attributes
    ----------
    inputs, output
        Layouts of the state that a step takes, and of the control.
    x, u
        State and control of the equilibrium.
    gain
        K, shape (m, n tangent).
    cost
        S of V = d^T S d, the cost to go of d = x - x_e over what can be controlled.
    decomposition
        What can be controlled and what cannot, of the states that can move at all.
    record, limits
        What :func:`law_equations` takes of it: (x, u, rows of K), and minimum and maximum control.
    vanishing
        Rows of tangent units that are zero in a steady motion: no control moves them, and they
        die out, such as the slip of a contact that closes a loop, shape (k, n tangent).
    poles, slowest
        Eigenvalues of the closed loop over one period, and its longest time constant [s].

    """

    def __init__(
        self,
        system: RollingSystem,
        p: ArrayLike,
        x: ArrayLike,
        *,
        u: ArrayLike | None = None,
        weights: LqrWeights | None = None,
        active_controls: Sequence[str] | None = None,
        control_limits: Limits = math.inf,
        period: float = PERIOD,
    ) -> None:
        """
        Linearise, remove the uncontrollable part, and solve the Riccati equation.

        Parameters
        ----------
        system, p
            The system and its parameters.
        x, u
            The equilibrium; u is zero if None.
        weights
            Weights of the regulator, the system's default weights where None; ``terminal`` is not
            used.
        active_controls
            Scalar names of the controls that feedback may use; all if None.
        control_limits
            Minimum and maximum by scalar name; or the maximum magnitude, one number for all or one
            for each control.
        period
            Time for which a control is held [s].

        Raises
        ------
        ParameterError
            The state is not an equilibrium, a weight is invalid, or an unstable direction is
            uncontrollable.

        """
        weights = (weights or LqrWeights()).of(system)
        self.system, self.p = system, np.asarray(p, dtype=float)
        self.x = np.array(x, dtype=float)
        self.u = np.zeros(system.control.size) if u is None else np.array(u, dtype=float)
        names = list(active_controls or system.control.names)
        check_names(names, system.control.names, 'active_controls: no control')
        moving = moving_directions(system, self.x, names)
        active = np.array([system.control.names.index(name) for name in names])
        linear = linear_model(system, self.p, self.x, self.u)
        self._unreached = _unreached(linear.A, moving, system.tangent.names)
        Q = weights.tracking_diagonal(system.tangent)[moving]
        self.decomposition = kalman_decomposition(
            linear.A[np.ix_(moving, moving)],
            linear.B[np.ix_(moving, active)],
            [system.tangent.names[k] for k in moving],
            Q,
        )
        self._check_stabilizable()
        angles = [
            e.kind == 'angle'
            for e, d in zip(system.state.entries, system.tangent.entries, strict=True)
            for _ in range(d.size)
        ]  # those that nothing depends on turn on, as of wheels: they are not held
        turn_on = np.array(angles) & (np.abs(linear.A) <= ROUNDING * np.abs(linear.A).max()).all(0)
        self._taken = self.decomposition.without(turn_on[moving])
        self._solve(weights, Q, moving, active, period)
        self._difference = FastFunction(_dense(system.difference))
        self._difference.inputs[1][:] = self.x
        self.record = np.concatenate([self.x, self.u, self.gain.ravel()])
        self.limits = limit_arrays(system.control, control_limits)
        given = np.concatenate([self.record, *self.limits])
        super().__init__(state_inputs(system), system.control, regulator(system), given)

    def _check_stabilizable(self) -> None:
        d = self.decomposition
        if not d.is_stabilizable:
            raise ParameterError(
                'this equilibrium cannot be balanced with these controls: a part that they do not '
                f'move grows with {d.rest_rates.real.max():.3g} 1/s; it lies in '
                f'{"; ".join(d.describe())}'
            )

    def _solve(
        self,
        weights: LqrWeights,
        Q: Array,
        moving: NDArray[np.int_],
        active: NDArray[np.int_],
        h: float,
    ) -> None:
        from scipy.linalg import expm, solve_discrete_are  # noqa: PLC0415  large

        system, d = self.system, self.decomposition
        r, m = d.B.shape
        step = expm(np.block([[d.A, d.B], [np.zeros((m, r + m))]]) * h)
        A, B = step[:r, :r], step[:r, r:]
        R = weights.control_diagonal(system.control)
        Q_z, R_z = d.V.T @ np.diag(Q) @ d.V * h, np.diag(R[active]) * h
        try:
            S = solve_discrete_are(A, B, Q_z, R_z)
        except (np.linalg.LinAlgError, ValueError) as error:  # which one is up to LAPACK
            raise ParameterError(
                'the Riccati equation has no solution: give a weight to every part of the state '
                f'that is to come to rest ({error})'
            ) from None
        K = np.linalg.solve(R_z + B.T @ S @ B, B.T @ S @ A)
        self.poles = np.linalg.eigvals(A - B @ K)
        # Without a weight on marginally stable directions, rounding would decide the solution.
        hidden = hidden_modes(d.A, d.V[Q > 0], -UNSTABLE, UNSTABLE)
        if hidden or not np.abs(self.poles).max() < 1:
            raise ParameterError(
                'the closed loop is not stable: give a weight to every part of the state that is '
                'to come to rest'
            )
        self.slowest = -h / math.log(np.abs(self.poles).max(initial=1e-300))
        n = system.tangent.size
        self.gain = np.zeros((system.control.size, n))
        self.gain[np.ix_(active, moving)] = K @ self._taken
        self.cost = np.zeros((n, n))
        self.cost[np.ix_(moving, moving)] = self._taken.T @ S @ self._taken
        self.basis = np.zeros((n, r))
        self.basis[moving] = d.V
        vanishing = d.vanishing
        self.vanishing = np.zeros((len(vanishing), n))
        self.vanishing[:, moving] = vanishing

    @property
    def uncontrollable(self) -> list[str]:
        """Motions that no control changes to first order, in words; reported, left as they are."""
        return [*self.decomposition.describe(), *self._unreached]

    @property
    def law(self) -> ca.Function:
        """The control within its limits as an expression, ``(x, t) -> u``."""
        x, t, record = ca.SX.sym('x', self.system.state.size), ca.SX.sym('t'), ca.DM(self.record)
        u = law_equations(self.system)(x, record, record, 0, *map(ca.DM, self.limits))
        return ca.Function('law', [x, t], [u])

    def error(self, x: ArrayLike) -> Array:
        """Return the difference from the equilibrium in tangent units, shape (n tangent,)."""
        self._difference.inputs[0][:] = x
        return self._difference.evaluate().copy()

    def cost_to_go(self, x: ca.SX) -> ca.SX:
        """Return :meth:`value` as an expression."""
        d = self.system.difference(x, ca.DM(self.x))
        return d.T @ ca.DM(self.cost) @ d

    def value(self, x: ArrayLike) -> float:
        """Return the cost to go V of what can be controlled."""
        d = self.error(x)
        return float(d @ self.cost @ d)


def _unreached(A: Array, moving: NDArray[np.int_], names: Sequence[str]) -> list[str]:
    """
    Return the names of uncontrollable tangent numbers that do not decay.

    Raises ParameterError where they grow.
    """
    rest = np.setdiff1d(np.arange(len(A)), moving)
    if not rest.size:
        return []
    rates, ways = np.linalg.eig(A[np.ix_(rest, rest)])
    of = [[names[rest[k]] for k in np.flatnonzero(np.abs(way) > LEAST)] for way in ways.T]
    worst = int(np.argmax(rates.real))
    if rates[worst].real > UNSTABLE:
        raise ParameterError(
            'this equilibrium cannot be balanced with these controls: they do not reach '
            f'{", ".join(of[worst])}, which grows with {rates[worst].real:.3g} 1/s'
        )
    stays = np.abs(rates.real) <= UNSTABLE
    return sorted({name for k in np.flatnonzero(stays) for name in of[k]})


def _dense(function: ca.Function) -> ca.Function:
    """Return a function of two arguments with a dense output."""
    symbols = [ca.SX.sym(f'x{k}', function.numel_in(k)) for k in range(2)]
    return ca.Function(function.name(), symbols, [ca.densify(function(*symbols))])


class Hold(BalanceLqr):
    """
    Regulator about the equilibrium nearest a state, by the control that holds it there.

    An unstable uncontrollable direction is rejected. A marginally stable one, such as the attitude
    of a rolling ball, is left alone and named in ``uncontrollable``. An entry without a weight
    along plans, such as the position of a hand, is weighted by its scale.

    Attributes
    ----------
    unstable
        Whether the system leaves the equilibrium without feedback.

    Examples
    --------
    >>> from rolling_controller import Hold
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('two_wheeler')
    >>> law = Hold(s.system, s.p, s.x0)
    >>> law.unstable, law.step(None, law.x, 0.0)[1].shape
    (True, (2,))

    """

    def __init__(
        self,
        system: RollingSystem,
        p: ArrayLike,
        x: ArrayLike,
        *,
        u: ArrayLike | None = None,
        weights: LqrWeights | None = None,
        control_limits: Limits = math.inf,
        within: float = FAR,
    ) -> None:
        """
        Find the equilibrium and solve the Riccati equation about it.

        Parameters
        ----------
        system, p
            The system and its parameters.
        x, u
            State to hold, and a control near the one that holds it; zero if None.
        weights, control_limits
            See :class:`BalanceLqr`.
        within
            See :func:`nearest_equilibrium`.

        Raises
        ------
        ParameterError
            There is no equilibrium near the state, or it cannot be stabilised.

        """
        if not system.control.size:
            raise ParameterError(f'{system.name} has no control that could hold it')
        x, u = nearest_equilibrium(system, p, x, u, within)
        weights = (weights or LqrWeights()).of(system)
        scales = RegulatorWeights.from_scales(system.tangent, system.control).tracking
        weights = replace(weights, tracking={**scales, **(weights.tracking or {})})
        super().__init__(system, p, x, u=u, weights=weights, control_limits=control_limits)
        rates = np.linalg.eigvals(self.decomposition.A).real
        self.unstable = bool(rates.max(initial=0.0) > UNSTABLE)
