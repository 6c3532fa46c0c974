"""Driving by velocity commands: the heading they turn, and the hold about a moving reference."""

from __future__ import annotations

from functools import cache
import math
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.balance.hold import Hold
from rolling_controller.law import (
    as_function,
    COMMANDED,
    Law,
    LawFunction,
    split,
    state_inputs,
    written,
)
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.capabilities import smooth_mode
from rolling_dynamics.contract.rolling_system import Entry, Layout, RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.rotations import product
from rolling_dynamics.scenario import Scenario

LONGEST = 0.5  # s between two steps that count: after a pause ahead has not turned on


class Steering(NamedTuple):
    """
    Memory of a law that is driven.

    Attributes
    ----------
    yaw
        Direction of travel about the normal of the floor [rad].
    time
        Of the step before [s]; not a number at the start.
    law
        Memory of what keeps the velocity.

    """

    yaw: float
    time: float
    law: Any


@cache
def turning() -> ca.Function:
    """
    Return ``(yaw, time before, command, t) -> yaw, velocity_W`` after ahead has turned on.

    The command is a velocity ahead and to the left [m/s], and the rate at which ahead turns
    [rad/s]; the velocity is along x and y, with the turn rate.
    """
    yaw, before, t = (ca.SX.sym(name) for name in ('yaw', 'before', 't'))
    command = ca.SX.sym('command', 3)
    now = yaw + command[2] * ca.if_else(before <= t, ca.fmin(t - before, LONGEST), 0)
    c, s = ca.cos(now), ca.sin(now)
    ahead, left, turn = ca.vertsplit(command)
    out = ca.vertcat(now, c * ahead - s * left, s * ahead + c * left, turn)
    return ca.Function('turning', [yaw, before, command, t], [out])


class Steered:
    """A law of the velocity in W, driven by commands that turn; see :class:`Law`."""

    period: float | None = None

    def __init__(self, law: Law[Any], yaw: float, limits: Array, *, turns: bool = True) -> None:
        """
        Take the law and the heading.

        Parameters
        ----------
        law
            Takes the state and ``velocity_W``.
        yaw
            Heading at the start [rad].
        limits
            Greatest magnitude of each control.
        turns
            Whether it can leave its plane; else only the velocity ahead counts.

        """
        self.inputs = Layout((law.inputs.entries[0], COMMANDED))
        self.output, self.opaque = law.output, law.opaque
        self._law, self._yaw, self._limits = law, yaw, limits
        self._possible = np.array([1.0, turns, turns])
        self._turning = FastFunction(turning())

    def start(self, before: Steering | None = None) -> Steering:  # noqa: ARG002
        """Return the memory at the heading of the start."""
        return Steering(self._yaw, math.nan, self._law.start())

    def step(self, memory: Steering, inputs: ArrayLike, t: float) -> tuple[Steering, Array]:
        """Return the memory, and the control within the limits at a time [s]."""
        x, command = np.split(np.asarray(inputs, dtype=float), [-3])
        turned = self._turning(memory.yaw, memory.time, self._possible * command, t)
        law, u = self._law.step(memory.law, np.concatenate([x, turned[1:]]), t)
        return Steering(float(turned[0]), t, law), np.clip(u, -self._limits, self._limits)

    def as_function(self) -> LawFunction:
        """Return it as a function of vectors."""
        law, most = as_function(self._law), ca.DM(self._limits)

        def step(z: ca.SX, y: ca.SX, t: ca.SX, given: ca.SX) -> tuple[ca.SX, ca.SX]:
            (own, was), (x, command) = split(z, 2), split(y, y.numel() - 3)
            turned = turning()(own[0], own[1], command * ca.DM(self._possible), t)
            both = law.function(was, ca.vertcat(x, turned[1:]), t, given)
            memory, u = split(both, law.memory.size)
            return ca.vertcat(turned[0], t, memory), ca.fmax(ca.fmin(u, most), -most)

        return written(self, step, law.given, [self._yaw, math.nan, *law.memory])


STEEP = np.array([0.4, 0.4, 0.8])  # greatest rate of the reference's velocity, per second
LONGEST_STEP = 0.1  # s between two steps that count: after a pause the reference has not moved on
NEWTON = 20  # steps to a steady motion
STILL = 1e-9  # fraction of a velocity that is not one of what is held
KEPT = 1e-6  # fraction of a motion that may be left over where it counts as steady


class VelocityHold:
    """
    Hold about a reference that moves as commanded; see :class:`Law`.

    It takes a state whose position, attitudes and vectors are named by frames: of a floor that
    looks the same everywhere, state and reference are turned into the frame of the reference,
    where the hold stands still. The reference has the state and control of the steady motion with
    its velocity, by the equations themselves: on a circle it leans inward.

    Its memory is the time of the last step [s], not a number at first; then the reference:
    position [m], yaw [rad], velocity (forward, left, turn) [m/s, m/s, rad/s], and what state and
    control of its steady motion differ by from those of first order.
    """

    period: float | None = None
    opaque = ''

    def __init__(self, scenario: Scenario, x: Array, yaw: float) -> None:
        """
        Find the hold and the steady motions about it.

        Parameters
        ----------
        scenario
            Of the robot.
        x, yaw
            State at the start and heading there [rad].

        Raises
        ------
        ParameterError
            The state names no position in W, cannot be held, or no velocity can be kept.

        """
        system = self._system = scenario.system
        self.inputs, self.output = state_inputs(system, COMMANDED), system.control
        position = np.array(placed(system, x))
        step, drift, jacobian, viewed = _functions(system)
        self.hold = hold = Hold(
            system,
            scenario.p,
            np.array(viewed(x, position, math.cos(yaw / 2), math.sin(yaw / 2))).ravel(),
            control_limits=scenario.control_limits,
            within=math.inf,
        )
        self.uncontrollable = hold.uncontrollable
        size = system.tangent.size + system.control.size
        at = scenario.p, hold.x, hold.u
        J = np.array(jacobian(np.zeros(size), np.zeros(3), *at))
        inverse, linear, possible = self._steady(hold.cost, J[:, :-3], -J[:, -3:])
        self._motion, self.possible = (drift, at, inverse, linear), possible
        self._start = np.concatenate([[math.nan], position, [yaw], np.zeros(3 + size)])
        tables = (table.ravel('F') for table in (hold.gain, inverse, linear))
        self._given = *at, *tables, possible, *hold.limits
        self._step = FastFunction(compiled(step)[0])
        for array, value in zip(self._step.inputs[4:], self._given, strict=True):
            array[:] = value

    def _steady(self, cost: Array, linear: Array, moves: Array) -> tuple[Array, Array, Array]:
        """Return from rates to what lacks, what keeps each velocity, and whether it is kept."""
        values, vectors = np.linalg.eigh(cost)
        counted = np.vstack([(vectors * (values > 1e-9 * values.max())).T, self.hold.vanishing])
        inverse = np.linalg.pinv(counted @ linear, rcond=1e-9) @ counted
        found = inverse @ moves
        left = np.linalg.norm(counted @ (linear @ found - moves), axis=0)
        wanted = np.linalg.norm(counted @ moves, axis=0)
        possible = (left <= KEPT * wanted) & (wanted > STILL * np.linalg.norm(moves, axis=0))
        if not possible[:2].any():
            raise ParameterError(f'no velocity of {self._system.name} can be kept')
        return inverse, found * possible, possible.astype(float)

    def steady(self, velocity: ArrayLike) -> Array:
        """Return state and control of a steady motion less those of the hold; see the class."""
        drift, at, inverse, linear = self._motion
        d = linear @ np.asarray(velocity, dtype=float)
        for _ in range(NEWTON):
            d = d - inverse @ np.array(drift(d, velocity, *at)).ravel()
        return np.asarray(d)

    def start(self, before: Array | None = None) -> Array:
        """Return the reference, a state, at rest where the robot was."""
        return self._start if before is None else before

    def step(self, memory: Array, inputs: ArrayLike, t: float) -> tuple[Array, Array]:
        """Return the memory, and the control within the limits at a time [s]."""
        given = np.asarray(inputs, dtype=float)
        dt = min(max(t - memory[0], 0.0), LONGEST_STEP) if memory[0] <= t else 0.0
        self._step.renew()
        z, x, command, h = self._step.inputs[:4]
        z[:], x[:], command[:], h[0] = memory[1:], given[:-3], given[-3:], dt
        out, count = self._step.evaluate(), self.output.size
        return np.concatenate([[t], out[:-count]]), out[-count:].copy()

    def as_function(self) -> LawFunction:
        """Return it as a function of vectors."""
        f, ends = _functions(self._system)[0], np.cumsum([0, *map(len, self._given)]).tolist()

        def step(z: ca.SX, y: ca.SX, t: ca.SX, given: ca.SX) -> tuple[ca.SX, ca.SX]:
            dt = ca.if_else(z[0] <= t, ca.fmin(t - z[0], LONGEST_STEP), 0)
            out = f(z[1:], y[:-3], y[-3:], dt, *ca.vertsplit(given, ends))
            return split(ca.vertcat(t, out), z.numel())

        return written(self, step, np.concatenate(self._given), self._start)


def prepare_velocity_hold(system: RollingSystem) -> None:
    """Compile the step of :class:`VelocityHold`; raise ParameterError where it cannot be."""
    compiled(_functions(system)[0])


def _place(system: RollingSystem) -> Entry:
    """Return the entry of the state that is a position on the floor, or raise ParameterError."""
    found = next((e for e in system.state.entries if _is_in_world(e) and e.unit == 'm'), None)
    if found is None:
        raise ParameterError(
            f'no velocity of {system.name} can be commanded: no entry of its state is a position '
            "on the floor, in m with the frame 'W'"
        )
    return found


def placed(system: RollingSystem, x: ca.SX) -> ca.SX:
    """Return where a robot is on the floor in a state, shape (2,) [m]."""
    return x[system.state.slice(_place(system).name)][:2]


@once_per_system
def _functions(system: RollingSystem) -> tuple[ca.Function, ca.Function, ca.Function, ca.Function]:
    """
    Return the step of the law, the drift, its Jacobian, and the state seen by the reference.

    The step is ``(memory without time, x, command, dt, p, x_e, u_e, gain, inverse, linear,
    possible, low, high) -> [memory, u]``. The drift ``(d, v, p, x_e, u_e) -> rate`` is that of a
    state seen from a frame that moves with the velocity v (forward, left, turn), in tangent units;
    d is state and control less those of the hold, x_e and u_e. In a steady motion it is zero.
    """
    n, m = system.tangent.size, system.control.size
    x, command, dt = ca.SX.sym('x', system.state.size), ca.SX.sym('command', 3), ca.SX.sym('dt')
    d, v, p = ca.SX.sym('d', n + m), ca.SX.sym('v', 3), ca.SX.sym('p', system.parameters.size)
    x_e, u_e = ca.SX.sym('x_e', system.state.size), ca.SX.sym('u_e', m)
    at = [p, x_e, u_e]
    rate = _drift(system, d, v, at)
    drift = ca.Function('drift', [d, v, *at], [rate])
    jacobian = ca.Function('jacobian', [d, v, *at], [ca.jacobian(rate, ca.vertcat(d, v))])
    position, yaw, velocity, bend = (
        ca.SX.sym(name, size)
        for name, size in (('position', 2), ('yaw', 1), ('velocity', 3), ('bend', n + m))
    )
    half = ca.SX.sym('half', 2)
    viewed = ca.Function(
        'seen', [x, position, half[0], half[1]], [viewed_from(system, x, position, half)]
    )
    memory = ca.vertcat(position, yaw, velocity, bend)
    gain, inverse = ca.SX.sym('gain', m, n), ca.SX.sym('inverse', n + m, n)
    linear, possible = ca.SX.sym('linear', n + m, 3), ca.SX.sym('possible', 3)
    low, high = ca.SX.sym('low', m), ca.SX.sym('high', m)
    most = STEEP * dt
    velocity += ca.fmin(ca.fmax(command * possible - velocity, -most), most)
    after = yaw + memory[5] * dt
    c, s = ca.cos(after), ca.sin(after)
    turn = ca.blockcat([[c, -s], [s, c]])
    position += turn @ velocity[:2] * dt
    # across the ways that it can go the reference stays with the robot
    position += turn @ ((1 - possible[:2]) * (turn.T @ (placed(system, x) - position)))
    first = linear @ velocity
    bend -= inverse @ drift(first + bend, velocity, *at)
    # far from small velocities it may not converge
    bend *= ca.fmin(1.0, ca.norm_2(first) / ca.fmax(ca.norm_2(bend), 1e-12))
    kept = first + bend
    near = viewed(x, position, ca.cos(after / 2), ca.sin(after / 2))
    apart = system.difference(near, x_e) - kept[:n]
    u = ca.fmin(ca.fmax(u_e + kept[n:] - gain @ apart, low), high)
    out = ca.densify(ca.vertcat(position, after, velocity, bend, u))
    tables = [ca.vec(gain), ca.vec(inverse), ca.vec(linear)]
    flat = [ca.SX.sym(f'table_{k}', table.numel()) for k, table in enumerate(tables)]
    out = ca.substitute(out, ca.vertcat(*tables), ca.vertcat(*flat))
    arguments = [memory, x, command, dt, *at, *flat, possible, low, high]
    return ca.Function('velocity_step', arguments, [out]), drift, jacobian, viewed


def _drift(system: RollingSystem, d: ca.SX, v: ca.SX, at: list[ca.SX]) -> ca.SX:
    """Return the rate of a state seen from a frame that moves, see :func:`_functions`."""
    (p, x_e, u_e), n = at, system.tangent.size
    x = ca.SX(system.retract(x_e, d[:n]))
    rate = ca.SX(smooth_mode(system).dynamics(x, u_e + d[n:], 0.0, p))
    for entry in system.state.entries:
        where = system.state.slice(entry.name)
        first = slice(where.start, where.start + 2)
        if _turns_in_world(entry):
            q = x[where]
            rate[where] -= v[2] / 2 * ca.vertcat(-q[3], -q[2], q[1], q[0])
        elif _is_in_world(entry):
            rate[first] -= v[2] * ca.vertcat(-x[first][1], x[first][0])
            if entry.name == _place(system).name:
                rate[first] -= v[:2]
    y, y0 = ca.SX.sym('y', system.state.size), ca.SX.sym('y0', system.state.size)
    turned = ca.jtimes(system.difference(y, y0), y, rate)
    return ca.densify(ca.substitute(turned, ca.vertcat(y, y0), ca.vertcat(x, x)))


def viewed_from(system: RollingSystem, x: ca.SX, position: ca.SX, half: ca.SX) -> ca.SX:
    """
    Return a state as it is seen from a place on the floor.

    Parameters
    ----------
    system, x
        The system and its state, in its units.
    position
        The place, shape (2,) [m].
    half
        Cosine and sine of half the yaw there, shape (2,).

    """
    out, c, s = ca.SX(x), half[0] ** 2 - half[1] ** 2, 2 * half[0] * half[1]
    turn = ca.vertcat(half[0], 0, 0, -half[1])
    for entry in system.state.entries:
        where = system.state.slice(entry.name)
        if _turns_in_world(entry):
            out[where] = product(turn, x[where])
        elif _is_in_world(entry):
            first = slice(where.start, where.start + 2)
            a, b = ca.vertsplit(x[first] - (position if entry == _place(system) else 0))
            out[first] = ca.vertcat(c * a + s * b, c * b - s * a)
    return ca.densify(out)


def _turns_in_world(entry: Entry) -> bool:
    """Return whether an entry is the attitude of a body in W, by its frame or its name."""
    in_world = entry.frame == 'W' or entry.name.startswith('q_W')
    return entry.kind == 'quaternion' and in_world


def _is_in_world(entry: Entry) -> bool:
    """Return whether an entry is a vector whose first two numbers are along x and y of W."""
    return entry.kind == 'vector' and entry.frame == 'W' and entry.size >= 2
