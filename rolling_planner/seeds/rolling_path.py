"""The rolling kinematics of a contact as compiled steps, for many paths at a time."""

from __future__ import annotations

from collections import OrderedDict

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contact.rolling_dynamics import E1
from rolling_dynamics.simulation.stepper import step_of_order_4
from rolling_dynamics.small_matrices import inverse_2x2

KEPT = 12
_KEPT: OrderedDict[str, RollingPath] = OrderedDict()


class RollingPath:
    """
    Integrates the configuration (q_HO, contact_h) under a given motion of the contact.

    The motion is ``v``, 3 numbers: velocity of the contact point over the hand in Ch [m/s] and
    spin of the object about the normal [rad/s].
    """

    def __init__(self, system: ContactSystem) -> None:
        """
        Write out and compile one step.

        Parameters
        ----------
        system
            In the attitude representation.

        """
        e, state = system.expressions, system.expressions.state
        self.index = np.r_[system.state.slice('q_HO'), system.state.slice('contact_h')]
        frame, velocity = state.geometry.frame, e.values['w_HO_H']
        v = ca.SX.sym('v', 3)
        bend = state.relative_curvature @ v[:2]  # (H~_o + H_h) v = E1 (w_x, w_y), Eq. (32)
        w = frame @ ca.vertcat(bend[1], -bend[0], v[2])
        rate = ca.vertcat(state.rates['q_HO'], state.rates['contact_h'])
        rate = ca.substitute(rate, velocity, ca.densify(w))
        c, x = ca.SX.sym('c', len(self.index)), ca.SX(e.x)
        x[self.index.tolist()] = c
        rate, w_c = ca.substitute([rate, w], [e.x], [x])
        f = ca.Function('f', [c, v, e.x, e.p], [rate])
        h, *ends = ca.SX.sym('h'), *(ca.SX.sym(f'v{k}', 3) for k in range(3))
        _, end = step_of_order_4(lambda at, k: f(at, ends[k], e.x, e.p), c, h)
        own = frame.T @ velocity  # what a state's own motion of the contact is
        over = inverse_2x2(state.relative_curvature) @ E1 @ own[:2]
        step, self._turning, self._own = compiled(
            ca.Function('rolling_step', [c, *ends, h, e.x, e.p], [end]),
            ca.Function('rolling_velocity', [c, v, e.x, e.p], [w_c]),
            ca.Function('contact_motion', [e.x, e.p], [ca.vertcat(over, own[2])]),
        )
        self._step = step
        self._maps: dict[tuple[int, int], ca.Function] = {}

    @classmethod
    def of(cls, system: ContactSystem) -> RollingPath:
        """Return the paths of a system, from those kept where the model is the same."""
        key = system.model_hash
        if key not in _KEPT:
            _KEPT[key] = cls(system)
            if len(_KEPT) > KEPT:
                _KEPT.popitem(last=False)
        return _KEPT[key]

    def integrate(self, start: Array, motions: Array, horizon: float, x: Array, p: Array) -> Array:
        """
        Return configurations, shape (k, steps, 6), after each step.

        Parameters
        ----------
        start
            Configuration at the start, 6 numbers.
        motions
            v at the ends and middles of the steps, shape (k, 2 steps + 1, 3).
        horizon
            Duration [s].
        x, p
            A state, for what is not part of the configuration, and parameters.

        """
        k, steps = len(motions), len(motions[0]) // 2
        if (k, steps) not in self._maps:
            self._maps[k, steps] = self._step.mapaccum('path', steps, 1).map(k)
        parts = (motions[:, 0:-2:2], motions[:, 1:-1:2], motions[:, 2::2])
        columns = [part.reshape(k * steps, 3).T for part in parts]
        # the state of each path is repeated for all its steps
        out = self._maps[k, steps](np.tile(start, (k, 1)).T, *columns, horizon / steps, x, p)
        return np.array(out).T.reshape(k, steps, -1)

    def turning(self, path: Array, motion: Array, x: Array, p: Array) -> Array:
        """Return w_HO_H [rad/s], shape (k, 3), along a path (k, 6) with a motion (k, 3)."""
        return np.array(self._turning.map(len(path))(path.T, motion.T, x, p)).T

    def own_motion(self, x: Array, p: Array) -> Array:
        """Return the motion v of the contact at a state."""
        return np.array(self._own(x, p)).ravel()
