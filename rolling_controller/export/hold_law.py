"""Hold and drive of any machine as laws in discrete time, exported where a plug-in names none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.balance.hold import Hold, PERIOD
from rolling_controller.law import COMMANDED, split
from rolling_controller.robot_laws.steering import place, VelocityHold
from rolling_controller.step_law import StepLaw
from rolling_controller.time_varying_lqr import regulator
from rolling_dynamics.contract.rolling_system import Entry, Layout, RollingSystem
from rolling_dynamics.scenario import Scenario

FARTHEST = 1e6  # in the units of the state: what is beyond is not measured
TEXT = 'hold about the equilibrium nearest the start of the scenario'
Step = Callable[[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX], tuple[ca.SX, ca.SX]]


def hold_law(scenario: Scenario) -> StepLaw:
    """
    Return :class:`Hold` about the equilibrium nearest the start of a scenario.

    Its measurement is the state, its set point a shift of the equilibrium in tangent units.
    Without a measurement the last control stays.

    Raises
    ------
    ParameterError
        There is no equilibrium near the start, or it cannot be stabilised.

    """
    system = scenario.system
    hold = Hold(system, scenario.p, scenario.x0, control_limits=scenario.control_limits)
    gain = ca.sparsify(ca.DM(hold.gain))

    def step(memory: ca.SX, x: ca.SX, _: ca.SX, shift: ca.SX, gains: ca.SX) -> tuple[ca.SX, ca.SX]:
        rows = ca.vec(ca.densify(ca.SX(gain.sparsity(), gains)).T)
        record = ca.vertcat(system.retract(hold.x, shift), hold.u, rows)
        return memory, regulator(system)([], x, 0, ca.vertcat(record, *hold.limits))

    shifts = Layout(tuple(replace(e, kind='vector') for e in system.tangent.entries))
    tunable = _gains(system, gain.sparsity()), tuple(gain.nonzeros())
    return machine_law(system, 'hold', TEXT, (), shifts, step, hold.u, *tunable)


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


def drive_law(scenario: Scenario) -> StepLaw:
    """
    Return :class:`VelocityHold` from the start of a scenario.

    Its measurement is the state, its set point the velocity (forward, left, turn). Without a
    measurement the last control stays, and the reference goes on.

    Raises
    ------
    ParameterError
        The state names no position in W, cannot be held, or no velocity can be kept.

    """
    system = scenario.system
    law = VelocityHold(scenario, np.asarray(scenario.x0, dtype=float), 0.0)
    one = law.as_function()
    start = one.memory[1:]  # the first is the time of the step before, always a period ago
    first = system.state.slice(place(system).name).start

    def step(
        memory: ca.SX, x: ca.SX, visible: ca.SX, command: ca.SX, _: ca.SX
    ) -> tuple[ca.SX, ca.SX]:
        reference, x = start + memory, ca.SX(x)
        for k in range(2):  # where nothing is measured the robot is at the reference
            x[first + k] = ca.if_else(visible > 0.5, x[first + k], reference[k])
        known = ca.vertcat(0, reference), ca.vertcat(x, command)
        after, u = split(one.function(*known, PERIOD, one.given(0.0)), 1 + start.size)
        return after[1:] - start, u

    memory = (
        Entry('place', ('x', 'y'), 'm', text='of the reference, from its start'),
        Entry('yaw', ('yaw',), 'rad', text='of the reference, from its start'),
        Entry('velocity', ('forward', 'left', 'turn'), '', text='of the reference'),
        Entry('bend', tuple(f'bend_{k}' for k in range(start.size - 6)), ''),
    )
    text = 'hold about a reference that moves as commanded'
    return machine_law(system, 'drive', text, memory, Layout((COMMANDED,)), step, law.hold.u)


def machine_law(
    system: RollingSystem,
    name: str,
    text: str,
    memory: Sequence[Entry],
    set_point: Layout,
    step: Step,
    u_rest: ArrayLike,
    gains: Layout | None = None,
    tuned: tuple[float, ...] = (),
) -> StepLaw:
    """
    Return a law of the state whose last control stays where the state is not measured.

    Parameters
    ----------
    system
        The machine.
    name, text, set_point, gains, tuned
        See :class:`StepLaw`.
    memory
        Entries of its own memory, zero at the start.
    step
        From its own memory, state, whether that is measured, set point and gains to its own
        memory and the control.
    u_rest
        Control before the first measurement, shape (control.size,).

    """
    gains, own = gains or Layout(()), sum(e.size for e in memory)
    names = tuple(f'{c}_sent' for c in system.control.names)
    sent = Entry('sent', names, '', text='last control over that at rest')
    z, x = ca.SX.sym('z', own + len(names)), ca.SX.sym('x', system.state.size)
    visible, goal = ca.SX.sym('seen'), ca.SX.sym('goal', set_point.size)
    K = ca.SX.sym('gains', gains.size)
    after, u = step(z[:own], x, visible, goal, K)
    kept = ca.if_else(visible > 0.5, u - u_rest, z[own:])
    given = [z, x, visible, goal, *([K] if tuned else [])]
    return StepLaw(
        name=name,
        text=text,
        period=PERIOD,
        state=Layout((*memory, sent)),
        measurement=system.state,
        set_point=set_point,
        output=system.control,
        function=ca.Function(name, given, [ca.vertcat(after, kept), u_rest + kept]),
        limits=(FARTHEST, FARTHEST),
        gains=gains,
        tuned=tuned,
    )
