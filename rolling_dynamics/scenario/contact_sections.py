"""What the scenario of an object on a moving hand may hold."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.equations import GRAVITY
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario.attitude import Attitude, quaternion_of
from rolling_dynamics.scenario.contact_velocity import RelativeVelocity
from rolling_dynamics.scenario.fields import (
    array,
    either,
    entry,
    gone,
    note,
    Positive,
    quantity,
    refused,
    Section,
    section,
    tensors,
    vector,
)
from rolling_dynamics.scenario.hand_motion import HandStart
from rolling_dynamics.scenario.mesh_section import MeshSection  # noqa: F401  adds its kind
from rolling_dynamics.scenario.surface_section import Edges, SURFACES, SurfaceSection


class Object(Section):
    """The body that rolls; its frame O lies in its centre of mass."""

    surface: SurfaceSection = entry(SURFACES, 'its surface')
    mass: float = quantity('mass', 'kg', positive=True)
    inertia: Array | str = entry(
        tensors('solid'),
        'inertia about the centre of mass in O: a number, 3 principal moments, a 3x3 matrix, '
        'or `solid` for a homogeneous sphere, ellipsoid, torus or mesh',
        'kg m^2',
    )

    def inertia_matrix(self) -> Array:
        """Return the inertia matrix [kg m^2] as it is given, or of the homogeneous body."""
        if not isinstance(self.inertia, str):
            return self.inertia
        solid = self.surface.solid_inertia(self.mass)
        if solid is None:
            raise ScenarioError(
                "object.inertia: 'solid' is known for sphere, ellipsoid, torus and mesh, touched "
                'from outside; give the moments of inertia of this body as numbers'
            )
        return solid


class Hand(Section):
    """The body that is moved; its frame is H."""

    surface: SurfaceSection = entry(SURFACES, 'its surface')
    edges: Edges = section(Edges)


class Gravity(Section):
    """Gravity by magnitude and tilt."""

    magnitude: float = quantity('magnitude', 'm/s^2', least=0, default=GRAVITY)
    tilt: float = quantity('angle from -z', 'rad', default=0.0)
    azimuth: float = quantity('direction of the tilt, from x towards y', 'rad', default=0.0)

    def vector(self) -> Array:
        """Return the vector in the world [m/s^2]."""
        tilt, azimuth = self.tilt, self.azimuth
        direction = [
            np.sin(tilt) * np.cos(azimuth),
            np.sin(tilt) * np.sin(azimuth),
            -np.cos(tilt),
        ]
        return self.magnitude * np.array(direction)


class Friction(Section):
    """The contact."""

    model: Literal['rolling', 'pure_rolling'] = note(
        '`rolling`: spin about the normal is free; `pure_rolling`: there is none',
        default='rolling',
    )
    mu: float = quantity('coefficient of static friction', least=0, default=1.0)
    mu_spin: float = quantity(
        'coefficient of spin friction, needed with `pure_rolling`', 'm', least=0, default=0.0
    )
    mu_kinetic: float | None = quantity(
        'coefficient of kinetic friction, with `hybrid`; that of static by default',
        least=0,
        default=None,
    )

    @model_validator(mode='after')
    def _spin(self) -> Friction:
        if self.model == 'pure_rolling' and 'mu_spin' not in self.given:
            raise refused(
                'is missing (coefficient of spin friction [m]): pure rolling holds only as far as '
                'it reaches',
                'mu_spin',
            )
        return self


class HandAtStart(Section):
    """The hand; at rest in the world frame by default."""

    position: Array = vector('origin of H in W', 'm', default=np.zeros(3))
    attitude: Attitude | None = note('attitude of H in W', default=None)
    angular_velocity: Array = vector('w_WH_H, expressed in H', 'rad/s', default=np.zeros(3))
    velocity: Array = vector('v_WH_H, of the origin, expressed in H', 'm/s', default=np.zeros(3))

    def start(self) -> HandStart:
        """Return configuration and twist."""
        return HandStart(
            q_WH=quaternion_of(self.attitude),
            p_WH=self.position,
            w_WH_H=self.angular_velocity,
            v_WH_H=self.velocity,
        )


class Contact(Section):
    """Contact coordinates `u_o v_o u_h v_h psi`."""

    u_o: float = quantity('contact on the object')
    v_o: float = quantity('contact on the object')
    u_h: float = quantity('contact on the hand')
    v_h: float = quantity('contact on the hand')
    psi: float = quantity('angle between the contact frames', 'rad', default=0.0)
    _gone = gone(
        attitude='give `initial.object` instead, with `position` and `attitude` of the object in '
        'the world; where it does not touch the hand, the error says where it does'
    )


class Pose(Section):
    """Pose of the object in the world; without `hybrid` it must touch the hand."""

    position: Array = vector('centre of mass in W', 'm')
    attitude: Attitude | None = note('attitude of O in W (default: that of W)', default=None)
    velocity: Array | None = vector(
        'of its centre in W, with `hybrid`; by default it rolls where it touches, and is at rest '
        'elsewhere',
        'm/s',
        default=None,
    )


class Initial(Section):
    """State at the start; `contact` or `object` is needed."""

    hand: HandAtStart | None = note(default=None)
    contact: Contact | None = note(default=None)
    object: Pose | None = note(default=None)
    relative_velocity: RelativeVelocity | None = note(default=None)

    @model_validator(mode='after')
    def _one_place(self) -> Initial:
        if (self.contact is None) == (self.object is None):
            got = 'neither' if self.contact is None else 'contact and object'
            raise refused(
                f'exactly one of contact (coordinates) and object (pose) is needed, got {got}'
            )
        return self


ONE_OR_3 = either(scalar=Positive, several=array(Positive, 3))


class Limits(Section):
    """Maximum magnitude of each component of the control; a number or 3."""

    alpha_WH_H: Array | float = entry(ONE_OR_3, 'angular acceleration', 'rad/s^2', np.inf)
    a_WH_H: Array | float = entry(ONE_OR_3, 'acceleration', 'm/s^2', np.inf)
