"""A mode of motion: equations, contact force, and what ends it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca


@dataclass(frozen=True, kw_only=True)
class Mode:
    """
    One mode of motion: equations that hold while its guards stay positive.

    Attributes
    ----------
    dynamics
        ``(x, u, t, p) -> xdot``: the single source of the equations.
    wrench
        ``(x, u, t, p) -> (tau, f)``, 6 numbers [N m, N]: contact wrench on the object at the
        contact point, expressed in the contact frame of the hand (Ch, that of its first chart);
        None for a kinematic model.
    guards
        Name -> ``(x, u, t, p) -> scalar``: positive inside the mode; zero is an event.
    resets
        Name of a guard -> ``(x, u, t, p) -> x`` after the event.

    """

    dynamics: ca.Function
    wrench: ca.Function | None = None
    guards: Mapping[str, ca.Function] = field(default_factory=dict)
    resets: Mapping[str, ca.Function] = field(default_factory=dict)
