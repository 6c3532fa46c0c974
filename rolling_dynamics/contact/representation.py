"""What a representation of the contact configuration tells the contact system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import casadi as ca
from rolling_dynamics.contact.rolling_dynamics import ContactGeometry
from rolling_dynamics.contract.layout import Entry
from rolling_dynamics.surfaces.surface import Surface


@dataclass(frozen=True, eq=False, kw_only=True)
class ContactState:
    """
    A representation evaluated at a state, as expressions.

    Attributes
    ----------
    geometry
        Contact geometry, in H.
    w_HO_H
        Relative angular velocity of the object [rad/s].
    frame_rate_H
        Angular velocity in H of the frame in which the velocity entry is expressed [rad/s].
    to_velocity_frame
        Rotation matrix from H to that frame.
    rates
        Time derivative of each configuration entry of the representation.
    relative_curvature
        H~_o + H_h, 2x2 [1/m].
    point_h
        Chart coordinates of the contact on the hand.

    """

    geometry: ContactGeometry
    w_HO_H: ca.SX
    frame_rate_H: ca.SX
    to_velocity_frame: ca.SX
    rates: Mapping[str, ca.SX]
    relative_curvature: ca.SX
    point_h: ca.SX


class Representation(Protocol):
    """A set of coordinates for the contact configuration and the relative velocity."""

    name: str
    configuration: tuple[Entry, ...]
    velocity: Entry
    hand_chart: int

    def evaluate(
        self,
        values: Mapping[str, ca.SX],
        object_surface: Surface,
        hand_surface: Surface,
        object_parameters: ca.SX,
        hand_parameters: ca.SX,
    ) -> ContactState:
        """Return the contact at a state given by the entries' values."""
        ...
