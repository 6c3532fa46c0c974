"""Hold and drive of any machine as laws in discrete time, exported where a plug-in names none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import casadi as ca
import numpy as np
from rolling_controller.balance.hold import Hold, PERIOD
from rolling_controller.law import COMMANDED
from rolling_controller.robot_laws.steering import placed, STEEP, VelocityHold, viewed_from
from rolling_controller.step_law import StepLaw
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry, Layout, RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario

FARTHEST = 1e6  # in the units of the state: what is beyond is not measured
FASTEST = 0.5  # m/s, rad/s: up to which steady motions are taken to third order
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
    x, visible = ca.SX.sym('x', system.state.size), ca.SX.sym('seen')
    shift = ca.SX.sym('shift', system.tangent.size)
    before = ca.SX.sym('before', system.control.size)
    gain = ca.sparsify(ca.DM(hold.gain))
    gains = ca.SX.sym('gains', gain.nnz())
    u = _limited(hold, hold.u - ca.SX(gain.sparsity(), gains) @ (_error(hold, x) - shift))
    after = ca.if_else(visible > 0.5, u - hold.u, before)  # the memory starts at zero
    return StepLaw(
        name='hold',
        text=TEXT,
        period=PERIOD,
        state=Layout((sent_entry(system.control),)),
        measurement=system.state,
        set_point=Layout(tuple(replace(e, kind='vector') for e in system.tangent.entries)),
        output=system.control,
        function=ca.Function('hold', [before, x, visible, shift, gains], [after, hold.u + after]),
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


def _error(hold: Hold, x: ca.SX) -> ca.SX:
    """Return the error of a state of a hold, to first order."""
    system, y = hold.system, ca.SX.sym('y', hold.system.state.size)
    slope = ca.Function('slope', [y], [ca.jacobian(system.difference(y, ca.DM(hold.x)), y)])
    near = aligned(system, x, ca.DM(hold.x))
    return ca.sparsify(ca.DM(np.array(slope(hold.x)))) @ (near - hold.x)


def aligned(system: RollingSystem, x: ca.SX, near: ca.SX | ca.DM) -> ca.SX:
    """Return a state whose quaternions have the sign that is nearer to those of another."""
    out = ca.SX(x)
    for entry in system.state.entries:
        where = system.state.slice(entry.name)
        if entry.kind == 'quaternion':
            opposite = ca.dot(x[where], near[where]) < 0
            out[where] = ca.if_else(opposite, -x[where], x[where])
    return out


def held(hold: Hold, x: ca.SX) -> ca.SX:
    """Return the control of a hold in a state, to first order; see :class:`Hold`."""
    return _limited(hold, hold.u - ca.sparsify(ca.DM(hold.gain)) @ _error(hold, x))


def _limited(hold: Hold, u: ca.SX) -> ca.SX:
    low, high = hold.limits
    return ca.fmin(ca.fmax(u, low), high)


def sent_entry(control: Layout) -> Entry:
    """Return the entry of a memory that holds the last control."""
    names = tuple(f'{name}_sent' for name in control.names)
    return Entry('sent', names, '', text='last control over that at rest')


def drive_law(scenario: Scenario) -> StepLaw:
    """
    Return the hold about a reference that moves as commanded, from the start of a scenario.

    Its measurement is the state, its set point the velocity (forward, left, turn). The error is
    that of first order, the steady motion that of third order in the velocity. Without a
    measurement the last control stays, and the reference goes on.

    Raises
    ------
    ParameterError
        The state names no position in W, cannot be held, or no velocity can be kept.

    """
    system, x0 = scenario.system, np.asarray(scenario.x0, dtype=float)
    law = VelocityHold(scenario, x0, 0.0)
    m, hold = system.control.size, law.hold
    memory, command = ca.SX.sym('memory', 7 + m), ca.SX.sym('command', 3)
    x, visible = ca.SX.sym('x', system.state.size), ca.SX.sym('seen')
    position, half, velocity, before = ca.vertsplit(memory, [0, 2, 4, 7, 7 + m])
    most = STEEP * PERIOD
    velocity += ca.fmin(ca.fmax(command * law.possible - velocity, -most), most)
    C, S, turn = 1 + half[0], half[1], velocity[2] * PERIOD / 2
    half = ca.vertcat(C * (1 - turn**2 / 2) - S * turn, S * (1 - turn**2 / 2) + C * turn)
    half *= (3 - ca.sumsqr(half)) / 2  # of norm 1, without a root
    c, s = half[0] ** 2 - half[1] ** 2, 2 * half[0] * half[1]
    turned = ca.blockcat([[c, -s], [s, c]])
    position += turned @ velocity[:2] * PERIOD
    # across the ways that it can go the reference stays with the robot
    apart = ca.if_else(visible > 0.5, placed(system, x) - law.start()[1:3] - position, 0)
    position += turned @ ((1 - law.possible[:2]) * (turned.T @ apart))
    kept = _steady(law) @ ca.vertcat(*_powers(ca.vertsplit(velocity)))
    n = system.tangent.size
    near = viewed_from(system, x, position + law.start()[1:3], half)
    gain = ca.sparsify(ca.DM(hold.gain))
    u = _limited(hold, hold.u + kept[n:] - gain @ (_error(hold, near) - kept[:n]))
    sent = ca.if_else(visible > 0.5, u - hold.u, before)
    after = ca.vertcat(position, half - ca.DM([1, 0]), velocity, sent)
    return StepLaw(
        name='drive',
        text='hold about a reference that moves as commanded',
        period=PERIOD,
        state=Layout(
            (
                Entry('place', ('x', 'y'), 'm', text='of the reference, from its start'),
                Entry('half_turn', ('cosine_less_1', 'sine'), '', text='of half its yaw'),
                Entry('velocity', ('forward', 'left', 'turn'), '', text='of the reference'),
                sent_entry(system.control),
            )
        ),
        measurement=system.state,
        set_point=Layout((COMMANDED,)),
        output=system.control,
        function=ca.Function('drive', [memory, x, visible, command], [after, hold.u + sent]),
        limits=(FARTHEST, FARTHEST),
    )


def _powers(v: Sequence[Any]) -> list[Any]:
    """Return the products of one to three of three velocities."""
    return [
        v[0] ** i * v[1] ** j * v[2] ** k
        for i, j, k in product(range(4), repeat=3)
        if 1 <= i + j + k <= 3
    ]


def _steady(law: VelocityHold) -> Array:
    """Return the columns of steady motions by :func:`_powers` of their velocity."""
    tried = list(product(FASTEST * np.linspace(-1.0, 1.0, 5), repeat=3))
    powers = np.array([_powers(v) for v in tried])
    motions = np.array([law.steady(v) for v in tried])
    if not np.isfinite(motions).all():
        raise ParameterError(f'no steady motion keeps each velocity up to {FASTEST} m/s and rad/s')
    columns: Array = np.linalg.lstsq(powers, motions, rcond=None)[0].T
    return columns
