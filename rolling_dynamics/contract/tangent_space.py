"""Adding to and subtracting states that hold angles and unit quaternions."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
from rolling_dynamics.contract.layout import Entry, Layout, vector_entry
from rolling_dynamics.rotations import conjugate, exponential, logarithm, product


def tangent_layout(state: Layout) -> Layout:
    """Return the layout of d: three numbers for a quaternion, one for a turn, else as many."""
    return Layout(
        tuple(_turn(e) if e.has_unit_norm else replace(e, kind='vector') for e in state.entries)
    )


def _turn(e: Entry) -> Entry:
    axes = [c[-1] for c in e.components[1:]]
    turn = vector_entry(f'd{e.name[1:]}', 'rad', 'body', f'turn of {e.name}', axes)
    return replace(turn, scale=e.scale)


def turned(q: ca.SX, angle: ca.SX) -> ca.SX:
    """Return a turn, cosine and sine of half an angle, by an angle more [rad]."""
    c, s = ca.cos(angle / 2), ca.sin(angle / 2)
    return ca.vertcat(q[0] * c - q[1] * s, q[1] * c + q[0] * s)


def turn_between(q: ca.SX, start: ca.SX) -> ca.SX:
    """Return the angle from one turn to another, within half a turn [rad]."""
    sine, cosine = start[0] * q[1] - start[1] * q[0], start[0] * q[0] + start[1] * q[1]
    return 2 * ca.atan(sine / cosine)


def retraction(state: Layout, tangent: Layout) -> ca.Function:
    """Return ``(x, d) -> x`` moved by d, attitudes on the body's side."""
    x, d = ca.SX.sym('x', state.size), ca.SX.sym('d', tangent.size)
    parts = []
    for e, te in zip(state.entries, tangent.entries, strict=True):
        xe, de = x[state.slice(e.name)], d[tangent.slice(te.name)]
        if e.kind == 'quaternion':
            parts.append(product(xe, exponential(de)))
        elif e.kind == 'turn':
            parts.append(turned(xe, de))
        else:
            parts.append(xe + de)
    return ca.Function('retract', [x, d], [ca.vertcat(*parts)], ['x', 'd'], ['y'])


def difference(state: Layout) -> ca.Function:
    """Return ``(x, y) -> d`` with ``retract(y, d) = x``; angles to the nearest turn."""
    x, y = ca.SX.sym('x', state.size), ca.SX.sym('y', state.size)
    parts = []
    for e in state.entries:
        s = state.slice(e.name)
        if e.kind == 'quaternion':
            parts.append(logarithm(product(conjugate(y[s]), x[s])))
        elif e.kind == 'turn':
            parts.append(turn_between(x[s], y[s]))
        elif e.kind == 'angle':
            parts.append(ca.atan2(ca.sin(x[s] - y[s]), ca.cos(x[s] - y[s])))
        else:
            parts.append(x[s] - y[s])
    return ca.Function('difference', [x, y], [ca.vertcat(*parts)], ['x', 'y'], ['d'])
