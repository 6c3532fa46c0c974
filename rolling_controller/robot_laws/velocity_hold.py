"""Driving any robot that is held upright: its hold about a reference that moves."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.balance.hold import Hold
from rolling_controller.law import COMMANDED, state_inputs
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import Entry
from rolling_dynamics.equilibrium import linear_model
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from transforms3d.quaternions import qmult

SMALL = 1e-6  # m, rad: displacement by which the directions of the reference are found
STEEP = np.array([0.4, 0.4, 0.8])  # greatest rate of the reference's velocity, per second
LONGEST = 0.1  # s between two steps that count: after a pause the reference has not moved on
KEPT = 1e-6  # fraction of a motion that may be left over where it counts as steady


class Moving(NamedTuple):
    """Memory: time [s], None at first; position [m], yaw [rad] and velocity of the reference."""

    time: float | None
    position: Array
    yaw: float
    velocity: Array


class VelocityHold:
    """
    Hold about a reference that moves as commanded; see :class:`Law`.

    It takes a state whose position, attitudes and vectors are named by frames: of a floor that
    looks the same everywhere, state and reference are turned into the frame of the reference,
    where the hold stands still.
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
        shifts = (([-SMALL, 0.0], 0.0), ([0.0, -SMALL], 0.0), ([0.0, 0.0], -SMALL))
        turned = [self._seen(hold.x, np.array(p), angle) for p, angle in shifts]
        moves = np.array([np.array(system.difference(y, hold.x)).ravel() for y in turned]).T
        self._state, self._control = self._steady(scenario.p, moves / SMALL)

    def _steady(self, p: Array, moves: Array) -> tuple[Array, Array]:
        """Return state and control, less the hold's, that keep each motion; (n, 3) and (m, 3)."""
        linear = linear_model(self._system, p, self._hold.x, self._hold.u)
        values, vectors = np.linalg.eigh(self._hold.cost)
        counted = (vectors * (values > 1e-9 * values.max())).T
        both = np.hstack([counted @ linear.A, counted @ linear.B])
        found = np.linalg.lstsq(both, counted @ moves, rcond=1e-9)[0]
        left = np.linalg.norm(both @ found - counted @ moves, axis=0)
        wanted = np.linalg.norm(counted @ moves, axis=0)
        self._possible = (left <= KEPT * np.maximum(wanted, 1e-12)) & (wanted > 0)
        if not self._possible[:2].any():
            raise ParameterError(f'no velocity of {self._system.name} can be kept')
        n = self._system.tangent.size
        return found[:n] * self._possible, found[n:] * self._possible

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
        return before or Moving(None, self._position, self._yaw, np.zeros(3))

    def step(self, memory: Moving, inputs: ArrayLike, t: float) -> tuple[Moving, Array]:
        """Return the memory, and the control within the limits at a time [s]."""
        x, command = np.split(np.asarray(inputs, dtype=float), [-3])
        dt = 0.0 if memory.time is None else min(max(t - memory.time, 0.0), LONGEST)
        change = np.clip(command * self._possible - memory.velocity, -STEEP * dt, STEEP * dt)
        velocity, yaw = memory.velocity + change, memory.yaw + memory.velocity[2] * dt
        c, s = math.cos(yaw), math.sin(yaw)
        position = memory.position + np.array([[c, -s], [s, c]]) @ velocity[:2] * dt
        hold = self._hold
        apart = hold.error(self._seen(x, position, yaw)) - self._state @ velocity
        u = hold.u + self._control @ velocity - hold.gain @ apart
        return Moving(t, position, yaw, velocity), np.clip(u, *hold.limits)


def _is_in_world(entry: Entry) -> bool:
    """Return whether an entry is a vector whose first two numbers are along x and y of W."""
    return entry.kind == 'vector' and entry.frame == 'W' and entry.size >= 2
