"""
The simulated plant behind the simulator node: a pure ``step(control, dt)``.

It holds the state, applies commands, brakes the hand where there are none, and stops where the
contact leaves its envelope.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation.stepped_plant import Step, SteppedPlant


@dataclass(frozen=True, slots=True)
class Observation:
    """
    What can be seen of the plant at one instant.

    Attributes
    ----------
    hand, object_
        q (w, x, y, z), p [m] in the world, w [rad/s], v [m/s] in the body; 13 numbers each.
    X_WCh
        Pose of the contact frame of the hand, shape (4, 4).
    wrench
        Torque [N m] and force [N] on the object, in the contact frame of the hand.
    margins
        Guards of the mode by name: positive inside the envelope.

    """

    hand: NDArray[np.float64]
    object_: NDArray[np.float64]
    X_WCh: NDArray[np.float64]
    wrench: NDArray[np.float64]
    margins: dict[str, float]


class Plant(SteppedPlant):
    """State of a contact system that is stepped in real time."""

    system: ContactSystem

    def __init__(
        self,
        system: ContactSystem,
        params: ArrayLike,
        start: ArrayLike,
        step: Step,
        *,
        brake_time: float = 0.1,
        limits: ArrayLike | None = None,
    ) -> None:
        """
        Put the plant at its start.

        Parameters
        ----------
        system, params, start, step, limits
            See :class:`SteppedPlant`.
        brake_time
            Time constant with which an uncommanded hand comes to rest [s].

        """
        super().__init__(system, params, start, step, limits=limits)
        self._brake_time = brake_time
        self._observe = FastFunction(_observation(system))
        self._margin_names = list(system.mode.guards)
        self._velocity = np.r_[system.state.slice('w_WH_H'), system.state.slice('v_WH_H')]
        self._retract = system.retract
        self._seen: NDArray[np.float64] | None = None

    def reset(self, *, position: ArrayLike = (0, 0), rotation: ArrayLike = (0, 0, 0)) -> None:
        """
        Go back to the start, or near it.

        Parameters
        ----------
        position
            Shift of the contact point on the hand, in its chart (a plane's: metres), 2 numbers.
        rotation
            Turn of the object about its own axes [rad], 3 numbers.

        Raises
        ------
        SimulationError
            There is no rolling contact at the place asked for.

        """
        layout, d = self.system.tangent, np.zeros(self.system.tangent.size)
        d[layout.slice('contact_h')] = position
        d[layout.slice('d_HO')] = rotation
        self.restart(np.array(self._retract(self.start, d)).reshape(-1))

    def push(self, velocity: ArrayLike) -> None:
        """
        Strike the object through its centre of mass.

        Parameters
        ----------
        velocity
            Impulse over the mass of the object, in the world, 3 numbers [m/s]: the velocity that
            it would give the object if that were free.

        """
        if self.fault:
            return
        pushed = self.params.copy()
        pushed[self.system.parameters.slice('gravity_W')] += velocity
        rate, given = self.system.mode.dynamics, (self.x, self.u, self.time)
        # forces enter the rates linearly: what one more of them does in 1 s, its impulse does now
        self.x = self.x + np.array(rate(*given, pushed) - rate(*given, self.params)).ravel()
        self._look(self.x, self.u)

    def brake(self) -> NDArray[np.float64]:
        """Return the control that brings the hand to rest."""
        return self.clipped(-self.x[self._velocity] / self._brake_time)

    def observe(self) -> Observation:
        """Return what can be seen now."""
        out = self._seen
        if out is None:
            out = self._seen = self._observe(self.x, self.u, self.time, self.params)
        return Observation(
            hand=out[0:13],
            object_=out[13:26],
            X_WCh=out[26:42].reshape(4, 4, order='F'),
            wrench=out[42:48],
            margins=dict(zip(self._margin_names, out[48:], strict=True)),
        )

    def _look(self, x: NDArray[np.float64], u: NDArray[np.float64]) -> dict[str, float]:
        self._seen = self._observe(x, u, self.time, self.params)
        return dict(zip(self._margin_names, self._seen[48:].tolist(), strict=True))


def _observation(system: ContactSystem) -> ca.Function:
    """Return ``(x, u, t, p) -> 48 + number of guards`` numbers, see :class:`Observation`."""
    x, u = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
    t, p = ca.SX.sym('t'), ca.SX.sym('p', system.parameters.size)
    values = system.state.split(x)
    _, X_WO, X_WCh = system.pose(x, p)
    w_WO_O, v_WO_O = system.object_twist(x, p)
    hand = ca.vertcat(
        values['q_WH'] / ca.norm_2(values['q_WH']),
        values['p_WH'],
        values['w_WH_H'],
        values['v_WH_H'],
    )
    body = ca.vertcat(_quaternion(X_WO[:3, :3]), X_WO[:3, 3], w_WO_O, v_WO_O)
    mode, wrench = system.mode, system.mode.wrench
    if wrench is None:
        raise ParameterError(f'{system.name} gives no wrench of the contact')
    out = ca.vertcat(
        hand,
        body,
        ca.vec(X_WCh),
        wrench(x, u, t, p),
        *(guard(x, u, t, p) for guard in mode.guards.values()),
    )
    function = ca.Function('observation', [x, u, t, p], [ca.densify(out)])
    return compiled(function)[0]


def _quaternion(R: ca.SX) -> ca.SX:
    """Return the unit quaternion of a rotation matrix, by the largest pivot."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    off = ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    best, q = 1 + trace, ca.vertcat(1 + trace, off)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        pivot = 1 + 2 * R[i, i] - trace
        row = [off[i]] + [ca.SX(0)] * 3
        row[1 + i], row[1 + j], row[1 + k] = pivot, R[i, j] + R[j, i], R[i, k] + R[k, i]
        q = ca.if_else(pivot > best, ca.vertcat(*row), q)
        best = ca.fmax(best, pivot)
    return q / ca.norm_2(q)
