"""
Contacts that close a loop: constraints on the speeds of a tree, with multipliers.

A contact beside the joints has rows J s + c = 0, the velocity of one body over the other at the
contact. Their derivative joins the equations of the tree as J ds/dt + b = 0, and the contact force
is the multiplier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.mechanism.elimination import eliminate
from rolling_dynamics.mechanism.link import ground, Link
from rolling_dynamics.mechanism.shapes import Shape


@dataclass(frozen=True, eq=False, kw_only=True)
class Contact:
    """
    A body that rolls on the plane z = 0 of another one, beside the joints.

    Attributes
    ----------
    body, shape
        Name and surface of the body that rolls.
    on
        Name of the body with the plane; the empty string for the ground.
    mu
        Coefficient of static friction.
    normal_force
        Normal force [N] where the joints already keep the body on the plane, so that the equations
        leave it undetermined: a preload. None where they determine it.

    """

    body: str
    shape: Shape
    on: str = ''
    mu: ca.SX | float = 1.0
    normal_force: ca.SX | float | None = None


class ContactRows(NamedTuple):
    """
    Kinematics of a contact.

    Attributes
    ----------
    velocity
        Of the body over the plane at the contact, in the frame of the plane (3) [m/s].
    gap
        Height of the body's lowest point over the plane [m].
    place_W
        The contact in W (3) [m].
    R_WP
        Frame of the plane.

    """

    velocity: ca.SX
    gap: ca.SX
    place_W: ca.SX
    R_WP: ca.SX


def contact_rows(contact: Contact, links: Mapping[str, Link]) -> ContactRows:
    """Return the kinematics of a contact between links."""
    body, plane = links[contact.body], links[contact.on] if contact.on else ground()
    R = plane.R_WB
    reach = body.R_WB @ contact.shape.touch(body.R_WB.T @ R[:, 2])
    place = body.p_WB + reach
    arm = place - plane.p_WB
    of_body = body.R_WF @ body.v + ca.cross(body.R_WF @ body.w, reach)
    of_plane = plane.R_WF @ plane.v + ca.cross(plane.R_WF @ plane.w, arm)
    return ContactRows(R.T @ (of_body - of_plane), ca.dot(R[:, 2], arm), place, R)


class Closed(NamedTuple):
    """Rates of the speeds (n), and the force of each contact on its body, in the plane's frame."""

    rates: ca.SX
    forces: list[ca.SX]


def closed_rates(
    equations: tuple[ca.SX, ca.SX],
    contacts: Sequence[Contact],
    rows: Sequence[ContactRows],
    speeds: ca.SX,
    drift: tuple[ca.SX, ca.SX],
    *,
    symmetric: bool,
) -> Closed:
    """
    Return the motion of a tree whose loops the contacts close.

    Parameters
    ----------
    equations
        Matrix and right side of the tree.
    contacts, rows
        The contacts and their kinematics.
    speeds
        Symbols of the speeds (n).
    drift
        Symbols of the state, and its rate where the speeds are constant.
    symmetric
        Whether the matrix is.

    Returns
    -------
    Closed
        The rows must be independent: a contact whose normal force the rest of the machine
        determines too needs a ``normal_force``.

    """
    matrix, right = equations
    kept = constraints(contacts, rows)
    for c, r in zip(contacts, rows, strict=True):
        if c.normal_force is not None:
            right = right + ca.jacobian(r.velocity[2], speeds).T * c.normal_force
    velocity = ca.vertcat(*kept)
    J = ca.jacobian(velocity, speeds)
    solved = eliminate(matrix, ca.horzcat(right, J.T), symmetric=symmetric)
    free, answer = solved[:, 0], solved[:, 1:]
    needed = -ca.jtimes(velocity, *drift) - J @ free
    multipliers = eliminate(J @ answer, needed, symmetric=symmetric)
    forces, k = [], 0
    for c, part in zip(contacts, kept, strict=True):
        size = part.numel()
        force = multipliers[k : k + size]
        given = [] if c.normal_force is None else [ca.SX(c.normal_force)]
        forces.append(ca.vertcat(force, *given))
        k += size
    return Closed(free + answer @ multipliers, forces)


def constraints(contacts: Sequence[Contact], rows: Sequence[ContactRows]) -> list[ca.SX]:
    """Return the velocities that vanish: without the normal one where its force is given."""
    return [
        r.velocity if c.normal_force is None else r.velocity[:2]
        for c, r in zip(contacts, rows, strict=True)
    ]
