"""Adding to and subtracting states that hold angles and unit quaternions."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
from rolling_dynamics.contract.layout import Entry, Layout, vector_entry
from rolling_dynamics.rotations import conjugate, exponential, logarithm, product


def tangent_layout(state: Layout) -> Layout:
    """Return the layout of d: three numbers for a quaternion, as many as there are otherwise."""
    return Layout(
        tuple(
            _turn(e) if e.kind == 'quaternion' else replace(e, kind='vector')
            for e in state.entries
        )
    )


def _turn(e: Entry) -> Entry:
    turn = vector_entry(f'd{e.name[1:]}', 'rad', 'body', f'turn of {e.name}')
    return replace(turn, scale=e.scale)


def retraction(state: Layout, tangent: Layout) -> ca.Function:
    """Return ``(x, d) -> x`` moved by d, attitudes on the body's side."""
    x, d = ca.SX.sym('x', state.size), ca.SX.sym('d', tangent.size)
    parts = []
    for e, te in zip(state.entries, tangent.entries, strict=True):
        xe, de = x[state.slice(e.name)], d[tangent.slice(te.name)]
        parts.append(product(xe, exponential(de)) if e.kind == 'quaternion' else xe + de)
    return ca.Function('retract', [x, d], [ca.vertcat(*parts)], ['x', 'd'], ['y'])


def difference(state: Layout) -> ca.Function:
    """Return ``(x, y) -> d`` with ``retract(y, d) = x``; angles to the nearest turn."""
    x, y = ca.SX.sym('x', state.size), ca.SX.sym('y', state.size)
    parts = []
    for e in state.entries:
        s = state.slice(e.name)
        if e.kind == 'quaternion':
            parts.append(logarithm(product(conjugate(y[s]), x[s])))
        elif e.kind == 'angle':
            parts.append(ca.atan2(ca.sin(x[s] - y[s]), ca.cos(x[s] - y[s])))
        else:
            parts.append(x[s] - y[s])
    return ca.Function('difference', [x, y], [ca.vertcat(*parts)], ['x', 'y'], ['d'])
