"""Elastic bodies in scenario files, from which the patch of a contact follows."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.friction import Elastic, ellipse
from rolling_dynamics.scenario.fields import quantity, Section


class Material(Section):
    """Elasticity of the bodies at a contact: their patch follows from it (Hertz)."""

    young: float = quantity("Young's modulus of the body that rolls", 'Pa', positive=True)
    poisson: float = quantity("its Poisson's ratio", least=0, most=0.5)
    other_young: float = quantity(
        'of what it rolls on; rigid if left out', 'Pa', positive=True, default=math.inf
    )
    other_poisson: float = quantity('of what it rolls on', least=0, most=0.5, default=0.0)
    load: float | None = quantity(
        'normal force for which the patch is computed; that at the start if left out',
        'N',
        positive=True,
        default=None,
    )

    def patch(self, curvature: ArrayLike, at_start: float) -> float:
        """
        Return the radius [m] of the round patch that resists spin as the ellipse does.

        Parameters
        ----------
        curvature
            Relative curvature, (2, 2) [1/m].
        at_start
            Normal force at the start [N].

        """
        load = at_start if self.load is None else self.load
        if not load > 0:
            raise ParameterError(
                f'material.load: is missing; the normal force at the start is {load:.6g} N, for '
                'which there is no patch'
            )
        of = {n: getattr(self, n) for n in ('young', 'poisson', 'other_young', 'other_poisson')}
        return ellipse(curvature, load, Elastic(**of)).friction_radius
