"""The hold of any machine as a law in discrete time, exported where a plug-in names no laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np
from rolling_controller.balance.hold import Hold, PERIOD
from rolling_controller.export.c import as_c, CSource
from rolling_controller.step_law import StepLaw
from rolling_dynamics.contract.rolling_system import Entry, Layout, RollingSystem
from rolling_dynamics.scenario import Scenario

FARTHEST = 1e6  # in the units of the state: what is beyond is not measured
TEXT = 'hold about the equilibrium nearest the start of the scenario'


def hold_law(scenario: Scenario) -> StepLaw:
    """
    Return the hold about the equilibrium nearest the start of a scenario.

    Its measurement is the state, its set point a shift of the equilibrium in tangent units. The
    error is that of first order, a quaternion counting as its negative does. Without a measurement
    the last control stays.

    Raises
    ------
    ParameterError
        There is no equilibrium near the start, or it cannot be stabilised.

    """
    system = scenario.system
    hold = Hold(system, scenario.p, scenario.x0, control_limits=scenario.control_limits)
    x, seen = ca.SX.sym('x', system.state.size), ca.SX.sym('seen')
    shift = ca.SX.sym('shift', system.tangent.size)
    before = ca.SX.sym('before', system.control.size)
    slope = ca.Function('slope', [x], [ca.jacobian(system.difference(x, ca.DM(hold.x)), x)])
    aligned = ca.SX(x)
    for entry in system.state.entries:
        where = system.state.slice(entry.name)
        if entry.kind == 'quaternion':
            opposite = ca.dot(x[where], ca.DM(hold.x[where])) < 0
            aligned[where] = ca.if_else(opposite, -x[where], x[where])
    error = ca.sparsify(ca.DM(np.array(slope(hold.x)))) @ (aligned - hold.x) - shift
    low, high = hold.limits
    gain = ca.sparsify(ca.DM(hold.gain))
    gains = ca.SX.sym('gains', gain.nnz())
    u = ca.fmin(ca.fmax(hold.u - ca.SX(gain.sparsity(), gains) @ error, low), high)
    after = ca.if_else(seen > 0.5, u - hold.u, before)  # the memory starts at zero
    names = tuple(f'{name}_sent' for name in system.control.names)
    return StepLaw(
        name='hold',
        text=TEXT,
        period=PERIOD,
        state=Layout((Entry('sent', names, '', text='last control over that at rest'),)),
        measurement=system.state,
        set_point=Layout(tuple(replace(e, kind='vector') for e in system.tangent.entries)),
        output=system.control,
        function=ca.Function('hold', [before, x, seen, shift, gains], [after, hold.u + after]),
        limits=(FARTHEST, FARTHEST),
        gains=_gains(system, gain.sparsity()),
        tuned=tuple(gain.nonzeros()),
    )


def _gains(system: RollingSystem, sparsity: ca.Sparsity) -> Layout:
    """Return the layout of the gains that are not zero, of each control on each tangent number."""
    u, d = system.control, system.tangent
    unit = {c: e.unit for layout in (u, d) for e in layout.entries for c in e.components}
    entries = []
    for i, j in zip(sparsity.row(), sparsity.get_col(), strict=True):
        control, moved = u.names[i], d.names[j]
        per = f'{unit[control] or "1"}/({unit[moved]})' if unit[moved] else unit[control]
        entries.append(Entry(f'gain_{control}_{moved}', (f'gain_{control}_{moved}',), per))
    return Layout(tuple(entries))


def hold_sources(scenario: Scenario) -> dict[str, Callable[[], CSource]]:
    """Return what writes the laws of any machine as C, by name."""
    return {'hold': lambda: as_c(hold_law(scenario))}
