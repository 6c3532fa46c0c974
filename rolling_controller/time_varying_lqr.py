"""Feedback along a plan by a time-varying LQR, Woodruff & Lynch, Section VII, and its weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
import math
import warnings

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.law import Following, LawFunction, state_inputs, written
from rolling_controller.nominal import (
    Linearization,
    LinearSteps,
    nominal_trajectory,
    NominalTrajectory,
    step_functions,
)
from rolling_controller.riccati import Reach, solve_riccati
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract import default_weights, RegulatorWeights
from rolling_dynamics.contract.rolling_system import Layout, RollingSystem
from rolling_dynamics.errors import (
    CancelledError,
    check_names,
    check_positive,
    ParameterError,
)
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.restriction import moving_directions
from rolling_planner.plan import HOLD, Plan


@dataclass(frozen=True, slots=True)
class Option:
    """
    A number that a user may choose.

    Attributes
    ----------
    name
        Name, possibly dotted.
    default
        Value if nothing is chosen.
    text
        Meaning, in one line.
    limits
        Minimum and maximum.
    unit
        SI unit; the empty string if dimensionless.

    """

    name: str
    default: float
    text: str
    limits: tuple[float, float]
    unit: str = ''


Limits = Mapping[str, tuple[float, float]] | ArrayLike


@dataclass(frozen=True, kw_only=True)
class LqrWeights:
    """
    Weights of a regulator by tangent name, entry or scalar; others are zero.

    Attributes
    ----------
    tracking
        Q per second; the system's default weights if None.
    terminal
        P1; the system's default weights if None.
    control
        R per second, one number or one for each control; the system's default if None.

    Examples
    --------
    >>> from rolling_controller import Hold, LqrWeights
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('two_wheeler')
    >>> law = Hold(s.system, s.p, s.x0, weights=LqrWeights(control=10.0))
    >>> law.gain.shape
    (2, 16)

    """

    tracking: Mapping[str, float] | None = None
    terminal: Mapping[str, float] | None = None
    control: ArrayLike | None = None

    def of(self, system: RollingSystem) -> LqrWeights:
        """Return the weights with the defaults of a system in place of None."""
        own = default_weights(system)
        return replace(
            self,
            tracking=own.tracking if self.tracking is None else self.tracking,
            terminal=own.terminal if self.terminal is None else self.terminal,
            control=own.control if self.control is None else self.control,
        )

    def tracking_diagonal(self, tangent: Layout) -> Array:
        """Return the diagonal of Q, shape (tangent.size,), in 1/s per squared unit."""
        return _diagonal(tangent, self.tracking or {}, 'weights.tracking')

    def terminal_diagonal(self, tangent: Layout) -> Array:
        """Return the diagonal of P1, shape (tangent.size,), in 1 per squared unit."""
        return _diagonal(tangent, self.terminal or {}, 'weights.terminal')

    def control_diagonal(self, control: Layout) -> Array:
        """Return the diagonal of R, shape (control.size,), in 1/s per squared unit."""
        shape = None if isinstance(self.control, Mapping) else np.asarray(self.control).shape
        if shape not in ((), (1,), (control.size,)):
            each = ', '.join(control.names)
            raise ParameterError(
                f'weights.control takes one number, or one each for {each}; got {self.control!r}'
            )
        check_positive('weights.control', self.control)
        return np.broadcast_to(np.asarray(self.control, dtype=float), (control.size,))


def no_feedback(system: RollingSystem, weights: LqrWeights, active: NDArray[np.int_]) -> str:
    """
    Return why a regulator's gain is zero everywhere.

    Parameters
    ----------
    system
        The system.
    weights
        Weights, all of them given.
    active
        Numbers of the controls that it may use.

    """
    tangent = system.tangent
    weighted = weights.tracking_diagonal(tangent) + weights.terminal_diagonal(tangent) > 0
    names = ', '.join(e.name for e in tangent.entries if weighted[tangent.slice(e.name)].any())
    used = ', '.join(system.control.names[k] for k in active)
    if not used:
        why = 'the plan uses no control'
    elif not names:
        why = f'no weight is positive; weigh some of {", ".join(tangent.names)}'
    else:
        why = f'the controls {used} do not move what has a weight: {names}'
    return f'{why}: there is no feedback'


def _diagonal(layout: Layout, weights: Mapping[str, float], what: str) -> Array:
    out = np.zeros(layout.size)
    for name, value in weights.items():
        check_positive(f'{what}.{name}', value, zero=True)
        out[layout.index(name, f'{what}: no tangent entry')] = value
    return out


def limit_arrays(control: Layout, limits: Limits) -> tuple[Array, Array]:
    """
    Return minimum and maximum controls, shape (control.size,) each.

    Parameters
    ----------
    control
        Layout of the control.
    limits
        Minimum and maximum by scalar name, no limit for missing names; or the maximum magnitude,
        one number for all or one for each control.

    Raises
    ------
    ParameterError
        There is no such control, or the number of limits is wrong.

    """
    names = control.names
    if isinstance(limits, Mapping):
        check_names(limits, names, 'control_limits: no control')
        pairs = [limits.get(n, (-math.inf, math.inf)) for n in names]
        low, high = np.array(pairs, dtype=float).reshape(-1, 2).T
        return low, high
    size = np.asarray(limits, dtype=float)
    if size.shape not in ((), (len(names),)):
        raise ParameterError(
            f'control_limits: one number is needed, or {len(names)} ({", ".join(names)}), got '
            f'shape {size.shape}'
        )
    return np.full(len(names), -size), np.full(len(names), size)


GREATEST = 1e12
CHOSEN = 'in the regulator, from the next goal on'


def weight_options(defaults: RegulatorWeights, entries: Iterable[str]) -> tuple[Option, ...]:
    """Return the default weights of these tangent entries as options."""
    groups = (
        ('tracking', defaults.tracking, 'weight per second'),
        ('terminal', defaults.terminal, 'weight at the end'),
    )
    return (
        *(
            Option(
                f'{group}.{name}',
                values[name],
                f'{text} of {name} {CHOSEN}',
                limits=(0.0, GREATEST),
            )
            for group, values, text in groups
            for name in entries
        ),
        Option(
            'control_weight',
            float(defaults.control),
            f'weight per second of each control {CHOSEN}',
            limits=(1e-12, GREATEST),
        ),
    )


def read_weights(values: Mapping[str, float], system: RollingSystem) -> LqrWeights:
    """
    Return the weights that stand among the values of options.

    Options serve a family of systems: options for entries that this one lacks have no effect,
    and entries without an option keep the system's default.
    """
    own = default_weights(system)
    groups = {'tracking': dict(own.tracking), 'terminal': dict(own.terminal)}
    for name, value in values.items():
        group, _, entry = name.partition('.')
        if group in groups and entry in system.tangent:
            groups[group][entry] = value
    return LqrWeights(**groups, control=values.get('control_weight', own.control))


KNOT = 2e-3  # s between the gains that are kept
SLICE = 32  # knots between two questions whether to give up, some milliseconds
BLOCK = 4096  # knots of which the memory is laid out at once
WEAK = 1e-10  # fraction of the maximum singular value of the Gramian that counts as zero
NAMED = 0.25  # part of a unit error that is not corrected, from which on it is named


def prepare_regulator(system: RollingSystem) -> None:
    """Compile what regulators of a system use, so that the first one does not have to wait."""
    step_functions(system)
    law_function(system)


class TimeVaryingLqr:
    """
    Feedback u = u_nom(t) - K(t) (x - x_nom(t)), Eq. (20), within limits.

    A law without memory, see :class:`rolling_controller.law.Law`.

    Attributes
    ----------
    inputs, output
        Layouts of the state and of the control.
    times, states, controls
        Nominal trajectory at the knots.
    rows
        Range from the first to the last control that feedback uses.
    gains
        These rows of K at the knots, the others are zero; shape (k + 1, rows, n tangent).
    limits
        Minimum and maximum control, shape (control.size,) each.
    gramian_least, gramian_greatest
        Singular values of the controllability Gramian over the controllable directions, errors in
        the units that the tracking weights count as one.
    warning
        Reason why there is no feedback; empty where there is.
    notice
        Errors that feedback does not correct to first order; empty where it corrects all.

    Examples
    --------
    >>> from rolling_controller import TimeVaryingLqr
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_planner import plan_rolling, read_problem
    >>> problem = read_problem(load_scenario('ball_on_plate_straight'))
    >>> law = TimeVaryingLqr(problem.system, problem.p, plan_rolling(problem))
    >>> memory, u = law.step(law.start(), problem.x_start, 0.5)

    """

    period: float | None = None
    opaque = ''

    def __init__(
        self,
        system: RollingSystem,
        p: ArrayLike,
        plan: Plan,
        weights: LqrWeights | None = None,
        *,
        active_controls: Sequence[str] | None = None,
        control_limits: Limits = math.inf,
        nominal: str | None = None,
        knot: float = KNOT,
        end_cost: ArrayLike | None = None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        """
        Linearise along the plan and solve the Riccati equation, Eqs. (18), (19).

        Parameters
        ----------
        system, p
            The system of the plan and its parameters.
        plan
            Nominal trajectory.
        weights
            Weights of the regulator; the system's default weights where None.
        active_controls
            Controls that feedback may use; if None those that the plan uses, all of them along a
            plan that is unstable in open loop.
        control_limits
            Minimum and maximum by scalar name; or the maximum magnitude, one number for all or one
            for each control.
        nominal
            ``simulated``: the motion under the plan's controls; or ``plan``: the plan's own
            states, from which the controls of a coarse plan deviate. None: simulated, except for a
            plan that is unstable in open loop.
        knot
            Time between gains [s].
        end_cost
            P1, the cost to go after the plan, shape (n tangent, n tangent); None for the terminal
            weights.
        interrupted
            Called every few hundred knots, well below 0.1 s; returns whether to give up.

        Raises
        ------
        ParameterError
            The plan is not one of this system or too long for its knots, a weight is invalid, or a
            name does not exist.
        SimulationError
            The motion under the planned controls, or its linearisation, is not finite.
        CancelledError
            Interrupted.

        """
        self.system, self.p, self.plan = system, np.asarray(p, dtype=float), plan
        weights = (weights or LqrWeights()).of(system)
        trajectory = nominal_trajectory(system, self.p, plan, nominal, knot, interrupted)
        active = self._active(active_controls, every=trajectory.unstable)
        self.rows = slice(int(active.min(initial=0)), int(active.max(initial=-1)) + 1)
        self._interrupted = interrupted
        self._store(trajectory)
        self._held = plan if plan.interpolation == HOLD else None
        self.limits = limit_arrays(system.control, control_limits)
        self._left = np.zeros((system.tangent.size,) * 2)  # of an error at the start, at the end
        counts = np.sqrt(weights.tracking_diagonal(system.tangent))
        self._judge(self._solve(weights, active, end_cost), active, counts)
        if not np.any(self.gains):
            self.warning = no_feedback(system, weights, active)
            warnings.warn(self.warning, stacklevel=2)
        self.inputs, self.output = state_inputs(system), system.control
        self._law = FastFunction(law_function(system))
        self._law.inputs[4][:], self._law.inputs[5][:] = self.limits
        self._law_records = self._law.side_by_side(1, 3)

    def _store(self, trajectory: NominalTrajectory) -> None:
        """Lay states, controls and gains side by side: one look-up in the loop finds all."""
        self.times = trajectory.times
        n, m, nt = (s.size for s in (self.system.state, self.system.control, self.system.tangent))
        self._records = np.zeros((len(self.times), n + m + m * nt))
        self._controlled = slice(n, n + m)
        self.states, self.controls = self._records[:, :n], self._records[:, self._controlled]
        self.gains = self._records[:, n + m :].reshape(-1, m, nt)[:, self.rows]
        for start in range(0, len(self.times), BLOCK):
            self._ask()
            rows = slice(start, start + BLOCK)
            self.states[rows] = trajectory.states[rows]
            self.controls[rows] = trajectory.controls[rows]
        self._start = float(self.times[0])
        self._last = len(self.times) - 2
        self._rate = (self._last + 1) / (float(self.times[-1]) - self._start)

    def _ask(self) -> None:
        if self._interrupted():
            raise CancelledError('the design of the feedback was interrupted')

    def _solve(
        self, weights: LqrWeights, active: NDArray[np.int_], end_cost: ArrayLike | None
    ) -> Reach:
        """Fill in the gains, in slices from the end; return what errors and controls come to."""
        system, h = self.system, float(np.mean(np.diff(self.times)))
        Q = weights.tracking_diagonal(system.tangent)
        L = np.diag(np.sqrt(weights.terminal_diagonal(system.tangent)))
        if end_cost is not None:
            values, vectors = np.linalg.eigh(np.asarray(end_cost, dtype=float))
            L = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        R = weights.control_diagonal(system.control)
        Q_root, R_root = np.diag(np.sqrt(Q * h)), np.diag(np.sqrt(R[active] * h))
        linearization, reach = Linearization(system), None
        before, after = self.plan.ramps_between(self.times)
        if len(active) == 0:
            return Reach(np.eye(len(L)), np.zeros(L.shape))
        for end in range(len(self.times) - 1, 0, -SLICE):
            self._ask()
            part = slice(max(end - SLICE, 0), end + 1)
            steps = slice(part.start, end)
            A, B = linearization.along(
                self.p, self.times[part], self.states[part], (before[steps], after[steps])
            )
            used = LinearSteps(A, B[:, :, active])
            solution = solve_riccati(used, Q_root, R_root, L)
            self.gains[steps, active - self.rows.start] = solution.gains
            L = solution.factors[0]
            here = Reach.of(used)
            reach = here if reach is None else reach.after(here)
        self.gains[-1] = self.gains[-2]
        assert reach is not None  # noqa: S101 - a plan has two times at least
        return reach

    def start(self, before: None = None) -> None:
        """Return that there is no memory; see :class:`rolling_controller.law.Law`."""

    def step(
        self,
        memory: None,  # noqa: ARG002
        inputs: ArrayLike,
        t: float,
    ) -> tuple[None, Array]:
        """
        Return the control at a time of the plan; see :class:`rolling_controller.law.Law`.

        Parameters
        ----------
        memory
            None.
        inputs
            State, shape (state.size,).
        t
            Time since the start of the plan [s]; held at its ends.

        Returns
        -------
        tuple of None and NDArray
            Control within its limits, shape (control.size,).

        """
        k, fraction = self._knot(t)
        given = self._law.inputs
        given[0][:] = inputs
        self._law_records[...] = self._records[k : k + 2]
        if self._held is not None:
            self._law_records[:, self._controlled] = self._held.control_at(t)
        given[3][0] = fraction
        return None, self._law.evaluate().copy()

    def as_function(self) -> LawFunction:
        """Return it as a function of vectors."""
        given = lambda t: np.concatenate([self.record(t), *self.limits])  # noqa: E731
        return written(self, regulator(self.system), given)

    def nominal(self, t: float) -> tuple[Array, Array]:
        """Return nominal state and control at a time [s]."""
        found, u = self.record(t), self._controlled
        return found[: u.start], found[u]

    def record(self, t: float) -> Array:
        """Return nominal state, control and rows of K at a time [s], see :func:`law_equations`."""
        k, s = self._knot(t)
        found: Array = (1 - s) * self._records[k] + s * self._records[k + 1]
        if self._held is not None:
            found[self._controlled] = self._held.control_at(t)
        return found

    def _knot(self, t: float) -> tuple[int, float]:
        position = (t - self._start) * self._rate
        k = min(max(int(position), 0), self._last)
        return k, min(max(position - k, 0.0), 1.0)

    def _active(self, names: Sequence[str] | None, *, every: bool) -> NDArray[np.int_]:
        known = self.system.control.names
        if names is None and every:
            return np.arange(len(known))
        if names is None:
            return np.flatnonzero(np.any(self.plan.controls != 0, axis=0))
        check_names(names, known, 'active_controls: no control')
        return np.array([known.index(n) for n in names])

    def left(self, x: ArrayLike) -> Array:
        """
        Return the error at the end that feedback leaves of a start, to first order.

        Parameters
        ----------
        x
            State at the start, shape (state.size,).

        Returns
        -------
        NDArray
            In the tangent space at the end of the motion, shape (tangent.size,).

        """
        off = np.array(self.system.difference(x, self.states[0])).ravel()
        return np.asarray(self._left @ off)

    def following(self) -> Following:
        """Return the law with its motion, as loops take it."""
        given = self.times, self.states, self.warning
        return Following(self, *given, notice=self.notice, left=self.left)

    def _judge(self, reach: Reach, active: NDArray[np.int_], counts: Array) -> None:
        """
        Check the Gramian over the directions that can move, and name those where it is weak.

        The weights make errors of different units comparable.
        """
        self.gramian_least, self.gramian_greatest = 0.0, 0.0
        self.warning = self.notice = ''
        names = [self.system.control.names[k] for k in active]
        keep = moving_directions(self.system, self.plan.states[0], names) if names else active
        keep = keep[counts[keep] > 0]
        if not keep.size:
            return
        unit = counts[keep, None]
        W = unit * reach.gramian[np.ix_(keep, keep)] * unit.T
        directions, values, _ = np.linalg.svd(W)
        self.gramian_least, self.gramian_greatest = float(values[-1]), float(values[0])
        weak = directions[:, values < WEAK * values[0]]
        self._left[keep] = weak @ weak.T @ (unit * reach.transition[keep]) / unit
        part = (weak**2).sum(axis=1)  # the uncorrected part of a unit error in each entry
        errors = [self.system.tangent.names[k] for k in keep[part > NAMED]]
        if errors:
            self.notice = (
                f'along this plan feedback does not correct errors of {", ".join(errors)}, to '
                f'first order (singular values of the Gramian: {self.gramian_least:.3g} to '
                f'{self.gramian_greatest:.3g})'
            )


@once_per_system
def law_function(system: RollingSystem) -> ca.Function:
    """Return :func:`law_equations`, compiled."""
    return compiled(law_equations(system))[0]


@once_per_system
def law_equations(system: RollingSystem) -> ca.Function:
    """
    Return ``(x, record, next, fraction, low, high) -> u``, Eq. (20) within limits.

    A record is (x_nom, u_nom, rows of K); a time lies at a fraction from one to the next.
    """
    n, m, nt = system.state.size, system.control.size, system.tangent.size
    x, fraction = ca.SX.sym('x', n), ca.SX.sym('fraction')
    low, high = ca.SX.sym('low', m), ca.SX.sym('high', m)
    records = [ca.SX.sym(f'r{k}', n + m + m * nt) for k in range(2)]
    r = (1 - fraction) * records[0] + fraction * records[1]
    K = ca.reshape(r[n + m :], nt, m).T
    u = r[n : n + m] - K @ system.difference(x, r[:n])  # (20)
    u = ca.fmin(ca.fmax(u, low), high)
    return ca.Function('feedback', [x, *records, fraction, low, high], [ca.densify(u)])


@once_per_system
def regulator(system: RollingSystem) -> ca.Function:
    """Return the function of a law, see :class:`LawFunction`; given are record, low and high."""
    n, m = system.state.size, system.control.size
    size = n + m + m * system.tangent.size
    sizes = {'z': 0, 'x': n, 't': 1, 'given': size + 2 * m}
    z, x, t, given = (ca.SX.sym(name, count) for name, count in sizes.items())
    at, low, high = ca.vertsplit(given, [0, size, size + m, size + 2 * m])
    u = law_equations(system)(x, at, at, 0, low, high)
    return ca.Function('regulator', [z, x, t, given], [ca.densify(u)])
