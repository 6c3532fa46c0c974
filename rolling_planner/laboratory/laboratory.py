"""
The planar laboratory: an ellipse on a plate, on an inclined air table, as a scenario describes it.

Woodruff & Lynch, Section VIII; ``laboratory_flip_up.yaml`` has the numbers of the paper. Its
lengths of 0.0754 m and 0.0504 m are taken as full axes. Not printed, and chosen here: the inertia
(that of a homogeneous lamina), the coefficients of friction, and a resistance that damps the
rocking of the ellipse by a fraction of critical damping.

The long axis is z of the object. It lies flat with its x axis up (a turn of -pi/2 in the hand) and
stands upright without a turn; from the one to the other it rolls towards +x.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.from_contact_system import (
    in_plane,
    planar_hybrid_of,
    PlanarModel,
    PlanarPlant,
    rest_state,
)
from rolling_dynamics.scenario_model import load_model

FLAT, UPRIGHT = -math.pi / 2, 0.0  # turn of the object in the hand [rad]
OF_PAPER = 'laboratory_flip_up'  # scenario with the numbers of the paper


@dataclass(frozen=True, eq=False)
class Laboratory:
    """
    An ellipsoid on a plate that moves in the plane x-z.

    Attributes
    ----------
    system, params
        Object and plate in space, and their parameters in SI units.
    slip_share
        Kinetic over static friction.
    damping
        Damping of the rocking about rest, as a fraction of critical damping.

    """

    system: ContactSystem
    params: Array
    slip_share: float = 0.8
    damping: float = 0.01

    @classmethod
    def of_paper(cls, **parameters: ArrayLike) -> Laboratory:
        """Return the laboratory of the paper, with other parameters by entry, in SI units."""
        model = load_model(OF_PAPER)
        p = model.params.copy()
        for name, value in parameters.items():
            p[model.system.parameters.slice(name)] = value
        return cls(model.system, p)

    def __post_init__(self) -> None:
        """Reject a body that cannot stand up, and gravity that does not pull it to the plate."""
        surface, gravity_W = self.system.object_surface, self._parameter('gravity_W')
        if {*surface.values} != {'a', 'b', 'c'} or not surface.values['a'] < surface.values['c']:
            raise ParameterError(
                'the laws of the laboratory stand up an ellipsoid whose semi-axis c exceeds a, '
                f'got a {surface.name} with {dict(surface.values)}'
            )
        if gravity_W[:2].any() or not gravity_W[2] < 0:
            raise ParameterError(
                f'gravity must point along -z of the world, got {gravity_W.tolist()}'
            )

    def _parameter(self, name: str) -> Array:
        return self.params[self.system.parameters.slice(name)]

    @property
    def mass(self) -> float:
        """Mass of the object [kg]."""
        return float(self._parameter('mass')[0])

    @property
    def inertia(self) -> float:
        """Moment of inertia of the object about y and its centre of mass [kg m^2]."""
        return float(self._parameter('inertia')[1])

    @property
    def gravity(self) -> float:
        """Gravity along the table [m/s^2]."""
        return -float(self._parameter('gravity_W')[2])

    @property
    def mu(self) -> float:
        """Coefficient of static friction."""
        return float(self._parameter('mu')[0])

    @property
    def semi_axes(self) -> tuple[float, float]:
        """Long and short semi-axis in the plane [m]."""
        axes = self.system.object_surface.values
        return axes['c'], axes['a']

    @property
    def circumference(self) -> float:
        """Circumference of the ellipse [m]."""
        a, b = self.semi_axes
        # the trapezoidal rule converges geometrically for a periodic integrand
        u = np.arange(64) * (2 * math.pi / 64)
        return 2 * math.pi * float(np.mean(np.hypot(a * np.cos(u), b * np.sin(u))))

    def equilibrium_rate(self, *, upright: bool) -> float:
        """Return the rate of falling from upright, or of rocking about flat, in rad/s."""
        a, b = self.semi_axes
        height, radius = (a, b * b / a) if upright else (b, a * a / b)
        J_c = self.inertia + self.mass * height**2
        return math.sqrt(self.mass * self.gravity * abs(radius - height) / J_c)

    @property
    def rolling_resistance(self) -> float:
        """Resistance [m s/rad] that damps the rocking about rest as given."""
        J_c = self.inertia + self.mass * self.semi_axes[1] ** 2
        rate = self.equilibrium_rate(upright=False)
        return 2 * self.damping * rate * J_c / (self.mass * self.gravity)

    def plant(self) -> tuple[PlanarPlant, Array]:
        """Return the planar plant and its parameters in SI units."""
        return planar_hybrid_of(
            self.system,
            self.params,
            slip_share=self.slip_share,
            resistance=self.rolling_resistance,
        )

    def model(self) -> tuple[PlanarModel, Array]:
        """Return the model of rolling of planner and controllers, and its parameters in SI."""
        plane = in_plane(self.system, self.params)
        return plane, plane.take_parameters(self.params)

    def rest(
        self, beta: float, contact: float = 0.0, hand: tuple[float, float] = (0.0, 0.0)
    ) -> Array:
        """
        Return the state of the model at rest on the level plate.

        Parameters
        ----------
        beta
            Turn of the object [rad].
        contact
            Position of the contact on the plate [m].
        hand
            Position of the hand in x and z of the world [m].

        """
        turn = [math.cos(beta / 2), math.sin(beta / 2)]
        return rest_state(self.model()[0].state, q_HO=turn, contact_h=contact, p_WH=hand)


def turn_about_y(model: PlanarModel, states: Array) -> Array:
    """Return turns of the object in W, shape (...) [-pi, pi), of states, shape (..., n)."""
    hand, object_ = (states[..., model.state.slice(name)] for name in ('q_WH', 'q_HO'))
    cosine = hand[..., 0] * object_[..., 0] - hand[..., 1] * object_[..., 1]
    sine = hand[..., 0] * object_[..., 1] + hand[..., 1] * object_[..., 0]
    return np.asarray(np.remainder(2 * np.arctan2(sine, cosine) + np.pi, 2 * np.pi) - np.pi)
