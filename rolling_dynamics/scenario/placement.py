"""Where an object touches a hand: from contact coordinates, or from an attitude and a point."""

from __future__ import annotations

from dataclasses import dataclass
import math

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contact.representation import support_point
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.surfaces.atlas import contact_frame
from rolling_dynamics.surfaces.surface import Surface
from transforms3d.quaternions import mat2quat, quat2mat


@dataclass(frozen=True, eq=False, kw_only=True)
class Placement:
    """
    A contact configuration in both representations.

    Attributes
    ----------
    q_HO
        Attitude of the object in the hand, w, x, y, z.
    contact_h
        Contact point in the chart of the hand.
    contact_o, psi
        Contact point in the chart of the object, and angle between the contact frames [rad]; both
        None where the chart of the object is degenerate.

    """

    q_HO: NDArray[np.float64]
    contact_h: NDArray[np.float64]
    contact_o: NDArray[np.float64] | None
    psi: float | None


def placed_by_coordinates(
    object_surface: Surface,
    hand_surface: Surface,
    contact_o: NDArray[np.float64],
    contact_h: NDArray[np.float64],
    psi: float,
) -> Placement:
    """
    Return the placement of contact coordinates (u, v) and psi [rad].

    R_HO = R_HCh R_ChCo R_CoO.
    """
    object_surface.check_regular(contact_o)
    c, s = math.cos(psi), math.sin(psi)
    R_ChCo = np.array([[c, -s, 0], [-s, -c, 0], [0, 0, -1]])
    R_HCh, R_OCo = contact_frame(hand_surface, contact_h), contact_frame(object_surface, contact_o)
    return Placement(
        q_HO=mat2quat(R_HCh @ R_ChCo @ R_OCo.T), contact_h=contact_h, contact_o=contact_o, psi=psi
    )


def placed_by_attitude(
    object_surface: Surface,
    hand_surface: Surface,
    q_HO: NDArray[np.float64],
    contact_h: NDArray[np.float64],
) -> Placement:
    """Return the placement of a quaternion wxyz and a point (u, v); needs a support function."""
    R_HO, R_HCh = quat2mat(q_HO), contact_frame(hand_surface, contact_h)
    point = _object_point(object_surface, -R_HO.T @ R_HCh[:, 2])
    return placed_at(object_surface, hand_surface, q_HO, contact_h, object_surface.locate(point))


def placed_at(
    object_surface: Surface,
    hand_surface: Surface,
    q_HO: NDArray[np.float64],
    contact_h: NDArray[np.float64],
    contact_o: NDArray[np.float64],
) -> Placement:
    """Return the placement of a quaternion q_HO wxyz with known contact points (u, v)."""
    try:
        object_surface.check_regular(contact_o)
    except SurfaceError:  # a pole of the chart
        return Placement(q_HO=q_HO, contact_h=contact_h, contact_o=None, psi=None)
    R_HCh, R_OCo = contact_frame(hand_surface, contact_h), contact_frame(object_surface, contact_o)
    R_ChCo = R_HCh.T @ quat2mat(q_HO) @ R_OCo
    psi = math.atan2(-R_ChCo[0, 1], R_ChCo[0, 0])
    return Placement(q_HO=q_HO, contact_h=contact_h, contact_o=contact_o, psi=psi)


def _object_point(surface: Surface, n_O: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the point [m] of a convex object with outward normal n, both in O."""
    n, p = ca.SX.sym('n', 3), ca.SX.sym('p', surface.parameters.numel())
    f = ca.Function('point', [n, p], [support_point(surface, n, p)[0]])
    return np.array(f(n_O, surface.parameter_values)).reshape(3)
