"""What every rolling system offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import casadi as ca
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.contract.mode import Mode


class RollingSystem(Protocol):
    """
    What simulator, planner, controller, estimator, nodes and plots know of a system.

    Attributes
    ----------
    name
        Name of the kind of system, for example ``contact``.
    state, control, parameters
        Layouts of x, u and p.
    modes
        Modes of motion by name; the first is the one in which a plan is made.
    independent_variable
        ``time`` or ``arc length``.
    retract
        ``(x, d) -> x``: moves x by a tangent vector d.
    difference
        ``(x, y) -> d`` with ``retract(y, d) = x``: what is added and subtracted by linear methods.
    tangent
        Layout of d.
    invariants
        Named functions ``(x, u, t, p) -> scalar``: energy and the like.
    pose
        ``(x, p) -> (4x4, ...)``: poses of the bodies to draw, in W; output names are the bodies.

    """

    @property
    def name(self) -> str:
        """Name of the kind of system."""
        ...

    @property
    def state(self) -> Layout:
        """Layout of x."""
        ...

    @property
    def control(self) -> Layout:
        """Layout of u."""
        ...

    @property
    def parameters(self) -> Layout:
        """Layout of p."""
        ...

    @property
    def tangent(self) -> Layout:
        """Layout of d."""
        ...

    @property
    def modes(self) -> Mapping[str, Mode]:
        """Modes of motion by name."""
        ...

    @property
    def independent_variable(self) -> str:
        """``time`` or ``arc length``."""
        ...

    @property
    def retract(self) -> ca.Function:
        """``(x, d) -> x``."""
        ...

    @property
    def difference(self) -> ca.Function:
        """``(x, y) -> d``."""
        ...

    @property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Named functions ``(x, u, t, p) -> scalar``."""
        ...

    @property
    def pose(self) -> ca.Function:
        """``(x, p) -> poses``."""
        ...

    @property
    def model_hash(self) -> str:
        """Content hash of the equations; two systems with one hash are the same model."""
        ...
