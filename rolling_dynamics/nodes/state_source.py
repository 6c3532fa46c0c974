"""State of the contact from poses and twists, fast enough for a 1 kHz loop; no ROS."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contact.attitude_representation import support_point
from rolling_dynamics.rotations import conjugate, product, rotation_matrix

NEWTON_STEPS = 4  # from the contact of the last call; on a plane one is exact


class StateSource:
    """
    Turns poses and twists of hand and object into the state, without iterating to a tolerance.

    The object is taken to touch the hand: a measured gap is projected away along the normal, and
    the velocity of the contact point is that of rolling.
    """

    def __init__(self, system: ContactSystem, params: ArrayLike, contact_h: ArrayLike) -> None:
        """
        Compile the conversion.

        Parameters
        ----------
        system
            A system in the representation ``attitude``.
        params
            Its parameters p.
        contact_h
            Chart coordinates of the hand near which the contact is at first.

        """
        self._start = np.array(contact_h, dtype=float)
        self._near = self._start.copy()
        self._contact = system.state.slice('contact_h')
        self._size = system.state.size
        self._convert = FastFunction(compiled(_conversion(system))[0])
        self._params = np.asarray(params, dtype=float)

    def restart(self) -> None:
        """Search from the first contact point again."""
        self._near = self._start.copy()

    def state(self, hand: ArrayLike, object_: ArrayLike) -> tuple[NDArray[np.float64], float]:
        """
        Return the state and the gap between the bodies.

        Parameters
        ----------
        hand, object_
            q (w, x, y, z), p [m] in the world, w [rad/s], v [m/s] in the body; 13 numbers each.

        Returns
        -------
        x
            Shape (state.size,).
        gap
            Distance along the normal [m]; negative where the bodies overlap.

        """
        out = self._convert(hand, object_, self._near, self._params)
        x, gap = out[: self._size], float(out[self._size])
        if np.all(np.isfinite(x)):
            self._near = x[self._contact]
        return x, gap


def _conversion(system: ContactSystem) -> ca.Function:
    """Return ``(hand, object, near, p) -> x and gap``."""
    hand, body = ca.SX.sym('hand', 13), ca.SX.sym('object', 13)
    near, p = ca.SX.sym('near', 2), ca.SX.sym('p', system.parameters.size)
    R_WH = rotation_matrix(hand[:4])
    q_HO = product(conjugate(hand[:4]), body[:4])
    R_HO, p_HO = rotation_matrix(q_HO), R_WH.T @ (body[4:7] - hand[4:7])
    uv = ca.SX.sym('uv', 2)
    geometry = system.hand_surface.geometry(
        uv, p[system.parameters.slice('hand_surface')], system.hand_chart
    )
    normal = geometry.frame[:, 2]
    point_O, _ = support_point(
        system.object_surface, -(R_HO.T @ normal), p[system.parameters.slice('object_surface')]
    )
    apart = p_HO + R_HO @ point_O - geometry.position
    tangential = geometry.frame[:, :2].T @ apart
    newton = ca.Function(
        'newton',
        [uv, hand, body, p],
        [uv - ca.solve(ca.jacobian(tangential, uv), tangential), ca.dot(normal, apart)],
    )
    found = near
    for _ in range(NEWTON_STEPS):
        found, _ = newton(found, hand, body, p)
    _, gap = newton(found, hand, body, p)
    w_rel_H = R_HO @ body[7:10] - hand[7:10]
    values = {
        'q_WH': hand[:4] / ca.norm_2(hand[:4]),
        'p_WH': hand[4:7],
        'q_HO': q_HO / ca.norm_2(q_HO),
        'contact_h': found,
        'w_WH_H': hand[7:10],
        'v_WH_H': hand[10:13],
        'w_HO_H': w_rel_H,
    }
    x = ca.vertcat(*(values[e.name] for e in system.state.entries))
    return ca.Function('state_source', [hand, body, near, p], [ca.densify(ca.vertcat(x, gap))])
