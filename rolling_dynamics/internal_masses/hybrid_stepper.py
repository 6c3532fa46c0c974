"""Fixed steps of a ball or a disk through rolling, sliding and flight, events located inside."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.internal_masses.impact import Body, contact_velocity
from rolling_dynamics.internal_masses.system import CREEP
from rolling_dynamics.internal_masses.transitions import Transitions
from rolling_dynamics.robots.view import MotionState
from rolling_dynamics.simulation.projection import projection

Array = NDArray[np.float64]
ON_THE_PLANE = 1e-9  # radii (a second): a centre this high (this fast upwards) is on the plane
HALVINGS = 50  # of a step in which an event is sought
AT_ONCE = 40  # changes of mode in one step, after which a run is given up
SLOW = 30.0  # times the creep: slower slip has come to rest, friction is full above it
STAGES = 4  # of a step, the end among them
NOISE = 1e-12  # a guard that is zero to rounding has not fallen


class HybridStepper:
    """
    Classical Runge-Kutta steps with a held control, through all modes of contact.

    A step in which a guard falls is ended where it falls, by halving; the next mode takes over for
    the rest. Not for use from two threads at once.
    """

    def __init__(self, system: Body, p: ArrayLike, *, sliding: bool = True) -> None:
        """
        Compile the steps.

        Parameters
        ----------
        system, p
            A unilateral ball or disk, and its parameters.
        sliding
            Whether the motion goes on after slip begins.

        """
        if not system.unilateral:
            raise ParameterError('a system built with unilateral=True is needed, it alone can fly')
        self.system, self._p = system, np.asarray(p, dtype=float)
        self._u = np.zeros(system.control.size)
        self._transitions = Transitions(system, self._p, lambda *_: self._u, sliding=sliding)
        functions = compiled(*(_advance(system, mode) for mode in system.modes))
        self._advance = {m: FastFunction(f) for m, f in zip(system.modes, functions, strict=True)}
        self._size = system.state.size
        self._plane = system.axes - 1

    def begin(self, x: ArrayLike) -> MotionState:
        """Return a state with its mode: flight over the plane, sliding where it slips on it."""
        x = np.array(x, dtype=float)
        where, radius = self.system.state.slice, self._p[self.system.parameters.slice('radius')][0]
        slip = contact_velocity(self.system, self._p, x)[: self._plane]
        mode = 'sliding' if np.linalg.norm(slip) > CREEP else 'rolling'
        over = x[where('p_WB')][-1] - radius > ON_THE_PLANE * radius
        leaves = x[where('v_WB_W')][-1] > ON_THE_PLANE * radius
        return MotionState(x, 'flight' if over or leaves else mode)

    def step(self, s: MotionState, u: ArrayLike, dt: float, t: float = 0.0) -> MotionState:
        """
        Return the state after dt seconds of the control u; the same where the motion has ended.

        Parameters
        ----------
        s
            State; it stays as it is.
        u
            Control, held, shape (control.size,).
        dt
            Duration [s], zero or positive.
        t
            Time at the start [s].

        Raises
        ------
        SimulationError
            The state is not finite any more, or modes change without end.

        """
        if s.ended is not None:
            return MotionState(s.x, s.mode, (), s.ended)
        self._u[:] = u
        self._transitions.events = []
        x, mode, end = s.x, s.mode, t + dt
        for _ in range(AT_ONCE):
            x, t, guard = self._until_event(mode, x, t, end)
            if guard is None:
                return MotionState(x, mode, tuple(self._transitions.events))
            following, x = self._transitions.after(mode, guard, t, x)
            if not following:
                events = tuple(self._transitions.events)
                return MotionState(x, mode, events, events[-1])
            mode = following
        raise SimulationError(
            f'at t = {t:.9g} s the modes change without end: the contact chatters ({mode})'
        )

    def _until_event(
        self, mode: str, x: Array, t: float, end: float
    ) -> tuple[Array, float, str | None]:
        """Return state and time at the end, or at the first event before it with its guard."""
        slip = self._stages(self._tried(mode, x, t, 0.0))[-1]
        y, guard = self._judged(mode, self._tried(mode, x, t, end - t), slip)
        if guard is None:
            return y, end, None
        low, high = 0.0, end - t
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            tried, found = self._judged(mode, self._tried(mode, x, t, middle), slip)
            if found is None:
                low = middle
            else:
                high, guard, y = middle, found, tried
        if guard == 'stick':  # beyond it some stage of the step has slipped the other way
            y, _ = self._judged(mode, self._tried(mode, x, t, low), slip)
        return y, t + high, guard

    def _tried(self, mode: str, x: Array, t: float, h: float) -> Array:
        """Return state, slip at the stages and at the end, and guards after h seconds."""
        out = self._advance[mode](x, self._u, t, h, self._p)
        if not math.isfinite(float(out[: self._size].sum())):
            raise SimulationError(
                f'the state is no longer finite after the step from t = {t:.9g} s by {h:.3g} s'
            )
        return out

    def _stages(self, out: Array) -> Array:
        return out[self._size : self._size + STAGES * self._plane].reshape(STAGES, self._plane)

    def _judged(self, mode: str, out: Array, slip: Array) -> tuple[Array, str | None]:
        """Return the state after a step that began with a slip, and the guard below zero."""
        y = out[: self._size]
        before = float(np.linalg.norm(slip))
        least = before * min(SLOW * CREEP, before / 2)
        if mode == 'sliding' and float((self._stages(out) @ slip).min()) <= least:
            return y, 'stick'  # slip that turns round within the step was zero in it
        guards = out[self._size + STAGES * self._plane :]
        fallen = np.flatnonzero(~(guards >= -NOISE))
        return y, list(self.system.modes[mode].guards)[fallen[0]] if fallen.size else None


def _advance(system: Body, mode: str) -> ca.Function:
    """Return ``(x, u, t, h, p) -> state, slip at the stages and the end, guards`` of a step."""
    f = system.modes[mode].dynamics
    x, u = ca.MX.sym('x', system.state.size), ca.MX.sym('u', system.control.size)
    t, h, p = ca.MX.sym('t'), ca.MX.sym('h'), ca.MX.sym('p', system.parameters.size)
    stages, rates = [x], [f(x, u, t, p)]
    for share in (0.5, 0.5, 1.0):
        stages.append(x + share * h * rates[-1])
        rates.append(f(stages[-1], u, t + share * h, p))
    k1, k2, k3, k4 = rates
    y = projection(system)(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), p)
    if mode == 'rolling':  # the integrated velocity of the centre drifts from that of rolling
        where = system.state.slice('v_WB_W')
        slip = system.contact_velocity(y, p)
        y = ca.vertcat(y[: where.start], y[where] - slip, y[where.stop :])
    slips = [system.contact_velocity(z, p)[: system.axes - 1] for z in (*stages[1:], y)]
    guards = [g(y, u, t + h, p) for g in system.modes[mode].guards.values()]
    out = ca.densify(ca.vertcat(y, *slips, *guards))
    return ca.Function(f'hybrid_step_{mode}', [x, u, t, h, p], [out])
