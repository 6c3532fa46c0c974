"""Sections of bodies in contact: surfaces, placement, velocities, slip and flight."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Literal

import numpy as np
from pydantic import model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.equations import GRAVITY
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.friction import LEVER_ARM, MU, MU_KINETIC, MU_SPIN, RESISTANCE
from rolling_dynamics.scenario.fields import (
    array,
    described,
    either,
    entry,
    gone,
    note,
    OneOf,
    Positive,
    quantity,
    refused,
    Section,
    section,
    tensors,
    vector,
    whole,
)
from rolling_dynamics.scenario.hand_motion import Attitude, HandStart, quaternion_of
from rolling_dynamics.scenario.material import Material
from rolling_dynamics.scenario.surface_section import (
    Edges,
    MeshSection,  # noqa: F401  adds its kind
    SURFACES,
    SurfaceSection,
)
from rolling_dynamics.surfaces.surface import contact_frame, Surface
from transforms3d.quaternions import mat2quat


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

    q_HO: Array
    contact_h: Array
    contact_o: Array | None
    psi: float | None


class RelativeVelocity(OneOf):
    """Velocity of the object over the hand, at rest by default."""

    w_HO_Ch: Array | None = vector(
        'relative angular velocity, in the contact frame Ch of the hand', 'rad/s', default=None
    )
    w_WO_W: Array | None = vector(
        'angular velocity of the object in the world', 'rad/s', default=None
    )
    _gone = gone(
        w_HO_H='give w_WO_W instead, which is R_WH (w_HO_H + w_WH_H), or w_HO_Ch',
        q_dot='give w_HO_Ch instead, of which the rates of the coordinates follow',
    )


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
        if self.solid is None:
            raise ScenarioError(
                "object.inertia: 'solid' is known for sphere, ellipsoid, torus and mesh, touched "
                'from outside; give the moments of inertia of this body as numbers'
            )
        return self.solid[1]

    @property
    def solid(self) -> tuple[float, Array] | None:
        """Volume [m^3] and inertia matrix [kg m^2] of a homogeneous body touched from outside."""
        outside = getattr(self.surface, 'side', 'outside') == 'outside'
        return self.surface.solid(self.mass) if outside else None


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
    mu: float = described([MU], 'mu', default=1.0)
    mu_spin: float = described(
        [MU_SPIN],
        'mu_spin',
        text='coefficient of spin friction, needed with `pure_rolling`',
        default=0.0,
    )
    mu_kinetic: float | None = described(
        [MU_KINETIC],
        'mu_kinetic',
        text='coefficient of kinetic friction, with `hybrid`; that of static by default',
        default=None,
    )

    rolling_resistance: float = described([RESISTANCE], 'rolling_resistance', default=0.0)
    lever_arm: float | None = quantity(
        'of dry rolling resistance, by which it comes to rest with `hybrid`; without, the '
        'resistance is proportional to the rate below 0.03 rad/s',
        'm',
        least=1e-5,
        default=None,
    )
    material: Material | None = note(
        'elastic bodies, in place of `mu_spin`, which follows from their patch', default=None
    )

    @property
    def resistance(self) -> dict[str, float]:
        """Parameters of rolling resistance, none without any."""
        given = {e.name: getattr(self, e.name) or 0.0 for e in (RESISTANCE, LEVER_ARM)}
        return given if any(given.values()) else {}

    @model_validator(mode='after')
    def _spin(self) -> Friction:
        if self.material is not None and 'mu_spin' in self.given:
            raise refused('gives mu_spin already; leave one of them out', 'material')
        if self.model == 'pure_rolling' and not {'mu_spin', 'material'} & self.given:
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

    def placement(self, object_surface: Surface, hand_surface: Surface) -> Placement:
        """Return the placement: R_HO = R_HCh R_ChCo R_CoO."""
        contact_o, contact_h = np.array([self.u_o, self.v_o]), np.array([self.u_h, self.v_h])
        object_surface.check_regular(contact_o)
        c, s = math.cos(self.psi), math.sin(self.psi)
        R_ChCo = np.array([[c, -s, 0], [-s, -c, 0], [0, 0, -1]])
        R_HCh = contact_frame(hand_surface, contact_h)
        q_HO = mat2quat(R_HCh @ R_ChCo @ contact_frame(object_surface, contact_o).T)
        return Placement(q_HO=q_HO, contact_h=contact_h, contact_o=contact_o, psi=self.psi)


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


class Hybrid(Section):
    """
    The object may slide on the hand, leave it, fly and land.

    Without this section it rolls only, and the run stops where the normal force vanishes.
    """

    restitution: float = quantity(
        'fraction of the work of compression that a landing gives back',
        least=0,
        most=1,
        default=0.0,
    )
    contacts: int = whole(
        'places at which the object may touch a hand that is not a plane at once',
        least=1,
        default=2,
    )
    _gone = gone(
        rolling_resistance='is friction.rolling_resistance now',
        lever_arm='is friction.lever_arm now',
    )
