"""The sphere with a pendulum on a floor with places to stay out of, for the collocation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.layout import Entry
from rolling_dynamics.pendulum_sphere import PendulumSphere, SphereParameters
from rolling_planner.gait_planner.problem import Circle


class KeepOutSphere(PendulumSphere):
    """
    The sphere among circles that its contact point may not enter; they are parameters.

    Its envelope has ``keep_out_1`` and so on: the square of the distance from the centre over
    that of the radius, less 1.
    """

    def __init__(self, count: int) -> None:
        """
        Build the system.

        Parameters
        ----------
        count
            Number of circles.

        """
        names = tuple(f'keep_out_{k}_{c}' for k in range(1, count + 1) for c in ('x', 'y', 'r'))
        circles = Entry('keep_out', names, 'm', 'W', text='circles: centre and radius')
        super().__init__(*((circles,) if count else ()))
        self.count = count

    def pack_with_circles(
        self, params: SphereParameters, circles: Sequence[Circle], margin: float
    ) -> NDArray[np.float64]:
        """Return the vector p; the radii are larger by a margin [m]."""
        places = [(*c.center, c.radius + margin) for c in circles]
        return np.concatenate([self.pack_parameters(params), np.ravel(places)])

    @cached_property
    def envelope(self) -> Mapping[str, ca.Function]:
        """The limits of contact and of the way, positive inside."""
        e, out = self.expressions, dict(super().envelope)
        for k in range(self.count):
            x, y, r = (e.params['keep_out'][3 * k + j] for j in range(3))
            away = e.values['contact'] - ca.vertcat(x, y)
            out[f'keep_out_{k + 1}'] = self.function(
                f'keep_out_{k + 1}', ca.sumsqr(away) / r**2 - 1
            )
        return out
