"""Fixed steps through the modes of a system, with events located inside the step."""

from __future__ import annotations

from dataclasses import dataclass, replace
import math

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.mode import MotionState
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import SimulationError
from rolling_dynamics.simulation.guards import joined
from rolling_dynamics.simulation.mode_view import in_mode
from rolling_dynamics.simulation.projection import projection
from rolling_dynamics.simulation.runge_kutta import runge_kutta

HALVINGS = 50  # of a step in which an event is sought
STAGES = 4  # of a step at which slip is looked at, its end among them
STRAIGHT = 0.9  # least cosine between the slips within a step
SHORTEST = 1e-10  # s, of a step in which slip turns
AT_ONCE = 60  # events in one step, after which a run is given up
NOISE = 1e-12  # a guard that is zero to rounding has not fallen


@dataclass(frozen=True, eq=False)
class _Advance:
    """
    A compiled step of one mode.

    ``(x, u, t, h, p) -> x, slip at the stages, guards, the least of them``.
    """

    function: FastFunction
    slip: int  # numbers of the velocity of slip, 0 without
    guards: tuple[str, ...]


class ModeSteps:
    """
    Classical Runge-Kutta steps of order 4 through all modes of a system.

    A step in which a guard falls is ended where it falls, by halving; what follows takes over for
    the rest.
    """

    def __init__(self, system: RollingSystem) -> None:
        """Compile the steps of all modes."""
        self._system, self._n = system, system.state.size
        functions = compiled(*(_advance(system, name) for name in system.modes))
        self._modes = {
            name: _Advance(
                FastFunction(f),
                0 if mode.slip is None else mode.slip.numel_out(0),
                tuple(mode.guards),
            )
            for (name, mode), f in zip(system.modes.items(), functions, strict=True)
        }

    def to(self, s: MotionState, u: Array, goal: float) -> MotionState:
        """Return the state at a time, through all events before it."""
        events = 0
        while s.t < goal and s.ended is None:
            s, guard = self._until_event(s, u, goal)
            if guard is not None:
                s, events = self._after(s, guard, u), events + 1
            if events > AT_ONCE:
                raise SimulationError(
                    f'at t = {s.t:.9g} s the modes change without limit: the contact chatters '
                    f'({s.mode})'
                )
        return s

    def _after(self, s: MotionState, guard: str, u: Array) -> MotionState:
        """Return what follows when a guard has fallen."""
        reset = self._system.modes[s.mode].resets.get(guard)
        if reset is None:
            return s.noted(guard, 'the margin falls through zero', ends=True)
        if isinstance(reset, ca.Function):
            x = np.array(reset(s.x, u, s.t, s.p)).ravel()
            return replace(s, x=x).noted(guard, '')
        return reset(s, u)

    def _until_event(
        self, s: MotionState, u: Array, goal: float
    ) -> tuple[MotionState, str | None]:
        advance = self._modes[s.mode]
        inputs = advance.function.inputs
        inputs[0][:], inputs[1][:], inputs[2][0], inputs[4][:] = s.x, u, s.t, s.p
        h = goal - s.t
        if advance.slip:
            h = self._steady(advance, h)
            guard = self._below(advance)
        else:
            guard = self._fallen(advance, h)
        if guard is not None:
            h, guard = self._locate(advance, h, guard)
        x = advance.function.output[: self._n].copy()
        if not math.isfinite(float(x.sum())):
            raise SimulationError(
                f'the state is no longer finite after the step from t = {s.t:.9g} s by {h:.3g} s'
            )
        t = goal if guard is None and h == goal - s.t else s.t + h
        return MotionState(t=t, x=x, mode=s.mode, p=s.p, events=s.events), guard

    def _steady(self, advance: _Advance, h: float) -> float:
        """
        Return a step in which slip keeps its direction from stage to stage.

        Slip that comes to rest is followed in ever shorter steps; slip that begins is drawn to its
        direction the faster, the slower it is.
        """
        inputs, size = advance.function.inputs, advance.slip
        where = slice(self._n, self._n + size * STAGES)
        inputs[3][0] = 0.0
        slip = advance.function.evaluate()[self._n : self._n + size].copy()
        speed = STRAIGHT * math.hypot(*slip)
        while True:
            inputs[3][0] = h
            v = advance.function.evaluate()[where].reshape(STAGES, size)
            along, sizes = v @ slip, np.hypot(v[:, 0], v[:, -1] if size > 1 else 0.0)
            if h <= SHORTEST or (along > speed * sizes).all():
                return h
            h /= 2

    def _locate(self, advance: _Advance, h: float, guard: str) -> tuple[float, str]:
        """Return the length of the step in which the first guard falls, and its name."""
        low, high = 0.0, h
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            found = self._fallen(advance, middle)
            if found is None:
                low = middle
            else:
                high, guard = middle, found
        self._fallen(advance, high)  # leaves the state there
        return high, guard

    def _fallen(self, advance: _Advance, h: float) -> str | None:
        """Return the name of a guard that is below zero after h seconds, or None."""
        advance.function.inputs[3][0] = h
        advance.function.evaluate()
        return self._below(advance)

    def _below(self, advance: _Advance) -> str | None:
        """Return the name of a guard that is below zero after the step just tried, or None."""
        out = advance.function.output
        if not advance.guards or out[-1] >= -NOISE:
            return None
        values = out[self._n + advance.slip * STAGES : -1]
        return next(n for n, g in zip(advance.guards, values, strict=True) if not g >= -NOISE)


def _advance(system: RollingSystem, name: str) -> ca.Function:
    """Return ``(x, u, t, h, p) -> (x, slip at stages and end, guards, least)`` of a step."""
    mode = system.modes[name]
    x, u = ca.MX.sym('x', system.state.size), ca.MX.sym('u', system.control.size)
    t, h, p = ca.MX.sym('t'), ca.MX.sym('h'), ca.MX.sym('p', system.parameters.size)
    stages, end = runge_kutta(mode.dynamics, x, u, t, h, p)
    y = projection(in_mode(system, name))(end, p)
    parts = [y]
    if mode.slip is not None:
        parts += [mode.slip(z, p) for z in (*stages, y)]
    if mode.guards:
        values = joined('watched', system, list(mode.guards.values()))(y, u, t + h, p)
        parts += [values, ca.mmin(values)]
    return ca.Function(f'hybrid_step_{name}', [x, u, t, h, p], [ca.vertcat(*parts)])
