"""Driving by velocity commands: the heading they turn, and the hold about a moving reference."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.balance.hold import Hold
from rolling_controller.law import COMMANDED, Law, state_inputs
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.layout import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from transforms3d.quaternions import qmult

LONGEST = 0.5  # s between two steps that count: after a pause ahead has not turned on


class Steering(NamedTuple):
    """
    Memory of a law that is driven.

    Attributes
    ----------
    yaw
        Direction of travel about the normal of the floor [rad].
    time
        Of the step before [s]; None at the start.
    law
        Memory of what keeps the velocity.

    """

    yaw: float
    time: float | None
    law: Any

    def turned(self, t: float, command: Array) -> tuple[float, Array]:
        """
        Return the yaw after ahead has turned on, and the velocity in W.

        Parameters
        ----------
        t
            Time [s], increasing.
        command
            Velocity ahead and to the left [m/s], and the rate at which ahead turns [rad/s] (3).

        Returns
        -------
        tuple of float and Array
            Yaw [rad]; velocity along x and y [m/s] and turn rate [rad/s], shape (3,).

        """
        ahead, left, turn = command.tolist()
        yaw = self.yaw
        if self.time is not None:
            yaw += turn * min(max(t - self.time, 0.0), LONGEST)
        c, s = math.cos(yaw), math.sin(yaw)
        return yaw, np.array([c * ahead - s * left, s * ahead + c * left, turn])


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

    def start(self, before: Steering | None = None) -> Steering:  # noqa: ARG002
        """Return the memory at the heading of the start."""
        return Steering(self._yaw, None, self._law.start())

    def step(self, memory: Steering, inputs: ArrayLike, t: float) -> tuple[Steering, Array]:
        """Return the memory, and the control within the limits at a time [s]."""
        x, command = np.split(np.asarray(inputs, dtype=float), [-3])
        yaw, velocity_W = memory.turned(t, self._possible * command)
        law, u = self._law.step(memory.law, np.concatenate([x, velocity_W]), t)
        return Steering(yaw, t, law), np.clip(u, -self._limits, self._limits)


STEEP = np.array([0.4, 0.4, 0.8])  # greatest rate of the reference's velocity, per second
LONGEST_STEP = 0.1  # s between two steps that count: after a pause the reference has not moved on
KEPT = 1e-6  # fraction of a motion that may be left over where it counts as steady


class Moving(NamedTuple):
    """
    Memory.

    Attributes
    ----------
    time
        Time of the last step [s]; None at first.
    position, yaw, velocity
        Of the reference [m], [rad], (forward, left, turn) [m/s, m/s, rad/s].
    bend
        What the steady motion of this velocity differs by from the linear one: state and control.

    """

    time: float | None
    position: Array
    yaw: float
    velocity: Array
    bend: Array


class VelocityHold:
    """
    Hold about a reference that moves as commanded; see :class:`Law`.

    It takes a state whose position, attitudes and vectors are named by frames: of a floor that
    looks the same everywhere, state and reference are turned into the frame of the reference,
    where the hold stands still. The reference has the state and control of the steady motion with
    its velocity, by the equations themselves: on a circle it leans inward.
    """

    period: float | None = None
    opaque = 'a function of Python'

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
        planar = [e for e in system.state.entries if e.name.startswith('p_W') and e.size >= 2]
        if not planar:
            raise ParameterError(
                f'no velocity of {system.name} can be commanded: no entry p_W... of its state '
                'is a position on the floor'
            )
        self._place, self._yaw = planar[0], yaw
        self.inputs, self.output = state_inputs(system, COMMANDED), system.control
        self._position = np.array(x[system.state.slice(self._place.name)][:2])
        local = self._seen(x, self._position, yaw)
        hold = self._hold = Hold(
            system, scenario.p, local, control_limits=scenario.control_limits, within=math.inf
        )
        self.uncontrollable = hold.uncontrollable
        self._state_size = system.tangent.size
        drift, jacobian = self._drift(scenario.p)
        self._drift_of = FastFunction(drift)
        J = np.array(jacobian(np.zeros(drift.numel_in(0)), np.zeros(3)))
        self._steady(J[:, :-3], -J[:, -3:])

    def _drift(self, p: Array) -> tuple[ca.Function, ca.Function]:
        """
        Return ``(d, v) -> rate`` of a state seen from a frame that moves, and its Jacobian.

        d is state and control less those of the hold, v the velocity (forward, left, turn) of the
        frame; the rate is in tangent units. In a steady motion it is zero.
        """
        system, hold, n = self._system, self._hold, self._system.tangent.size
        d, v = ca.SX.sym('d', n + system.control.size), ca.SX.sym('v', 3)
        x = ca.SX(system.retract(hold.x, d[:n]))
        rate = ca.SX(next(iter(system.modes.values())).dynamics(x, hold.u + d[n:], 0.0, p))
        for entry in system.state.entries:
            where = system.state.slice(entry.name)
            first = slice(where.start, where.start + 2)
            if entry.kind == 'quaternion' and entry.name.startswith('q_W'):
                q = x[where]
                rate[where] -= v[2] / 2 * ca.vertcat(-q[3], -q[2], q[1], q[0])
            elif _is_in_world(entry):
                rate[first] -= v[2] * ca.vertcat(-x[first][1], x[first][0])
                if entry.name == self._place.name:
                    rate[first] -= v[:2]
        y, y0 = ca.SX.sym('y', system.state.size), ca.SX.sym('y0', system.state.size)
        turned = ca.jtimes(system.difference(y, y0), y, rate)
        seen = ca.densify(ca.substitute(turned, ca.vertcat(y, y0), ca.vertcat(x, x)))
        jacobian = ca.Function('jacobian', [d, v], [ca.jacobian(seen, ca.vertcat(d, v))])
        return compiled(ca.Function('drift', [d, v], [seen]))[0], jacobian

    def _steady(self, linear: Array, moves: Array) -> None:
        """Find state and control, less the hold's, that keep each motion to first order."""
        values, vectors = np.linalg.eigh(self._hold.cost)
        counted = (vectors * (values > 1e-9 * values.max())).T
        self._inverse = np.linalg.pinv(counted @ linear, rcond=1e-9) @ counted
        found = self._inverse @ moves
        left = np.linalg.norm(counted @ (linear @ found - moves), axis=0)
        wanted = np.linalg.norm(counted @ moves, axis=0)
        self._possible = (left <= KEPT * np.maximum(wanted, 1e-12)) & (wanted > 0)
        if not self._possible[:2].any():
            raise ParameterError(f'no velocity of {self._system.name} can be kept')
        self._linear = found * self._possible

    def _seen(self, x: Array, position: Array, yaw: float) -> Array:
        """Return a state as it is seen from a place on the floor, heading along a yaw."""
        out, c, s = np.array(x), math.cos(yaw), math.sin(yaw)
        back = np.array([[c, s], [-s, c]])
        turn = [math.cos(yaw / 2), 0.0, 0.0, -math.sin(yaw / 2)]
        for entry in self._system.state.entries:
            where = self._system.state.slice(entry.name)
            if entry.kind == 'quaternion' and entry.name.startswith('q_W'):
                out[where] = qmult(turn, out[where])
            elif _is_in_world(entry):
                first = slice(where.start, where.start + 2)
                shifted = out[first] - position if entry.name == self._place.name else out[first]
                out[first] = back @ shifted
        return out

    def start(self, before: Moving | None = None) -> Moving:
        """Return the reference at rest where the robot was."""
        still = np.zeros(len(self._linear))
        return before or Moving(None, self._position, self._yaw, np.zeros(3), still)

    def step(self, memory: Moving, inputs: ArrayLike, t: float) -> tuple[Moving, Array]:
        """Return the memory, and the control within the limits at a time [s]."""
        x, command = np.split(np.asarray(inputs, dtype=float), [-3])
        dt = 0.0 if memory.time is None else min(max(t - memory.time, 0.0), LONGEST_STEP)
        change = np.clip(command * self._possible - memory.velocity, -STEEP * dt, STEEP * dt)
        velocity, yaw = memory.velocity + change, memory.yaw + memory.velocity[2] * dt
        c, s = math.cos(yaw), math.sin(yaw)
        position = memory.position + np.array([[c, -s], [s, c]]) @ velocity[:2] * dt
        hold, n, linear = self._hold, self._state_size, self._linear @ velocity
        bend = memory.bend - self._inverse @ self._drift_of(linear + memory.bend, velocity)
        size = float(np.linalg.norm(bend))  # far from small velocities it may not converge
        bend *= min(1.0, float(np.linalg.norm(linear)) / max(size, 1e-12))
        kept = linear + bend
        apart = hold.error(self._seen(x, position, yaw)) - kept[:n]
        u = hold.u + kept[n:] - hold.gain @ apart
        return Moving(t, position, yaw, velocity, bend), np.clip(u, *hold.limits)


def _is_in_world(entry: Entry) -> bool:
    """Return whether an entry is a vector whose first two numbers are along x and y of W."""
    return entry.kind == 'vector' and entry.frame == 'W' and entry.size >= 2
