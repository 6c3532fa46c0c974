"""Checks of the form of a system: names, sizes, units, balances of momentum."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
import re

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import (
    default_weights,
    envelope,
    GivenFormulas,
    has,
    members,
    offers,
    Projection,
    RestGoal,
    RigidBodies,
    StateBounds,
    StateCheck,
)
from rolling_dynamics.contract.rolling_system import Layout, Mode, RollingSystem, tangent_layout
from rolling_dynamics.errors import RollingError, suggestion
from rolling_dynamics.testing.motion import close, Failed, NotApplicable, Subject, values

ON_CONSTRAINTS = 1e-6  # tolerance of a given state
VARIABLES = ('time', 'arc length')


def contract(s: Subject) -> None:
    """Check that every attribute of :class:`RollingSystem` is there and of its type."""
    kinds: dict[str, type] = {
        'name': str,
        'state': Layout,
        'control': Layout,
        'parameters': Layout,
        'tangent': Layout,
        'modes': Mapping,
        'independent_variable': str,
        'retract': ca.Function,
        'difference': ca.Function,
        'invariants': Mapping,
        'pose': ca.Function,
        'model_hash': str,
    }
    for name in members(RollingSystem):
        if not has(s.system, name):
            raise Failed(f'the attribute {name!r} is missing')
        found = attrgetter(name)(s.system)
        if not isinstance(found, kinds[name]):
            expected = kinds[name].__name__
            raise Failed(f'{name}: a {expected} is expected, found {type(found).__name__}')
    if not (s.system.name and s.system.model_hash):
        raise Failed('name and model_hash must not be empty: plans hold them')
    if s.system.independent_variable not in VARIABLES:
        raise Failed(
            f'independent_variable: one of {VARIABLES} is expected, found '
            f'{s.system.independent_variable!r}'
        )
    if not s.system.modes or not all(isinstance(m, Mode) for m in s.system.modes.values()):
        raise Failed('modes: at least one Mode is expected, by name')


def shapes(s: Subject) -> None:
    """Check that functions, state, control and p have the sizes of the layouts."""
    system = s.system
    n, m, k, d = (
        v.size for v in (system.state, system.control, system.parameters, system.tangent)
    )
    for name, array, size in (('x', s.x, n), ('u', s.u, m), ('p', s.p, k)):
        if array.shape != (size,) or not np.all(np.isfinite(array)):
            raise Failed(f'{name}: {size} finite numbers are expected, found {array.tolist()}')
    expected = tangent_layout(system.state).size
    if d != expected:
        raise Failed(f'tangent: {expected} numbers are expected for this state, found {d}')
    _expect('retract', system.retract, [n, d], [n])
    _expect('difference', system.difference, [n, n], [d])
    poses = [16] * system.pose.n_out()
    _expect('pose', system.pose, [n, k], poses)
    if not poses or system.pose.size_out(0) != (4, 4):
        raise Failed('pose: 4x4 matrices are expected, one for each body')
    for name, function in s.functions():
        kind = name.rpartition('.')[2]
        size = n if kind == 'dynamics' else 6 if kind == 'wrench' else 1
        _expect(name, function, [n, m, 1, k], [size])
    for name, mode in system.modes.items():
        for key, reset in mode.resets.items():
            if key not in mode.guards:
                known = suggestion(key, list(mode.guards))
                raise Failed(f'modes[{name!r}].resets: no guard {key!r}{known}')
            if isinstance(reset, ca.Function):
                _expect(f'modes[{name!r}].resets[{key!r}]', reset, [n, m, 1, k], [n])


def _expect(name: str, f: ca.Function, inputs: list[int], outputs: list[int]) -> None:
    given = [f.numel_in(i) for i in range(f.n_in())]
    found = [f.numel_out(i) for i in range(f.n_out())]
    if given != inputs or found[: len(outputs)] != outputs or len(found) != len(outputs):
        raise Failed(
            f'{name}: {inputs} -> {outputs} numbers are expected, found {given} -> {found}'
        )


def finite(s: Subject) -> None:
    """Check that every function is finite at the state and near it."""
    for x, u in s.samples:
        for name, function in s.functions():
            if not name.startswith((f'modes[{s.mode_name!r}]', 'invariants')):
                continue  # other modes may not hold here
            found = values(function, x, u, 0.0, s.p)
            if not np.all(np.isfinite(found)):
                raise Failed(f'{name}: finite numbers are expected, found {found.tolist()}')


def offered(s: Subject) -> None:
    """Check that the optional capabilities of the system fit its layouts."""
    n, m, k = s.x.size, s.u.size, s.p.size
    for name, limit in envelope(s.system).items():
        _expect(f'envelope[{name!r}]', limit, [n, m, 1, k], [1])
    for check in (_projection, _bounds, _rest_goal, _weights, _state_check):
        check(s)


def _projection(s: Subject) -> None:
    own = offers(s.system, Projection)
    if own is None:
        return
    _expect('projection', own.projection, [s.x.size, s.p.size], [s.x.size])
    moved = np.abs(values(own.projection, s.x, s.p) - s.x).max(initial=0.0)
    if not moved <= ON_CONSTRAINTS:
        raise Failed(f'projection: the given state is expected to stay, found it {moved:.3g} off')


def _bounds(s: Subject) -> None:
    own = offers(s.system, StateBounds)
    for name, (low, high) in {} if own is None else own.state_bounds(s.p).items():
        _known('state_bounds', name, s.system.state.names)
        if not low < high:
            raise Failed(f'state_bounds[{name!r}]: increasing numbers are expected: {low}, {high}')


def _rest_goal(s: Subject) -> None:
    own, state = offers(s.system, RestGoal), s.system.state
    for name, goal in {} if own is None else own.rest_goal(s.x).items():
        _known('rest_goal', name, [e.name for e in state.entries])
        size = state.entry(name).size
        if np.size(goal) != size:
            raise Failed(f'rest_goal[{name!r}]: {size} numbers expected, found {np.size(goal)}')


def _weights(s: Subject) -> None:
    weights, tangent = default_weights(s.system), s.system.tangent
    known = [*(e.name for e in tangent.entries), *tangent.names]
    for what, given in (('tracking', weights.tracking), ('terminal', weights.terminal)):
        for name in given:
            _known(f'default_weights.{what}', name, known)


def _state_check(s: Subject) -> None:
    own = offers(s.system, StateCheck)
    try:
        if own is not None:
            own.check_state(s.p, s.x)
    except RollingError as e:
        raise Failed(f'check_state: the given state is expected to pass, found: {e}') from None


def _known(what: str, name: str, known: list[str]) -> None:
    if name not in known:
        raise Failed(f'{what}: no entry {name!r}{suggestion(name, known)}')


EXPONENTS: dict[str, tuple[float, float, float]] = {  # of kg, m, s
    '': (0, 0, 0),
    '1': (0, 0, 0),
    'rad': (0, 0, 0),
    'chart': (0, np.nan, 0),
    'kg': (1, 0, 0),
    'm': (0, 1, 0),
    's': (0, 0, 1),
    'N': (1, 1, -2),
    'J': (1, 2, -2),
    'W': (1, 2, -3),
    'Hz': (0, 0, -1),
}
WRENCH = ('N m',) * 3 + ('N',) * 3
FACTORS = {'kg': 2.0, 'm': 3.0, 's': 0.7}
UNIT_TOLERANCE = 1e-9


def units(s: Subject) -> None:
    """Check that motion and contact force do not depend on the units of computation."""
    system = s.system
    if system.independent_variable != 'time':
        raise NotApplicable('units are checked for motions in time')
    given = offers(system, GivenFormulas)
    if given is not None and given.given_formulas:
        raise NotApplicable(f'{", ".join(given.given_formulas)}: numbers of formulas are in SI')
    x_powers, u_powers, p_powers = (
        exponents(layout) for layout in (system.state, system.control, system.parameters)
    )
    wrench_powers = np.array([unit_exponents(w) for w in WRENCH])
    for k, (unit, factor) in enumerate(FACTORS.items()):
        if np.isnan(np.concatenate([x_powers, u_powers, p_powers])[:, k]).any():
            continue  # coordinates on a chart may be lengths, angles or neither
        by_x, by_u, by_p = (factor ** powers[:, k] for powers in (x_powers, u_powers, p_powers))
        slower = factor if unit == 's' else 1.0
        for x, u in s.samples:
            here, there = (x, u, 0.0, s.p), (x * by_x, u * by_u, 0.0, s.p * by_p)
            _compare(s.mode.dynamics, here, there, by_x / slower, unit, system.state.names)
            if s.mode.wrench is not None:
                by_wrench = factor ** wrench_powers[:, k]
                _compare(s.mode.wrench, here, there, by_wrench, unit, [*'xyz', *'xyz'])


def _compare(
    f: ca.Function,
    here: tuple[object, ...],
    there: tuple[object, ...],
    by: Array,
    unit: str,
    names: list[str],
) -> None:
    expected, found = values(f, *here) * by, values(f, *there)
    if not close(found, expected, UNIT_TOLERANCE):
        k = int(np.nanargmax(np.abs(found - expected)))
        raise Failed(
            f'{f.name()} of {names[k]}, in a {unit} {FACTORS[unit]:g} times smaller: '
            f'{expected[k]:.6g} is expected, found {found[k]:.6g}; a unit of a layout is wrong, '
            'or a number in the equations should be a parameter'
        )


def exponents(layout: Layout) -> Array:
    """
    Return the powers of the units kg, m and s of each component of a layout, shape (size, 3).

    A power that the layout does not determine is NaN.
    """
    rows: list[tuple[float, ...]] = []
    for entry in layout.entries:
        try:
            power = unit_exponents(entry.unit)
        except KeyError:
            raise NotApplicable(f'the unit of {entry.name} is not known: {entry.unit}') from None
        rows += [power] * entry.size
    return np.array(rows, dtype=float).reshape(-1, 3)


def unit_exponents(unit: str) -> tuple[float, ...]:
    """Return the powers of kg, m and s of a unit such as ``kg m^2/s``; KeyError if unknown."""
    total, sign = np.zeros(3), 1.0
    for part in re.split(r'([ /])', unit):
        if part == '/':
            sign = -1.0
        elif part.strip():
            base, _, power = part.partition('^')
            total += sign * float(power or 1) * np.array(EXPONENTS[base])
    return tuple(total)


FORCE_TOLERANCE = 1e-8  # of the force, in weights


def newton_euler(s: Subject) -> None:
    """Check that contact, gravity and given forces cause the rates of momentum of ``pose``."""
    wrench, moved = s.mode.wrench, offers(s.system, RigidBodies)
    if wrench is None:
        raise NotApplicable('a kinematic model has no wrench')
    if moved is None:
        raise NotApplicable('the system does not offer RigidBodies')
    bodies, g = moved.rigid_bodies(s.p), ca.DM(moved.gravity(s.p))
    if not bodies:
        raise NotApplicable('no body moves by forces of contacts alone')
    x, u = ca.SX.sym('x', s.x.size), ca.SX.sym('u', s.u.size)
    xdot = s.mode.dynamics(x, u, 0, s.p)
    poses = s.system.pose(x, s.p)
    poses = poses if isinstance(poses, tuple) else (poses,)
    frame = moved.contact_frame(x, s.p)
    force, torque = ca.SX.zeros(3), ca.SX.zeros(3)
    for name, body in bodies.items():
        X = poses[s.system.pose.name_out().index(name)]
        R, origin = X[:3, :3], X[:3, 3]
        centre = origin + R @ ca.DM(body.centre)
        v = _rate(centre, x, xdot)
        w = ca.inv_skew(_rate(R, x, xdot) @ R.T)
        push = body.mass * (_rate(v, x, xdot) - g)
        force += push
        torque += _rate(R @ ca.DM(body.inertia) @ R.T @ w, x, xdot)
        torque += ca.cross(centre - frame[:3, 3], push)
    given, formulas = wrench(x, u, 0, s.p), offers(s.system, GivenFormulas)
    if formulas is not None:
        applied = formulas.applied_wrench
        if applied is None:
            raise NotApplicable('a body moves by formulas of time, which pose does not contain')
        given += applied(x, u, 0, s.p)
    here = frame[:3, :3]
    both = ca.Function(
        'both', [x, u], [ca.vertcat(torque, force), ca.vertcat(here @ given[:3], here @ given[3:])]
    )
    total = sum(b.mass for b in bodies.values())
    weight = total * max(float(np.linalg.norm(np.array(g))), 1.0)
    for x_now, u_now in s.samples:
        needed, found = (np.array(v).ravel() for v in both(x_now, u_now))
        size = max(weight, float(np.abs(needed).max()))
        off = np.abs(needed - found)
        if not off.max() <= FORCE_TOLERANCE * size:
            k = int(np.argmax(off))
            what = 'torque' if k < 3 else 'force'
            raise Failed(
                f'{what} along {"xyz"[k % 3]} of W: the motion needs {needed[k]:.6g}, the wrench '
                f'gives {found[k]:.6g}'
            )


def _rate(value: ca.SX, x: ca.SX, xdot: ca.SX) -> ca.SX:
    """Return the rate of an expression along the motion under a held control."""
    return ca.reshape(ca.jtimes(ca.vec(value), x, xdot), *value.shape)
