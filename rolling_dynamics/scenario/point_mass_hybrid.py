"""Scenarios of balls and disks that slide, leave the plane and land: the section ``hybrid``."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any, Literal, Protocol

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.internal_masses import PointMassBall, PointMassDisk
from rolling_dynamics.scenario.fields import note, quantity, Section
from transforms3d.quaternions import quat2mat

ON_THE_WAY = (
    1e-9  # of the radius: a centre lower than this over its height of rest is on the plane
)


class Hybrid(Section):
    """
    The body may leave the plane, fly and land.

    Without this section it rolls only, and the run stops where the normal force vanishes.
    """

    sliding: bool = note(
        'whether the motion goes on after slip begins, with `friction.mu_kinetic`; the papers '
        'leave open what follows, and by default the run ends there',
        default=False,
    )
    mode: Literal['rolling', 'slipping', 'separated'] = note('at the start', default='rolling')


def height() -> Any:  # noqa: ANN401  as fields are
    """Return the field of a height."""
    return quantity(
        'of the centre over the plane, with `hybrid`; the radius by default', 'm', default=None
    )


class BodyStart(Protocol):
    """What the start of a ball and that of a disk have both."""

    @property
    def given(self) -> AbstractSet[str]:
        """Names of the entries that were given."""

    @property
    def velocity(self) -> Array | None:
        """Velocity vector of the centre in the world [m/s]."""

    @property
    def height(self) -> float | None:
        """Of the centre over the plane [m]."""


def check_hybrid(initial: BodyStart, hybrid: Hybrid | None, given: AbstractSet[str]) -> None:
    """Refuse entries that have no meaning beside ``hybrid``, or without it."""
    if hybrid is None:
        for key in ('velocity', 'height'):
            if key in initial.given:
                raise ScenarioError(
                    f'initial.{key}: follows from rolling; it is free where there is a section '
                    '`hybrid`'
                )
        return
    for key, reason in (
        ('events', 'the modes follow from their margins'),
        ('plan', 'a plan is made for rolling'),
        ('path', 'coordinates along a path are for a body that rolls'),
    ):
        if key in given:
            raise ScenarioError(
                f'{key}: has no meaning beside `hybrid`: {reason}; leave one of them out'
            )


def hybrid_start(
    initial: BodyStart, rolling: dict[str, Any], system: PointMassBall | PointMassDisk, p: Array
) -> dict[str, Any]:
    """
    Return the entries of the state of a body that can leave the plane.

    Parameters
    ----------
    initial
        The section.
    rolling
        Entries of the state as of a body that rolls.
    system, p
        The unilateral system, and its parameters.

    """
    start = dict(rolling)
    place = np.atleast_1d(start.pop('p'))
    radius = float(p[system.parameters.slice('radius')][0])
    height = radius if initial.height is None else initial.height
    if height < radius * (1 - ON_THE_WAY):
        raise ScenarioError(
            f'initial.height: must be at least the radius, {radius:g} m, got {height:g}: it is '
            'that of the centre over the plane'
        )
    velocity = initial.velocity
    if velocity is None:
        velocity = _rolling_velocity(start, radius)
    return start | {'p_WB': [*place, height], 'v_WB_W': velocity}


def _rolling_velocity(start: dict[str, Any], radius: float) -> Array:
    """Return the velocity of the centre of a body that rolls, in W."""
    if 'phi_rate' in start:
        return np.array([-radius * start['phi_rate'], 0.0])
    w_WB_W = quat2mat(start['q_WB']) @ start['w_WB_B']
    velocity: Array = np.cross(w_WB_W, [0.0, 0.0, radius])
    return velocity
