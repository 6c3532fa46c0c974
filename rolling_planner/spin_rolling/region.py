"""Where the contact may be: a cap of the sphere, a rectangle of the plane, never at a pole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import Annotated, ClassVar

from pydantic import ConfigDict
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario.fields import entry, quantity, SECTION, several
from rolling_planner.spin_rolling.vectors import (
    angle_between,
    distance_to_arc,
    norm,
    unit,
    Vector,
)

POLES: tuple[Vector, Vector] = ((0.0, 1.0, 0.0), (0.0, -1.0, 0.0))
EVERYWHERE = (-math.inf, math.inf)
AT_POLE = 1e-9  # a start or goal nearer than this lies at the pole, which cannot be avoided [rad]
EDGE = 1e-12  # slack of a point that lies on an edge [rad], [m]


@dataclass(frozen=True, kw_only=True)
class ContactRegion:
    """
    Region of contact on both surfaces.

    Attributes
    ----------
    u_bounds, v_bounds
        Least and greatest u_s, v_s [m].
    axis
        Centre of the cap of the sphere, in O; any length.
    half_angle
        Angle from the centre of the cap to its edge [rad]; pi for the whole sphere.
    pole_margin
        Least angle from the poles of the chart [rad]. Where start or goal lie closer, half
        their distance is kept.

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    u_bounds: Annotated[
        tuple[float, float], entry(several(count=2, made=tuple), 'range of u_s', 'm')
    ] = EVERYWHERE
    v_bounds: Annotated[
        tuple[float, float], entry(several(count=2, made=tuple), 'range of v_s', 'm')
    ] = EVERYWHERE
    axis: Annotated[
        tuple[float, float, float],
        entry(several(count=3, made=tuple), 'centre of the cap of the sphere, in its frame'),
    ] = (0.0, 0.0, -1.0)
    half_angle: Annotated[float, quantity('from the centre of the cap to its edge', 'rad')] = (
        math.pi
    )
    pole_margin: Annotated[float, quantity('minimum angle from the poles of the chart', 'rad')] = (
        0.01
    )

    def __post_init__(self) -> None:
        """Refuse what is no region."""
        for name in ('u_bounds', 'v_bounds'):
            low, high = getattr(self, name)
            if not low < high:
                raise ParameterError(f'{name} must increase [m], got {(low, high)}')
        if not (len(self.axis) == 3 and math.isfinite(norm(self.axis)) and norm(self.axis) > 0):
            raise ParameterError(f'axis must be 3 numbers, not all 0, got {self.axis}')
        if not 0 < self.half_angle <= math.pi:
            raise ParameterError(f'half_angle must lie in (0, pi] [rad], got {self.half_angle!r}')
        if not 0 <= self.pole_margin < 0.5:
            raise ParameterError(
                f'pole_margin must lie in [0, 0.5) [rad], got {self.pole_margin!r}'
            )

    @property
    def is_bounded(self) -> bool:
        """Tell whether anything but the poles is left out."""
        return self.half_angle < math.pi or (self.u_bounds, self.v_bounds) != (
            EVERYWHERE,
            EVERYWHERE,
        )

    def check(self, name: str, point: Sequence[float], normal: Vector) -> None:
        """Raise ParameterError naming ``name`` unless a contact lies in the region."""
        for k, (which, bounds) in enumerate((('u_s', self.u_bounds), ('v_s', self.v_bounds))):
            if not bounds[0] - EDGE <= point[k] <= bounds[1] + EDGE:
                raise ParameterError(
                    f'{name}: {which} = {point[k]:g} m lies outside the contact region, '
                    f'{bounds[0]:g} to {bounds[1]:g} m'
                )
        away = angle_between(unit(self.axis), normal)
        if not away <= self.half_angle + EDGE:
            raise ParameterError(
                f'{name}: the contact on the sphere lies {away:.4g} rad from the centre of the '
                f'contact region, whose edge is at {self.half_angle:.4g} rad'
            )

    def keep_out(self, normals: Sequence[Vector]) -> list[tuple[Vector, float]]:
        """Return discs of the sphere (centre, angular radius) for a path between two contacts."""
        discs = []
        for pole in POLES:
            nearest = min(angle_between(pole, n) for n in normals)
            nearest = nearest if nearest > AT_POLE else 0.0
            discs.append((pole, min(self.pole_margin, 0.5 * nearest)))
        if self.half_angle < math.pi:
            x, y, z = unit(self.axis)
            discs.append(((-x, -y, -z), math.pi - self.half_angle - EDGE))
        return discs

    def holds_point(self, point: Sequence[float]) -> bool:
        """Tell whether a point of the plane lies inside."""
        u, v = self.u_bounds, self.v_bounds
        return u[0] - EDGE <= point[0] <= u[1] + EDGE and v[0] - EDGE <= point[1] <= v[1] + EDGE


def arc_is_free(discs: Sequence[tuple[Vector, float]], a: Vector, b: Vector) -> bool:
    """Tell whether the short great-circle arc from a to b enters no disc."""
    return all(distance_to_arc(q, a, b) >= radius for q, radius in discs)
