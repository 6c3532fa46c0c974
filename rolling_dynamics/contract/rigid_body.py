"""The mass of a body that a system moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, eq=False)
class RigidBody:
    """
    Mass, centre and inertia of a body.

    Attributes
    ----------
    mass
        Mass [kg].
    centre
        Centre of mass in the frame of the body, shape (3,) [m].
    inertia
        About the centre of mass, in the frame of the body, shape (3, 3) [kg m^2].

    """

    mass: float
    centre: NDArray[np.float64]
    inertia: NDArray[np.float64]
