"""Tracking of a plan: errors and margins of a state under a control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import threading

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.law import Course, Following
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.rolling_system import Layout, RollingSystem, Symbols
from rolling_planner.plan import Plan

# between two states, by unit: no motion, but a machine that was put somewhere else
JUMP = {'m': 0.1, 'chart': 0.1, 'rad': 0.5}


@dataclass(frozen=True, slots=True)
class TrackingStep:
    """
    One step of tracking.

    Attributes
    ----------
    t
        Time in the plan [s].
    error
        Norm of the counted part of the state error in the tangent space.
    margins
        Guards of the mode and ``control``, the minimum distance to a limit as a fraction of it.
    lost
        Cause of a lost contact, or the empty string.
    ended
        Whether the plan and the hold after it are over.

    """

    t: float
    error: float
    margins: dict[str, float]
    lost: str
    ended: bool


class Tracker:
    """
    Monitor of errors from a plan, and of the envelope of the contact.

    Attributes
    ----------
    limits
        Maximum magnitude of each control, infinite without a limit.

    """

    def __init__(
        self,
        system: RollingSystem,
        params: ArrayLike,
        *,
        uncounted: Sequence[str] = (),
        limits: ArrayLike | None = None,
        patience: float = 0.02,
    ) -> None:
        """
        Compile the functions that each step evaluates.

        Parameters
        ----------
        system, params
            The system and its parameters p.
        uncounted
            Tangent entries or scalars that are not part of any error.
        limits
            Maximum magnitude of each control; None for no limit.
        patience
            Time for which a margin may be negative before the contact counts as lost [s].

        """
        self._params = np.asarray(params, dtype=float)
        self.limits = (
            np.full(system.control.size, np.inf)
            if limits is None
            else np.asarray(limits, dtype=float)
        )
        self._names = list(_guards(system))
        self._watched = FastFunction(compiled(_watch(system))[0])
        self._turn = threading.Lock()  # a start is checked while a loop holds the machine
        self._counted = _counted(system.tangent, uncounted)
        self._size = system.tangent.size
        entries = system.tangent.entries
        self._jump = np.array([JUMP.get(e.unit, np.inf) for e in entries for _ in range(e.size)])
        self._patience = patience

    def begin(self, plan: Plan, following: Following, *, settle: float = 0.0) -> None:
        """
        Monitor a plan from now on; errors are relative to the motion that its law keeps.

        Parameters
        ----------
        plan, following
            The plan and its law.
        settle
            Time for which the law continues after the end of the plan, if it can hold it [s].

        """
        self._held = settle if following.holds else 0.0
        planned = Course(following.times, following.states, float(plan.times[-1]), plan.states[-1])
        self._course = following.course or (lambda: planned)
        self.forget()

    def forget(self) -> None:
        """Count again for how long a margin has been negative."""
        self._negative_since: float | None = None

    @property
    def end(self) -> float:
        """End of the motion that is followed [s]; infinite as long as it is open."""
        return self._course().end

    def planned(self, t: float) -> Array:
        """Return the state to keep at a time of the plan [s], shape (state.size,), SI units."""
        return self._course().at(t)

    @property
    def shortfall(self) -> str:
        """Reason why the followed motion does not end where it was asked to; else empty."""
        return self._course().shortfall

    def goal_error(self, x: Array) -> float:
        """Return the norm of the error at the end of the motion that is followed."""
        course = self._course()
        if course.missed is not None:
            return course.missed(x)
        return self._apart(x, course.goal, float(course.times[-1]))

    def start_error(self, plan: Plan, x: Array) -> float:
        """Return the norm of the error against the start of a plan."""
        return self._apart(x, plan.states[0], float(plan.times[0]))

    def end_error(self, plan: Plan, x: Array) -> float:
        """Return the norm of the error against the end of a plan."""
        return self._apart(x, plan.states[-1], plan.duration)

    def _apart(self, x: Array, wanted: Array, t: float) -> float:
        """Return the norm of the error against a state at a time."""
        d = self._evaluate(x, wanted, np.zeros(len(self.limits)), t)
        return self.norm(d[: self._size])

    def _evaluate(self, x: Array, wanted: Array, u: Array, t: float) -> Array:
        """Return the error against a state, and margins."""
        with self._turn:
            return self._watched(x, wanted, u, t, self._params)

    def norm(self, error: Array) -> float:
        """Return the norm of what counts of an error, shape (tangent.size,), SI units."""
        return float(np.linalg.norm(error[self._counted]))

    def step(self, t: float, x: Array, u: Array) -> TrackingStep:
        """
        Return error and margins of a state under a control.

        Parameters
        ----------
        t
            Time in the plan [s].
        x
            State, shape (state.size,).
        u
            Control within the limits, shape (control.size,).

        """
        course = self._course()
        out = self._evaluate(x, course.at(t), u, t)
        values = out[self._size :].tolist()
        margins: dict[str, float] = dict(zip(self._names, values, strict=True))
        lost = self._lost(t, margins)
        margins['control'] = float(np.min(1.0 - np.abs(u) / self.limits))
        return TrackingStep(
            t=t,
            error=float(np.linalg.norm(out[: self._size][self._counted])),
            margins=margins,
            lost=lost,
            ended=t >= course.end + self._held,
        )

    def jumped(self, x: Array, before: Array) -> bool:
        """Return whether a held machine was put elsewhere between two states; see :meth:`step`."""
        d = self._evaluate(x, before, np.zeros(len(self.limits)), 0.0)
        return bool((np.abs(d[: self._size]) > self._jump)[self._counted].any())

    def lost(self, t: float, x: Array, u: Array) -> str:
        """Return what ended the contact in a state under a control, or the empty string."""
        margins = self._evaluate(x, x, u, t)[self._size :].tolist()
        return self._lost(t, dict(zip(self._names, margins, strict=True)))

    def _lost(self, t: float, margins: Mapping[str, float]) -> str:
        low = {name: margin for name, margin in margins.items() if not margin > 0.0}
        if not low:
            self._negative_since = None
            return ''
        if self._negative_since is None:
            self._negative_since = t
        if t - self._negative_since < self._patience:
            return ''
        worst = min(low, key=low.__getitem__)
        return f'{worst} = {low[worst]:.4g}, it must be positive'


def _guards(system: RollingSystem) -> Mapping[str, ca.Function]:
    return next(iter(system.modes.values())).guards


def _counted(tangent: Layout, uncounted: Sequence[str]) -> NDArray[np.bool_]:
    out = np.ones(tangent.size, dtype=bool)
    for name in uncounted:
        out[tangent.index(name, 'uncounted: no tangent entry')] = False
    return out


def _watch(system: RollingSystem) -> ca.Function:
    """Return ``(x, reference, u, t, p) -> difference from the reference, guards``."""
    x, u, t, p = Symbols.of(system.state, system.control, system.parameters)
    y = ca.SX.sym('y', system.state.size)
    guards = (guard(x, u, t, p) for guard in _guards(system).values())
    out = ca.densify(ca.vertcat(system.difference(x, y), *guards))
    return ca.Function('tracking_watch', [x, y, u, t, p], [out])
