"""Report of `rolling controllability` about a scenario."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.controllability import (
    affine_fields,
    AffineFields,
    divergence,
    lie_algebra,
    lie_bracket,
    LieAlgebra,
    singular_sets,
)
from rolling_dynamics.scenario import Scenario

VANISHES = 1e-9  # a determinant below this at a general state vanishes
ANGLES = ('v_o', 'psi', 'theta', 'phi', 'G_f')  # in which singular sets are sought


def controllability_report(scenario: Scenario, depth: int = 5) -> dict[str, Any]:
    """
    Return rank, brackets, drift and singular sets of a kinematic scenario.

    Parameters
    ----------
    scenario
        Scenario; angles are held at its inputs at the start.
    depth
        Maximum depth of brackets.

    Raises
    ------
    ParameterError
        The system is dynamic.

    """
    fields = affine_fields(scenario.system)
    algebra = lie_algebra(fields, depth=depth)
    u0 = dict(zip(scenario.system.control.names, scenario.control(0.0, scenario.x0), strict=True))
    held = np.r_[scenario.p, [u0[n] for n in fields.held_names[scenario.p.size :]]]
    report: dict[str, Any] = {
        'name': scenario.name,
        'system': scenario.system.name,
        'dimension': fields.dimension,
        'inputs': list(fields.fields),
        'drift': fields.drift is not None,
        'held': dict(zip(fields.held_names, held.tolist(), strict=True)),
        'brackets': list(algebra.names),
        'closed': algebra.closed,
        'growth_at_general_state': list(algebra.generic_growth),
        'growth_at_start': list(algebra.growth(scenario.x0, held)),
        'rank_at_start': algebra.rank(scenario.x0, held),
        'rank_without': {
            name: max(lie_algebra(fields.without(name), depth=depth).generic_growth)
            for name in fields.fields
        },
        'singular_sets': _sets_of_algebra(scenario, fields, algebra, held),
        'singular_sets_of_determinant': _sets_of_determinant(scenario, fields, held),
    }
    if fields.drift is not None:
        value = fields.function(divergence(fields.drift, fields.x))
        report['divergence_of_drift_at_start'] = float(value(scenario.x0, held))
    return report


def _sets_of_algebra(
    scenario: Scenario, fields: AffineFields, algebra: LieAlgebra, held: Array
) -> list[str]:
    """Return the sets of angles on which the whole algebra loses rank or grows without bound."""
    if max(algebra.generic_growth) < fields.dimension:
        return []

    def weakest(x: Array, h: Array) -> float:
        return algebra.weakest(x, h) if np.all(np.isfinite(algebra.values(x, h))) else 1e300

    return _sets(scenario, fields, held, weakest)


def _sets_of_determinant(
    scenario: Scenario, fields: AffineFields, held: Array
) -> dict[str, list[str]]:
    """
    Return singular sets of the determinant of the inputs with ad_f g, ad_f^2 g, ... of one input.

    By name of the first input for which it does not vanish everywhere; Tafrishi et al., (33), is
    alpha_s'. Where it vanishes the whole algebra need not lose rank.
    """
    f, n = fields.drift, fields.dimension
    if f is None or fields.x.numel() != n:  # more numbers than dimensions: no determinant
        return {}
    for name, g in fields.fields.items():
        columns, bracket = list(fields.fields.values()), g
        while len(columns) < n:
            bracket = lie_bracket(f, bracket, fields.x)
            columns.append(bracket)
        determinant = fields.function(ca.det(ca.horzcat(*columns[:n])))

        def value(x: Array, h: Array, function: ca.Function = determinant) -> float:
            return float(function(x, h))

        if abs(value(_general(scenario), held)) > VANISHES:
            return {name: _sets(scenario, fields, held, value)}
    return {}


def _general(scenario: Scenario) -> Array:
    """Return a state off every symmetry."""
    return np.asarray(scenario.x0 + np.random.default_rng(0).uniform(0.2, 0.9, scenario.x0.size))


def _sets(
    scenario: Scenario,
    fields: AffineFields,
    held: Array,
    value: Callable[[Array, Array], float],
) -> list[str]:
    """Return the sets of angles on which a function of state and held inputs is singular."""
    state = fields.layout.names
    names = [n for n in ANGLES if n in state or n in fields.held_names]
    if not names:
        return []

    def at(angles: Array) -> float:
        x, h = np.array(scenario.x0), held.copy()
        for name, angle in zip(names, angles, strict=True):
            if name in state:
                x[state.index(name)] = angle
            else:
                h[fields.held_names.index(name)] = angle
        found = value(x, h)
        return found if np.isfinite(found) else 1e300

    return [str(s) for s in singular_sets(at, names, trials=3)]


def report_text(report: dict[str, Any]) -> str:
    """Return a report for people."""
    held = ', '.join(f'{k} = {v:.4g}' for k, v in report['held'].items())
    growth = ', '.join(map(str, report['growth_at_general_state']))
    end = 'the algebra is complete' if report['closed'] else 'deepest computed'
    drift = 'with' if report['drift'] else 'without'
    lines = [
        f'{report["name"]}: {report["system"]}, {report["dimension"]} dimensions, {drift} drift',
        f'  inputs                {", ".join(report["inputs"])}',
        f'  held                  {held}',
        f'  rank by depth         {growth} at a general state ({end})',
        f'  at the start          {", ".join(map(str, report["growth_at_start"]))}',
        f'  brackets              {len(report["brackets"])}: {", ".join(report["brackets"][:12])}'
        + (' ...' if len(report['brackets']) > 12 else ''),
    ]
    lines += [f'  rank without {name:<9} {rank}' for name, rank in report['rank_without'].items()]
    if 'divergence_of_drift_at_start' in report:
        value = report['divergence_of_drift_at_start']
        lines.append(f'  divergence of drift   {value:.6g} at the start')
    sets = report['singular_sets'] or ['none found in the angles']
    lines += [f'  singular set          {s}' for s in sets]
    for name, own in report['singular_sets_of_determinant'].items():
        lines.append(f'  determinant of the inputs and ad_f^k {name}, singular where')
        lines += [f'                        {s}' for s in own or ['nowhere in the angles']]
    verdict = (
        'controllable by rank'
        if report['rank_at_start'] == report['dimension']
        else (f'rank {report["rank_at_start"]} of {report["dimension"]} at the start')
    )
    return '\n'.join([*lines, f'  {verdict}'])
