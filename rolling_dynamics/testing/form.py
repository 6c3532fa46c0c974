"""Whether a system offers what the contract asks for, in the right shapes."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

import casadi as ca
import numpy as np
from rolling_dynamics.contract.capabilities import (
    default_weights,
    envelope,
    has,
    members,
    offers,
    Projection,
    RestGoal,
    StateBounds,
    StateCheck,
)
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.contract.mode import Mode
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.contract.tangent_space import tangent_layout
from rolling_dynamics.errors import RollingError
from rolling_dynamics.suggestion import suggestion
from rolling_dynamics.testing.checked_system import Failed, Subject, values

ON_CONSTRAINTS = 1e-6  # how far a given state may be off
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
        raise Failed('modes: one Mode at least is expected, by name')


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
    """Check that what the system offers beside the contract fits its layouts."""
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
