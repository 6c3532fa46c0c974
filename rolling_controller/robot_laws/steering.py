"""Driving by velocity commands: the heading they turn, and the hold about a moving reference."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
from rolling_controller.balance.hold import Hold, ROUNDING
from rolling_controller.law import Around, COMMANDED, FunctionLaw, Law, state_inputs
from rolling_controller.time_varying_lqr import LqrWeights
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled
from rolling_dynamics.contract.capabilities import smooth_mode
from rolling_dynamics.contract.rolling_system import Entry, Layout, RollingSystem
from rolling_dynamics.equilibrium import floor_motion
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.rotations import product
from rolling_dynamics.scenario import Scenario

LONGEST = 0.5  # s between two steps that count: after a pause ahead has not turned on


def turned(memory: ca.SX, command: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX]:
    """
    Return memory and velocity after the direction ahead has turned on.

    Parameters
    ----------
    memory
        Direction of travel about the normal of the floor [rad], and time of the step before [s],
        not a number at the start.
    command
        Velocity ahead and to the left [m/s], and the rate at which ahead turns [rad/s].
    t
        Time [s].

    Returns
    -------
    tuple of memory and velocity_W
        The velocity along x and y, with the turn rate.

    """
    yaw, before = ca.vertsplit(memory)
    ahead, left, turn = ca.vertsplit(command)
    yaw += turn * ca.if_else(before <= t, ca.fmin(t - before, LONGEST), 0)
    c, s = ca.cos(yaw), ca.sin(yaw)
    velocity = ca.vertcat(c * ahead - s * left, s * ahead + c * left, turn)
    return ca.vertcat(yaw, t), velocity


class Steered(Around):
    """
    A law of the velocity in W, driven by commands that turn; see :class:`Law`.

    Its own memory is the one of :func:`turned`.

    Attributes
    ----------
    possible
        1 for each part of a velocity (forward, left, turn) that it follows, else 0.

    """

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
            Maximum magnitude of each control.
        turns
            Whether it can leave its plane; else only the forward velocity counts.

        """
        self.possible = np.array([1.0, turns, turns])
        most, possible = ca.DM(limits), ca.DM(self.possible)

        def before(z: ca.SX, y: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX]:
            z, velocity = turned(z, y[-3:] * possible, t)
            return z, ca.vertcat(y[:-3], velocity)

        super().__init__(
            law,
            after=lambda u: ca.fmax(ca.fmin(u, most), -most),
            before=before,
            inputs=Layout((law.inputs.entries[0], COMMANDED)),
            memory=[yaw, math.nan],
        )


STEEP = np.array([0.4, 0.4, 0.8])  # maximum rate of the reference's velocity, per second
LONGEST_STEP = 0.1  # s between two steps that count: after a pause the reference has not moved on
STILL = 1e-9  # fraction of a velocity that does not belong to the held motion
KEPT = 1e-6  # fraction of a motion that may be left over where it counts as steady


class VelocityHold(FunctionLaw):
    """
    Hold about a reference that moves as commanded; see :class:`Law`.

    It takes a state whose position, attitudes and vectors are named by frames. The floor is
    uniform, so state and reference are expressed in the frame of the reference, where the hold is
    at rest. The reference has the state and control of the steady motion with its velocity, by the
    equations themselves: on a circle it leans inward.

    Its memory is the time of the last step [s], NaN at first; then the reference: position [m],
    yaw [rad], velocity (forward, left, turn) [m/s, m/s, rad/s], and the difference of state and
    control in steady motion from the first-order ones.

    Attributes
    ----------
    hold
        The hold about the reference.
    possible
        1 for each part of a velocity (forward, left, turn) that it follows, else 0.

    """

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
        position = np.array(placed(system, x))
        step, jacobian, viewed = _functions(system)
        size = system.tangent.size + system.control.size
        still = np.zeros(size), np.zeros(3), scenario.p
        x = np.array(viewed(x, position, math.cos(yaw / 2), math.sin(yaw / 2))).ravel()
        free = _ignorable(system, np.array(jacobian(*still, x, np.zeros(system.control.size))))
        self.hold = hold = Hold(
            system,
            scenario.p,
            x,
            weights=LqrWeights(tracking=dict.fromkeys(free, 0.0)),
            control_limits=scenario.control_limits,
            within=math.inf,
        )
        self.uncontrollable = hold.uncontrollable
        at = scenario.p, hold.x, hold.u
        J, (seen, ways) = np.array(jacobian(*still, *at[1:])), _without(hold, free)
        cost = seen.T @ hold.cost @ seen
        inverse, linear, possible = self._steady(cost, ways, J[:, :-3], -J[:, -3:])
        self.possible = possible
        start = np.concatenate([[math.nan], position, [yaw], np.zeros(3 + size)])
        tables = (table.ravel('F') for table in (hold.gain @ seen, inverse, linear))
        given = np.concatenate([*at, *tables, possible, *hold.limits])
        super().__init__(state_inputs(system, COMMANDED), system.control, step, given, start)

    def _steady(
        self, cost: Array, ways: Array, linear: Array, moves: Array
    ) -> tuple[Array, Array, Array]:
        """Return from rates to what lacks, what keeps each velocity, and whether it is kept."""
        values, vectors = np.linalg.eigh(cost)
        counted = np.vstack([(vectors * (values > 1e-9 * values.max())).T, self.hold.vanishing])
        inverse = ways @ np.linalg.pinv(counted @ linear @ ways, rcond=1e-9) @ counted
        found = inverse @ moves
        left = np.linalg.norm(counted @ (linear @ found - moves), axis=0)
        wanted = np.linalg.norm(counted @ moves, axis=0)
        possible = (left <= KEPT * wanted) & (wanted > STILL * np.linalg.norm(moves, axis=0))
        if not possible[:2].any():
            raise ParameterError(f'no velocity of {self._system.name} can be kept')
        return inverse, found * possible, possible.astype(float)

    def start(self, before: Array | None = None) -> Array:
        """Return the memory at rest where the robot was, or that before; see :class:`Law`."""
        return super().start() if before is None else before


def prepare_velocity_hold(system: RollingSystem) -> None:
    """Compile the step of :class:`VelocityHold`; raise ParameterError where it cannot be."""
    compiled(_functions(system)[0])


def place(system: RollingSystem) -> Entry:
    """Return the entry of the state that is a position on the floor, or raise ParameterError."""
    if system.state.position is None:
        raise ParameterError(
            f'no velocity of {system.name} can be commanded: no entry of its state is a position '
            "on the floor, in m with the frame 'W'"
        )
    return system.state.position


def _ignorable(system: RollingSystem, J: Array) -> list[str]:
    """Return the entries that nothing depends on, such as angles of wheels; they turn on."""
    state, tangent, some = system.state.entries, system.tangent, ROUNDING * np.abs(J).max()
    return [
        moved.name
        for entry, moved in zip(state, tangent.entries, strict=True)
        if not entry.is_position and np.abs(J[:, tangent.slice(moved.name)]).max() <= some
    ]


def _without(hold: Hold, free: list[str]) -> tuple[Array, Array]:
    """
    Return what replaces d in the law, and a basis of what d and control can be in a steady motion.

    The first is the same of what controls move, but does not depend on some entries. Relations
    between velocities that no control moves, such as those of wheels that roll, hold in the basis.
    """
    d, tangent, m = hold.decomposition, hold.system.tangent, hold.system.control.size
    at = [tangent.names.index(name) for name in d.names]
    left_out = np.isin(at, [k for name in free for k in tangent.index(name)])
    out, dying = np.zeros((tangent.size, tangent.size)), d.W @ (d.vanishing @ d.W).T
    out[np.ix_(at, at)] = d.V @ d.without(left_out)
    ways = np.zeros((tangent.size + m, d.V.shape[1] + dying.shape[1] + m))
    ways[at, :-m] = np.hstack([d.V, dying])
    ways[tangent.size :, -m:] = np.eye(m)
    return out, ways


def placed(system: RollingSystem, x: ca.SX) -> ca.SX:
    """Return where a robot is on the floor in a state, shape (2,) [m]."""
    return x[system.state.slice(place(system).name)][:2]


@once_per_system
def _functions(system: RollingSystem) -> tuple[ca.Function, ca.Function, ca.Function]:
    """
    Return the step of the law, the Jacobian of the drift, and the state relative to the reference.

    The step is that of :class:`LawFunction`, given p, x_e, u_e, gain, inverse, linear, possible,
    and minimum and maximum control. The drift ``(d, v, p, x_e, u_e) -> rate`` is that of a state
    in a frame that moves with the velocity v (forward, left, turn), in tangent units; d is state
    and control minus the hold's, x_e and u_e. In a steady motion it is zero.
    """
    n, m = system.tangent.size, system.control.size
    x, command, t = ca.SX.sym('x', system.state.size), ca.SX.sym('command', 3), ca.SX.sym('t')
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
    since = ca.SX.sym('since')
    memory = ca.vertcat(since, position, yaw, velocity, bend)
    dt = ca.if_else(since <= t, ca.fmin(t - since, LONGEST_STEP), 0)
    gain, inverse = ca.SX.sym('gain', m, n), ca.SX.sym('inverse', n + m, n)
    linear, possible = ca.SX.sym('linear', n + m, 3), ca.SX.sym('possible', 3)
    low, high = ca.SX.sym('low', m), ca.SX.sym('high', m)
    most = STEEP * dt
    velocity += ca.fmin(ca.fmax(command * possible - velocity, -most), most)
    after = yaw + memory[6] * dt
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
    out = ca.densify(ca.vertcat(t, position, after, velocity, bend, u))
    tables = [ca.vec(gain), ca.vec(inverse), ca.vec(linear)]
    flat = [ca.SX.sym(f'table_{k}', table.numel()) for k, table in enumerate(tables)]
    out = ca.substitute(out, ca.vertcat(*tables), ca.vertcat(*flat))
    given = ca.vertcat(*at, *flat, possible, low, high)
    step = ca.Function('velocity_step', [memory, ca.vertcat(x, command), t, given], [out])
    return step, jacobian, viewed


def _drift(system: RollingSystem, d: ca.SX, v: ca.SX, at: list[ca.SX]) -> ca.SX:
    """Return the rate of a state in a moving frame, see :func:`_functions`."""
    (p, x_e, u_e), n = at, system.tangent.size
    x = ca.SX(system.retract(x_e, d[:n]))
    rate = ca.SX(smooth_mode(system).dynamics(x, u_e + d[n:], 0.0, p))
    rate -= floor_motion(system.state, x, v)
    y, y0 = ca.SX.sym('y', system.state.size), ca.SX.sym('y0', system.state.size)
    turned = ca.jtimes(system.difference(y, y0), y, rate)
    return ca.densify(ca.substitute(turned, ca.vertcat(y, y0), ca.vertcat(x, x)))


def viewed_from(system: RollingSystem, x: ca.SX, position: ca.SX, half: ca.SX) -> ca.SX:
    """
    Return a state relative to a position on the floor.

    Parameters
    ----------
    system, x
        The system and its state, in its units.
    position
        The position, shape (2,) [m].
    half
        Cosine and sine of half the yaw there, shape (2,).

    """
    out, c, s = ca.SX(x), half[0] ** 2 - half[1] ** 2, 2 * half[0] * half[1]
    turn = ca.vertcat(half[0], 0, 0, -half[1])
    for entry in system.state.entries:
        where = system.state.slice(entry.name)
        if entry.turns_in_world:
            out[where] = product(turn, x[where])
        elif entry.is_in_world:
            first = slice(where.start, where.start + 2)
            a, b = ca.vertsplit(x[first] - (position if entry.is_position else 0))
            out[first] = ca.vertcat(c * a + s * b, c * b - s * a)
    return ca.densify(out)
