"""
The drives of an arm in space: from accelerations of its hand to torques, and what the arm does.

As the bridge of the planar arm, a reference of the joints is integrated within the limits; torques
are those of the arm's equations with a stiff and damped pull to the reference. The arm that is
driven may be another than the one that is believed in.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import FastFunction
from rolling_hw_interface.bridge_equations import limited_step
from rolling_hw_interface.motor_bridge import BridgeSettings
from rolling_hw_interface.spatial_arm import SIX, SpatialArm

Array = NDArray[np.float64]


class SpatialDrive:
    """
    An arm under its drives. Not for use from two threads at once.

    Attributes
    ----------
    q, qd
        True joint angles [rad] and rates [rad/s].
    torque
        What the motors last gave [N m].
    clipped
        Number of steps in which a limit changed what was commanded.

    """

    def __init__(self, believed: SpatialArm, true: SpatialArm) -> None:
        """Rest where the hand is at home; the equations of one arm drive another."""
        self.arm, self._true = believed, true
        self._stiffness = BridgeSettings().stiffness
        model = believed.model
        limits = tuple(ca.DM(model.limit(n)) for n in ('low', 'high', 'speed', 'acceleration'))
        q, qd, wanted = (ca.SX.sym(n, SIX) for n in ('q', 'qd', 'wanted'))
        dt = ca.SX.sym('dt')
        step = limited_step(q, qd, wanted, dt, limits)
        inputs = [q, qd, wanted, dt]
        self._limited = FastFunction(ca.Function('limited', inputs, [ca.densify(step)]))
        self._most = model.limit('torque')
        self.q, self.qd = np.array(model.home, dtype=float), np.zeros(SIX)
        self._q, self._qd, self._qdd = self.q.copy(), self.qd.copy(), np.zeros(SIX)
        self.torque, self.clipped = np.zeros(SIX), 0

    def step(self, control: ArrayLike, wrench: ArrayLike, dt: float) -> Array:
        """
        Drive for a period.

        Parameters
        ----------
        control
            alpha_WH_H [rad/s^2] and a_WH_H [m/s^2], 6 numbers.
        wrench
            Force [N] and torque [N m] on the hand about its origin, in W.
        dt
            Period [s].

        Returns
        -------
        NDArray
            alpha_WH_H and a_WH_H as they came out, shape (6,).

        Raises
        ------
        ParameterError
            The arm is singular there.

        """
        k = self._stiffness
        pull = 2 * k * (self._qd - self.qd) + k**2 * (self._q - self.q)
        wanted = self._qd + dt * self.arm.joint_acceleration(self._q, self._qd, control)
        for buffer, value in zip(
            self._limited.inputs, (self._q, self._qd, wanted, dt), strict=True
        ):
            buffer[:] = value
        out = self._limited.evaluate().copy()
        self._q, self._qd, self._qdd = out[:6], out[6:12], out[12:18]
        self.clipped += bool(out[18])
        M, h = self.arm.dynamics(self.q, self.qd)
        self.torque = np.clip(M @ (self._qdd + pull) + h, -self._most, self._most)
        M, h = self._true.dynamics(self.q, self.qd)
        load = self._true.joint_torque(self.q, wrench)
        qdd = np.linalg.solve(M, self.torque + load - h)
        moved = self._true.hand_acceleration(self.q, self.qd, qdd)
        self.q, self.qd = self.q + dt * self.qd + dt**2 / 2 * qdd, self.qd + dt * qdd
        return moved

    def hand_state(self) -> Array:
        """Return pose and twist of the hand, see :meth:`SpatialArm.hand_state`."""
        return self._true.hand_state(self.q, self.qd)
