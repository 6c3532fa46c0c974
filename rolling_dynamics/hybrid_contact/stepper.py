"""Fixed-step motion of a body on a plate with events located inside the step."""

from __future__ import annotations

from dataclasses import dataclass, replace
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.hybrid_contact.contact_status import HybridState
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from rolling_dynamics.hybrid_contact.transitions import NOISE, Transitions

Array = NDArray[np.float64]
HALVINGS = 50  # of a step in which an event is sought
STAGES = 4
STRAIGHT = 0.9  # least cosine between the slips within a step
SHORTEST = 1e-10  # s, of a step in which slip turns
AT_ONCE = 60  # events in one step, after which a run is given up


@dataclass(frozen=True, eq=False)
class _Advance:
    """A compiled step of one mode: ``(x, u, t, h, p) -> x, slip at the stages, guards, least``."""

    function: FastFunction
    guards: tuple[str, ...]


class HybridStepper:
    """
    Classical Runge-Kutta steps of order 4 with a held control, through all modes of contact.

    A step in which a guard falls is ended where it falls, by halving; the next mode takes over for
    the rest. Not for use from two threads at once.
    """

    def __init__(self, system: HybridContactSystem, p: ArrayLike, max_step: float = 1e-3) -> None:
        """
        Compile the steps.

        Parameters
        ----------
        system, p
            The system and its parameters, shape (parameters.size,).
        max_step
            Longest internal step [s]; a longer ``dt`` is divided evenly.

        """
        if not (math.isfinite(max_step) and max_step > 0):
            raise ParameterError(f'max_step must be positive and finite [s], got {max_step!r}')
        self.system, self.max_step = system, max_step
        self.transitions = Transitions(system, p)
        names = list(system.equations)
        functions = compiled(*(_advance(system, name) for name in names))
        self._modes = {
            name: _Advance(FastFunction(f), tuple(system.equations[name].guards))
            for name, f in zip(names, functions, strict=True)
        }
        self._n = system.state.size

    def begin(self, x: ArrayLike, u: ArrayLike | None = None, t: float = 0.0) -> HybridState:
        """Return a state with the mode it is in; see :meth:`Transitions.begin`."""
        held = np.zeros(self.system.control.size) if u is None else np.asarray(u, dtype=float)
        return self.transitions.begin(x, held, t)

    def step(self, s: HybridState, u: ArrayLike, dt: float) -> HybridState:
        """
        Return the state after dt seconds of the control u; the same where the run has stopped.

        Parameters
        ----------
        s
            State; it stays as it is.
        u
            Control, held, shape (control.size,).
        dt
            Duration [s], zero or positive.

        Raises
        ------
        ParameterError
            dt is negative or not a number, or u does not fit.
        SimulationError
            The state is not finite any more, or modes change without end.

        """
        if not (math.isfinite(dt) and dt >= 0):
            raise ParameterError(f'dt must be zero or positive and finite [s], got {dt!r}')
        u = np.array(u, dtype=float)
        if u.shape != (self.system.control.size,) or not math.isfinite(float(u.sum())):
            raise ParameterError(
                f'u takes {self.system.control.size} finite numbers, got shape {u.shape}'
            )
        if s.events:
            s = replace(s, events=())
        end = s.t + dt
        steps = max(1, math.ceil(dt / self.max_step * (1 - 1e-12)))
        for k in range(steps):
            goal = end if k == steps - 1 else s.t + (end - s.t) / (steps - k)
            s = self._to(s, u, goal)
            if s.stopped:
                break
        return s

    def _to(self, s: HybridState, u: Array, goal: float) -> HybridState:
        """Return the state at a time, through all events before it."""
        events = 0
        while s.t < goal and not s.stopped:
            s, guard = self._until_event(s, u, goal)
            if guard is not None:
                s, events = self.transitions.after(s, guard, u), events + 1
            if events > AT_ONCE:
                raise SimulationError(
                    f'at t = {s.t:.9g} s the modes change without end: the contact chatters '
                    f'({s.mode})'
                )
        return s

    def _until_event(
        self, s: HybridState, u: Array, goal: float
    ) -> tuple[HybridState, str | None]:
        advance = self._modes[s.mode]
        inputs = advance.function.inputs
        inputs[0][:], inputs[1][:], inputs[2][0] = s.x, u, s.t
        inputs[4][:] = self.transitions.parameters(s.spin_direction)
        h = goal - s.t
        if s.mode.endswith('slipping'):
            h = self._steady(advance, h)
        guard = self._fallen(s, advance, h)
        if guard is not None:
            h, guard = self._locate(s, advance, h, guard)
        x = advance.function.output[: self._n].copy()
        if not math.isfinite(float(x.sum())):
            raise SimulationError(
                f'the state is no longer finite after the step from t = {s.t:.9g} s by {h:.3g} s'
            )
        t = goal if guard is None and h == goal - s.t else s.t + h
        moved = HybridState(
            t=t,
            x=x,
            mode=s.mode,
            spin_direction=s.spin_direction,
            off_plate=s.off_plate,
            events=s.events,
        )
        return moved, guard

    def _steady(self, advance: _Advance, h: float) -> float:
        """
        Return a step in which slip keeps its direction from stage to stage.

        Slip that comes to rest is followed in ever shorter steps; slip that begins is drawn to its
        direction the faster, the slower it is.
        """
        inputs, where = advance.function.inputs, slice(self._n, self._n + 2 * STAGES)
        inputs[3][0] = 0.0
        slip = advance.function.evaluate()[self._n : self._n + 2].copy()
        speed = math.hypot(*slip)
        while h > SHORTEST:
            inputs[3][0] = h
            v = advance.function.evaluate()[where].reshape(STAGES, 2)
            along, size = v @ slip, np.hypot(v[:, 0], v[:, 1])
            if bool(np.all(along > STRAIGHT * speed * size)):
                break
            h /= 2
        return h

    def _locate(
        self, s: HybridState, advance: _Advance, h: float, guard: str
    ) -> tuple[float, str]:
        """Return the length of the step in which the first guard falls, and its name."""
        low, high = 0.0, h
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            found = self._fallen(s, advance, middle)
            if found is None:
                low = middle
            else:
                high, guard = middle, found
        self._fallen(s, advance, high)  # leaves the state there
        return high, guard

    def _fallen(self, s: HybridState, advance: _Advance, h: float) -> str | None:
        """Return the name of a guard that is below zero after h seconds, or None."""
        advance.function.inputs[3][0] = h
        out = advance.function.evaluate()
        if out[-1] >= -NOISE or s.off_plate:
            return None
        values = out[self._n + 2 * STAGES : -1]
        return next(n for n, g in zip(advance.guards, values, strict=True) if not g >= -NOISE)


class HybridPlant:
    """A body on a plate as an object that is stepped: ``step(u, dt)``, no clock, no randomness."""

    def __init__(
        self,
        system: HybridContactSystem,
        p: ArrayLike,
        x: ArrayLike,
        u: ArrayLike | None = None,
        *,
        max_step: float = 1e-3,
    ) -> None:
        """Place the body; its mode follows from the state and the control at the start."""
        self.stepper = HybridStepper(system, p, max_step)
        self.state = self.stepper.begin(x, u)

    def step(self, u: ArrayLike, dt: float) -> HybridState:
        """Move on by dt seconds [s] under the control u; return the state, with its events."""
        self.state = self.stepper.step(self.state, u, dt)
        return self.state

    def reset(self, x: ArrayLike, u: ArrayLike | None = None, t: float = 0.0) -> HybridState:
        """Place the body anew."""
        self.state = self.stepper.begin(x, u, t)
        return self.state


def _advance(system: HybridContactSystem, name: str) -> ca.Function:
    """Return ``(x, u, t, h, p) -> (x, slip at stages and end, guards, least)`` of a step."""
    mode = system.modes[name]
    f = mode.dynamics
    x, u = ca.MX.sym('x', system.state.size), ca.MX.sym('u', system.control.size)
    t, h = ca.MX.sym('t'), ca.MX.sym('h')
    p = ca.MX.sym('p', system.parameters.size)
    e = system.expressions
    slip = ca.Function('slip', [e.x, e.p], [ca.densify(e.scene.v_contact[0:2])])
    k1 = f(x, u, t, p)
    stages = [x + h / 2 * k1]
    k2 = f(stages[0], u, t + h / 2, p)
    stages.append(x + h / 2 * k2)
    k3 = f(stages[1], u, t + h / 2, p)
    stages.append(x + h * k3)
    k4 = f(stages[2], u, t + h, p)
    y = system.projections[name](x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), p)
    watch = name.endswith('slipping')
    slips = [slip(z, p) if watch else ca.MX.zeros(2) for z in (*stages, y)]
    guards = system.function('watched', ca.vertcat(*system.equations[name].guards.values()))
    values = guards(y, u, t + h, p)
    out = ca.vertcat(y, *slips, values, ca.mmin(values))
    return ca.Function(f'hybrid_step_{name}', [x, u, t, h, p], [out])
