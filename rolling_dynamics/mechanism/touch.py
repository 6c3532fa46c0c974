"""Kinematics of contacts: closest points of bodies, relative velocities and their rates."""

from __future__ import annotations

from collections.abc import Mapping
import math

import casadi as ca
from rolling_dynamics.mechanism.joints import Flying
from rolling_dynamics.mechanism.link import AT_REST, Motion
from rolling_dynamics.mechanism.loops import Along, Contact, ContactRows, Foot
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.shapes import Charted, Hollow, reach_of, Shape, Sphere, Surface
from rolling_dynamics.rotations import inverse_2x2, rotation_matrix
from rolling_dynamics.surfaces.surface import LocalGeometry

DISTINCT = 1e-2  # of the turn over a step of a closest point, for an isolated point
CHART = 2e-2  # ratio of the lengths of the chart directions, below which a point is near a pole
STEEP = 0.9  # cosine between a normal and y beyond which x replaces y


def contact_rows(contact: Contact, machine: Machine) -> ContactRows:
    """Return the kinematics of a contact of a machine."""
    if contact.rows is not None:
        return contact.rows
    values, bodies = machine.symbols.values, machine.motions
    on = bodies[contact.on] if contact.on else AT_REST
    body = contact.moves_as(bodies)
    if (over := _over_parent(contact, machine)) is None:
        rows = touching(contact, body, on, values)
    else:  # along the axes of the body under it, which is then at rest
        rows = touching(contact, over, AT_REST, values)
        rows = rows._replace(place_W=on.p + on.R @ rows.place_W, R_WP=on.R @ rows.R_WP)
    if not contact.displacement:
        return rows
    moved = rows.R_WP.T @ (on.R @ values[contact.displacement])
    return rows._replace(displacement=moved[:2])


def _over_parent(contact: Contact, machine: Machine) -> Motion | None:
    """Return the motion of a Flying body over its parent, in the axes of the parent, else None."""
    body, values = machine.bodies[contact.body], machine.symbols.values
    joint = body.joint
    if not isinstance(joint, Flying) or contact.on != body.parent:
        return None
    if joint.axes != 'world' or joint.axis is not None:
        return None
    at = [values[e.name] for e in (joint.attitude, joint.position, joint.speed, joint.velocity)]
    solved = machine.links[contact.body].solved
    rates = (solved[e.name][1] for e in (joint.speed, joint.velocity))
    return Motion(rotation_matrix(at[0]), *at[1:], *rates)


def touching(
    contact: Contact, body: Motion, on: Motion, values: Mapping[str, ca.SX]
) -> ContactRows:
    """Return the kinematics of a contact between bodies, from their motions in some axes."""
    shape, surface, way, coming = contact.shape, contact.surface, body.p - on.p, body.v - on.v
    foot, own = None, body.R @ shape.side
    if isinstance(surface, Charted):
        g = surface.at(values[contact.foot])
        normal = on.R @ g.frame[:, 2]
        reach, passing, s = _over_chart(shape, body, on, g)
        arm, going = way + reach, coming + passing
        to, rate, bend = on.R.T @ arm - g.position, inverse_2x2(g.scale) @ s, g.curvature @ s
        gap, foot = ca.dot(g.frame[:, 2], to), _foot(g, values[contact.foot], to, rate)
        turned = ca.vertcat(bend[1], -bend[0], g.connection @ rate)
        turning = ca.cross(on.w, normal) - on.R @ (g.frame[:, :2] @ bend)
        axes = on.R @ g.frame
        turned += axes.T @ on.w
    else:
        normal, turning = _normal(surface, on, way, coming)
        reach = reach_of(shape, body.R, normal)
        passing = _passing(shape, body, reach, normal, turning)
        arm, going = way + reach, coming + passing
        if not isinstance(shape, Sphere):  # else its closest point is along the normal
            normal, turning = _normal(surface, on, arm, going)
        gap = surface.distance(on.R.T @ arm)
        if own.is_zero():
            side, n = ca.SX(surface.side), on.R.T @ normal
            own_rate = on.R.T @ (turning - ca.cross(on.w, normal))
            frame, turned = _frame(n, side, own_rate, ca.SX(3, 1))
            axes = on.R @ frame
            turned += axes.T @ on.w
    if not own.is_zero():
        axes, turned = _frame(normal, own, turning, ca.cross(body.w, own))
    if contact.rollers is not None:
        c, k = math.cos(contact.rollers), math.sin(contact.rollers)
        about = ca.DM([[c, -k, 0], [k, c, 0], [0, 0, 1]])
        axes, turned = axes @ about, about.T @ turned
    over = coming + ca.cross(body.w, reach) - ca.cross(on.w, arm)
    bias = body.a + ca.cross(body.alpha, reach) + ca.cross(body.w, passing)
    bias -= on.a + ca.cross(on.alpha, arm) + ca.cross(on.w, going)
    u, spins = axes.T @ over, axes.T @ (body.w - on.w)
    rates = axes.T @ bias - ca.cross(turned, u)
    spin_rates = axes.T @ (body.alpha - on.alpha) - ca.cross(turned, spins)
    some = ca.SX(0, 1) if contact.patch is None else ca.SX(contact.spins)
    rolls = [0, 1] * contact.resists
    return ContactRows(
        velocity=ca.vertcat(u, some * spins[2], spins[rolls]),
        bias=ca.vertcat(rates, some * spin_rates[2], spin_rates[rolls]),
        along=Along(axes, over, bias, reach),
        gap=gap,
        place_W=body.p + reach,
        R_WP=axes,
        foot=foot,
    )


def _passing(shape: Shape, body: Motion, reach: ca.SX, normal: ca.SX, turning: ca.SX) -> ca.SX:
    """Return the rate of the closest point from the origin of its body, as the normal turns."""
    if isinstance(shape, Sphere):
        return shape.touch(turning)
    bends = bending(shape, body.R, normal, turning - ca.cross(body.w, normal))
    return ca.cross(body.w, reach) + bends


def bending(shape: Shape, R: ca.SX, normal: ca.SX, ways: ca.SX) -> ca.SX:
    """Return the displacement of a closest point for displacements (3, k) of the normal."""
    n, d = ca.SX.sym('n', 3), ca.SX.sym('d', *ways.shape)
    moved = ca.jtimes(reach_of(shape, R, n), n, d)
    given = ca.densify(ca.vertcat(normal, ca.vec(ways)))
    return ca.substitute(moved, ca.vertcat(n, ca.vec(d)), given)


def _normal(surface: Surface, on: Motion, arm: ca.SX, going: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the normal of a surface on a body, at a moving point, and its rate."""
    R, w, at = on.R, on.w, ca.SX.sym('at', 3)
    if isinstance(surface, Sphere) or (isinstance(surface, Hollow) and surface.axes == 3):
        R, w = ca.SX.eye(3), ca.SX(3, 1)  # for any attitude of its body
    way = ca.SX.sym('way', 3)
    normal = ca.gradient(surface.distance(at), at)
    turning = ca.jtimes(normal, at, way)
    here = ca.vertcat(R.T @ arm, R.T @ (going - ca.cross(w, arm)))
    normal, turning = ca.substitute([normal, turning], [ca.vertcat(at, way)], [ca.densify(here)])
    normal = R @ normal
    return normal, R @ turning + ca.cross(w, normal)


def _over_chart(
    shape: Shape, body: Motion, on: Motion, g: LocalGeometry
) -> tuple[ca.SX, ca.SX, ca.SX]:
    """
    Return the closest point of a body from its origin, its rate, and that of a chart's (2) [m/s].

    The point of the chart moves along its tangents by s, and the normal by -H s. The point of the
    body moves with the rotation of the body and of the normal in it. s follows since their
    distance remains along the normal.
    """
    T, n, w = on.R @ g.frame[:, :2], on.R @ g.frame[:, 2], body.w - on.w
    reach, way = reach_of(shape, body.R, n), body.p - on.p
    arm = way + reach
    gap = ca.dot(n, arm) - ca.dot(g.frame[:, 2], g.position)
    bends, turning = bending(shape, body.R, n, T), T.T @ ca.cross(w, n)
    K = -T.T @ bends
    over = body.v - on.v + ca.cross(body.w, reach) - ca.cross(on.w, arm)
    matrix = ca.SX.eye(2) - (K + gap * ca.SX.eye(2)) @ g.curvature
    s = inverse_2x2(matrix) @ (T.T @ over + K @ turning)
    passing = ca.cross(body.w, reach) - bends @ (g.curvature @ s + turning)
    return reach, passing, s


def _foot(g: LocalGeometry, uv: ca.SX, way: ca.SX, rate: ca.SX) -> Foot:
    """Return the equations of a point of a chart, from the vector (3) [m] to the body's point."""
    off = g.frame[:, :2].T @ way
    by = ca.jacobian(off, uv)
    turn, lengths = by @ inverse_2x2(g.scale), ca.fabs(g.scale[1, 1] / g.scale[0, 0])
    margins = ca.det(turn) - DISTINCT, -ca.trace(turn) - DISTINCT  # turn is -1 on a plane
    regular = ca.fmin(lengths, 1 / lengths) - CHART
    step = -inverse_2x2(by) @ off
    return Foot(off, step, ca.mmin(ca.vertcat(*margins, regular)), rate)


def relative_curvature(contact: Contact, rows: ContactRows, machine: Machine) -> ca.SX:
    """Return the sum of the second fundamental forms (2, 2) [1/m] of both bodies at a contact."""
    bodies, at = machine.motions, ca.SX.sym('at', 3)
    body, on = contact.moves_as(bodies), bodies[contact.on] if contact.on else AT_REST
    if isinstance(contact.surface, Charted):
        g = contact.surface.at(machine.symbols.values[contact.foot])
        bent = -g.frame[:, :2] @ g.curvature @ g.frame[:, :2].T
    else:
        bent, _ = ca.hessian(contact.surface.distance(at), at)
        bent = ca.substitute(bent, at, ca.densify(on.R.T @ (rows.place_W - on.p)))
    C = rows.R_WP[:, :2]
    radii, other = C.T @ bending(contact.shape, body.R, rows.R_WP[:, 2], C), on.R.T @ C
    return other.T @ bent @ other - ca.inv(radii)


def _frame(normal: ca.SX, side: ca.SX, turning: ca.SX, passing: ca.SX) -> tuple[ca.SX, ca.SX]:
    """
    Return axes with z along a normal and y as close as possible to a side, or to y, or to x.

    Also their angular velocity, in these axes, from the rates of normal and side.
    """
    if side.is_zero():
        if (normal - ca.DM([0, 0, 1])).is_zero():
            return ca.SX.eye(3), ca.SX(3, 1)
        side = ca.if_else(ca.fabs(normal[1]) < STEEP, ca.DM([0, 1, 0]), ca.DM([1, 0, 0]))
    along = ca.dot(side, normal)
    y = side - along * normal
    size = ca.norm_2(y)
    y /= size
    x = ca.cross(y, normal)
    about = ca.dot(x, along * turning - passing) / size
    return ca.horzcat(x, y, normal), ca.vertcat(-ca.dot(y, turning), ca.dot(x, turning), about)
