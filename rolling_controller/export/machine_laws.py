"""
Laws of any machine in discrete time, exported where a plug-in names none.

Hold, drive, follow the plan of a scenario, and hold by sensor measurements. Any other law that is
not opaque is exported by its name, with its inputs over time as a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.typing import ArrayLike
from rolling_controller.balance.hand_over import HandOver
from rolling_controller.balance.hold import Hold, PERIOD
from rolling_controller.design import follow, LAWS, laws_of, LEARNED, PREDICTIVE, Wanted
from rolling_controller.export.c import as_c, CSource
from rolling_controller.law import as_function, COMMANDED, FunctionLaw, Law, law_named, MODE, split
from rolling_controller.learned_law import LearnedLaw
from rolling_controller.measured_state import GAP, latency, MeasuredLaw, MISSING, SensorFilter
from rolling_controller.predictive.law import PredictiveLaw
from rolling_controller.robot_laws.regulator import RegulatedRobot, robot_kind
from rolling_controller.robot_laws.steering import place, VelocityHold
from rolling_controller.step_law import StepLaw
from rolling_controller.time_varying_lqr import regulator, TimeVaryingLqr
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry, Layout, RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.plugin import role_of
from rolling_dynamics.robots.view import robot_view
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario_model import ScenarioModel
from rolling_planner.plan import Plan
from rolling_planner.planners.planner import planner_of

UNUSED = Layout((Entry('unused', ('unused',), ''),))  # a set point without a meaning
FARTHEST = 1e6  # in the units of the state: a measurement beyond counts as missing
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
    more = {'gains': _gains(system, gain.sparsity()), 'tuned': tuple(gain.nonzeros())}
    return machine_law(
        system.state, system.control, 'hold', TEXT, (), shifts, step, hold.u, **more
    )


LONGEST, LOOK = 200.0, 0.05  # s: inputs count until then, and are sampled this often


def check_open(name: str, opaque: str) -> None:
    """Raise ParameterError where a law is opaque, with the reason."""
    if opaque:
        raise ParameterError(f'{name} cannot be written as C, it is opaque: {opaque}')


def stepped(law: Law[Any], name: str, text: str) -> StepLaw:
    """
    Return a law of the state in steps of its period, or of :data:`PERIOD`.

    Its inputs over time become a table, up to the time from which they are constant.

    Parameters
    ----------
    law
        Its first input and the mode are measured; the others are its set point.
    name, text
        See :class:`StepLaw`.

    Raises
    ------
    ParameterError
        The law is opaque.

    """
    check_open(name, law.opaque)
    one, period = as_function(law), law.period or PERIOD
    end = one.given(LONGEST)
    looks = [t for t in np.arange(0.0, LONGEST, LOOK) if not np.array_equal(one.given(t), end)]
    steps = round((looks[-1] + LOOK) / period) + 1 if looks else 1
    rows = np.array([one.given(k * period) for k in range(steps)] + [end])
    varies = np.flatnonzero((rows != end).any(axis=0)).tolist()
    entries = law.inputs.entries
    measured = Layout(tuple(e for k, e in enumerate(entries) if k == 0 or e.name == MODE))
    wanted = Layout(tuple(e for e in entries if e not in measured.entries))

    def step(
        memory: ca.SX, y: ca.SX, visible: ca.SX, goal: ca.SX, row: ca.SX
    ) -> tuple[ca.SX, ca.SX]:
        count, own = split(memory, 1)
        parts, given = {**measured.split(y), **wanted.split(goal)}, ca.SX(ca.DM(end))
        given[varies] = row
        known = ca.vertcat(*(parts[e.name] for e in entries))
        after, u = split(one.function(own, known, count * period, given), own.numel())
        return ca.vertcat(count + 1, ca.if_else(visible > 0.5, after, own)), u

    names = ('steps', *(f'memory_{k}' for k in range(one.memory.size)))
    rest = np.zeros(law.output.size)
    more = {'begin': [0.0, *one.memory, *rest], 'period': period}
    if varies:
        more['rows'] = rows[:, varies]
    memory, wanted = [Entry('memory', names, '')], wanted if wanted.entries else UNUSED
    return machine_law(measured, law.output, name, text, memory, wanted, step, rest, **more)


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
    Return the driving law of the controller node, from the start of a scenario.

    Its measurement is the state, its set point the velocity (forward, left, turn). Without a
    measurement the last control stays; the reference of a :class:`VelocityHold`, which replaces an
    opaque law, continues.

    Raises
    ------
    ParameterError
        The state has no position in W, cannot be held, or no velocity can be kept.

    """
    system = scenario.system
    yaw = robot_view(system, scenario.p).yaw_in(scenario.x0, scenario.p) or 0.0
    x0, text = np.asarray(scenario.x0, dtype=float), 'drives at a commanded velocity'
    law = _laws(scenario).drive(x0, yaw)
    if law.opaque:
        law = VelocityHold(scenario, x0, yaw)
    if not isinstance(law, VelocityHold):
        return stepped(law, 'drive', text)
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
    return machine_law(
        system.state, system.control, 'drive', text, memory, Layout((COMMANDED,)), step, law.hold.u
    )


def machine_law(
    measurement: Layout,
    output: Layout,
    name: str,
    text: str,
    memory: Sequence[Entry],
    set_point: Layout,
    step: Step,
    u_rest: ArrayLike,
    **more: Any,  # noqa: ANN401  further attributes
) -> StepLaw:
    """
    Return a law of the state whose last control stays where the state is not measured.

    Parameters
    ----------
    measurement, output, name, text, set_point, more
        See :class:`StepLaw`.
    memory
        Entries of its own memory.
    step
        From its own memory, state, whether that is measured, set point and gains or row to its
        own memory and the control.
    u_rest
        Control before the first measurement, shape (control.size,).

    """
    own, names = sum(e.size for e in memory), tuple(f'{c}_sent' for c in output.names)
    sent = Entry('sent', names, '', text='last control over that at rest')
    z, x = ca.SX.sym('z', own + len(names)), ca.SX.sym('x', measurement.size)
    visible, goal = ca.SX.sym('seen'), ca.SX.sym('goal', set_point.size)
    K = ca.SX.sym('gains', len(more.get('tuned') or more.get('rows', [()])[0]))
    after, u = step(z[:own], x, visible, goal, K)
    kept = ca.if_else(visible > 0.5, u - u_rest, z[own:])
    given = [z, x, visible, goal, *([K] if more.keys() & {'tuned', 'rows'} else [])]
    return StepLaw(
        **{'name': name, 'text': text, 'period': PERIOD, **more},
        state=Layout((*memory, sent)),
        measurement=measurement,
        set_point=set_point,
        output=output,
        function=ca.Function(name, given, [ca.vertcat(after, kept), u_rest + kept]),
        limits=(FARTHEST, FARTHEST),
    )


TERMS = 25  # of the polynomials in time
ROUGH = 0.02  # of the maximum, or limit, of a group of numbers: error allowed to a polynomial


def follow_law(scenario: Scenario, plan: Plan | None = None) -> StepLaw:
    """
    Return the regulator along a plan, then the hold at its end; without one it continues.

    Its memory is the time; its gains and the planned motion are polynomials in time. Its set point
    is a number without a meaning.

    Parameters
    ----------
    scenario
        The machine.
    plan
        The plan; the scenario's where None.

    Raises
    ------
    ParameterError
        There is no plan, no regulator follows it, or no polynomial fits.

    """
    system, plan = scenario.system, plan or _plan(scenario)
    following = _laws(scenario).follow(plan)
    law, hold = following.law, following.hold
    if not isinstance(law, TimeVaryingLqr):
        raise ParameterError(f'plans of {system.name} are not followed by a regulator')
    end, limits = float(law.times[-1]), np.concatenate(law.limits)
    table = ca.sparsify(ca.DM(_fitted(law)))

    def step(z: ca.SX, x: ca.SX, t: ca.SX, _: ca.SX) -> tuple[ca.SX, ca.SX]:
        s = 2 * ca.fmin(t / end, 1) - 1
        terms = [ca.SX(1), s]
        for _ in range(TERMS - 2):
            terms.append(2 * s * terms[-1] - terms[-2])
        return z, regulator(system)([], x, 0, ca.vertcat(table @ ca.vertcat(*terms), limits))

    along: FunctionLaw = FunctionLaw(law.inputs, law.output, step)
    if isinstance(hold, Hold):
        along = HandOver(along, hold, latest=end - PERIOD / 2)
    return stepped(
        along, 'follow', 'regulator along the plan of the scenario, then the hold at its end'
    )


def _fitted(law: TimeVaryingLqr) -> Array:
    """Return polynomials in time of the records of a law."""
    values = np.array([law.record(float(t)) for t in law.times])
    terms = chebvander(2 * law.times / law.times[-1] - 1, TERMS - 1)
    found: Array = np.linalg.lstsq(terms, values, rcond=None)[0].T
    size, n = np.abs(values).max(axis=0), law.system.state.size
    controls = slice(n, n + law.system.control.size)
    limit = np.abs(law.limits).min(axis=0)
    size[controls] = np.maximum(size[controls], np.where(np.isfinite(limit), limit, 0.0))
    for group in (slice(0, n), controls, slice(controls.stop, None)):
        missed = np.abs(terms @ found[group].T - values[:, group]).max()
        if missed > ROUGH * size[group].max():
            raise ParameterError(
                f'a polynomial of {TERMS} terms misses the plan by {missed:.3g}: it is too rough '
                'for a board'
            )
    return found


def measured_law(scenario: Scenario) -> StepLaw:
    """
    Return the hold of :func:`hold_law` behind the filter of the scenario's sensors.

    It steps at the rate of the fastest sensor. A step without a measurement from each sensor only
    predicts. Its set point is a number without a meaning.

    Raises
    ------
    ParameterError
        There are no sensors, or no equilibrium that can be held.

    """
    system, sensors, x = scenario.system, scenario.sensors, scenario.x0
    if not sensors:
        raise ParameterError(f'{scenario.name}: a law of what sensors measure needs sensors')
    state = SensorFilter(system, scenario.p, sensors, x)
    hold = Hold(system, scenario.p, x, control_limits=scenario.control_limits)
    one = MeasuredLaw(state, hold, latency=latency(sensors, scenario.actuators)).as_function()
    # measurements before the start were long ago
    start = np.maximum(one.memory, -1.0 - 2 * GAP / min(s.rate for s in sensors))
    names = tuple(f'memory_{k}' for k in range(start.size))
    layout = Layout((Entry('clock', ('clock',), 's'), Entry('memory', names, '')))
    period, measurement = 1 / max(s.rate for s in sensors), state.inputs
    z, y = ca.SX.sym('z', layout.size), ca.SX.sym('y', measurement.size)
    visible, unused = ca.SX.sym('seen'), ca.SX.sym('goal')
    known = ca.if_else(visible > 0.5, y, 10 * MISSING)
    out = one.function(start + z[1:], known, z[0], one.given(0.0))
    after, u = split(out, start.size)
    return StepLaw(
        name='measured',
        text='hold about the start of the scenario, by what its sensors measure',
        period=period,
        state=layout,
        measurement=measurement,
        set_point=UNUSED,
        output=system.control,
        function=ca.Function(
            'measured', [z, y, visible, unused], [ca.vertcat(z[0] + period, after - start), u]
        ),
        limits=(FARTHEST, FARTHEST),
    )


def along_law(scenario: Scenario, name: str) -> StepLaw:
    """Return a law along the plan of a scenario by its name, then the hold at its end."""
    check_open(name, {PREDICTIVE: PredictiveLaw.opaque, LEARNED: LearnedLaw.opaque}.get(name, ''))
    plan = _plan(scenario)
    found = follow(Wanted(ScenarioModel.of(scenario), plan, {'law': name}))
    law, hold = found.law, found.hold
    if isinstance(hold, FunctionLaw) and not law.opaque:
        law = HandOver(law, hold, latest=plan.duration)
    return stepped(law, name, f'{name} along the plan of the scenario, then the hold at its end')


def machine_sources(scenario: Scenario) -> dict[str, Callable[[], CSource]]:
    """Return what writes the laws of any machine as C, by name."""
    makers: dict[str, Callable[[Scenario], StepLaw]]
    makers = {'hold': hold_law, 'drive': drive_law, 'follow': follow_law, 'measured': measured_law}
    for name in (*LAWS, *robot_kind(scenario.system.name).more):
        makers[name] = partial(along_law, name=name)
    return {name: partial(written, make, scenario) for name, make in makers.items()}


def written(make: Callable[[Scenario], StepLaw], scenario: Scenario) -> CSource:
    """Return a law that is made for a scenario as C."""
    return as_c(make(scenario), library=True)


def law_source(scenario: Scenario, name: str) -> CSource:
    """Return a law of a scenario as C; raise ParameterError if it has none of this name."""
    laws = (role_of(scenario.system.name, 'step_laws') or machine_sources)(scenario)
    source: CSource = law_named(laws, name, scenario.name)
    return source


def _laws(scenario: Scenario) -> RegulatedRobot:
    """Return the laws of a machine by the defaults of its options."""
    return laws_of(ScenarioModel.of(scenario), {})


def _plan(scenario: Scenario) -> Plan:
    return planner_of(scenario.system.name).plan(scenario, lambda _: True).plan
