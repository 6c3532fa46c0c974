"""Laws exported by their name: C answers as the law itself, and opaque ones are refused."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from robot_cases import CASES
from rolling_controller.design import follow, laws_of, Wanted
from rolling_controller.export import machine_laws
from rolling_controller.export.compiled_law import CompiledLaw
from rolling_controller.export.machine_laws import law_source
from rolling_controller.laboratory.laws import subject_of
from rolling_controller.law import FunctionLaw, replay, state_inputs, StateFeedback
from rolling_controller.robot_laws.regulator import RobotKind
from rolling_dynamics import load_scenario, plugin
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario_model import load_model, ScenarioModel
from rolling_planner.planners.planner import planner_of

STEPS = 400


def states(system, x, rng, spread=1e-2):
    """Return states about one, shape (STEPS, n)."""
    d = spread * rng.normal(size=(STEPS, system.tangent.size))
    return np.array([np.array(system.retract(x, row)).ravel() for row in d])


def assert_alike(source, law, inputs):
    """Square roots by Newton's method may differ in the last bit, nothing else does."""
    period = source.law.period
    expected, _ = replay(law, inputs, np.arange(len(inputs)) * period)
    given = np.zeros((len(inputs), source.law.inputs.size))
    given[:, : inputs.shape[1]] = inputs
    found, _ = replay(CompiledLaw(source=source), given)
    most = np.abs(expected).max()
    assert most > 0
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(most, 1.0))


@pytest.mark.parametrize('name', ['spin_rolling', 'disk'])
def test_what_drives_a_robot_on_the_nodes_is_its_drive_in_c(name, tmp_path):
    scenario, _ = CASES[name].load(tmp_path)
    law = laws_of(ScenarioModel.of(scenario), {}).drive(scenario.x0, 0.0)
    rng = np.random.default_rng(1)
    commands = np.tile([0.02, 0.01, 0.3], (STEPS, 1))
    inputs = np.hstack([states(scenario.system, scenario.x0, rng), commands])
    assert_alike(law_source(scenario, 'drive'), law, inputs)


@pytest.mark.parametrize('case', ['spin_rolling', 'disk'])
def test_what_follows_a_plan_by_its_name_has_the_plan_as_a_table(case, tmp_path):
    """To the end of the plan, and on: then in the last row, or in the hold."""
    scenario, _ = CASES[case].load(tmp_path)
    plan = planner_of(scenario.system.name).plan(scenario, lambda _: True).plan
    found = follow(Wanted(ScenarioModel.of(scenario), plan, {}))
    assert found.hold is None
    source, rng = law_source(scenario, 'lqr'), np.random.default_rng(2)
    steps = round(plan.duration / source.law.period) + 50
    planned = np.array([plan.state_at(min(k * 1e-3, plan.duration)) for k in range(steps)])
    d = 1e-3 * rng.normal(size=(steps, scenario.system.tangent.size))
    inputs = np.array(scenario.system.retract.map(steps)(planned.T, d.T)).T
    assert_alike(source, found.law, inputs)


def test_the_hold_takes_over_at_the_end_of_a_plan(monkeypatch):
    scenario = load_scenario('two_wheeler')
    plan = planner_of(scenario.system.name).plan(scenario, lambda _: True).plan
    monkeypatch.setattr(machine_laws, '_plan', lambda _: plan)
    found = follow(Wanted(ScenarioModel.of(scenario), plan, {}))
    compiled = CompiledLaw(source=law_source(scenario, 'lqr'))
    end, x = round(plan.duration / compiled.period), plan.states[-1]
    x = np.array(scenario.system.retract(x, np.full(scenario.system.tangent.size, 1e-3))).ravel()
    outputs, _ = replay(compiled, np.tile([*x, 0.0], (end + 3, 1)))
    before, after = outputs[end - 1], outputs[end]
    np.testing.assert_allclose(after, found.hold.step(found.hold.start(), x, 0.0)[1], atol=1e-12)
    expected = found.law.step(found.law.start(), x, (end - 1) * compiled.period)[1]
    np.testing.assert_allclose(before, expected, atol=1e-12)
    unseen = [*np.full(x.size, np.nan), 0.0]
    outputs, _ = replay(compiled, [[*x, 0.0], unseen, unseen])
    assert np.ptp(outputs, axis=0).max() == 0  # the last control stays


@pytest.mark.parametrize(
    ('experiment', 'file', 'law'),
    [
        ('damping', 'laboratory_damping', 'closed_loop'),
        ('balance_3d', 'balance_ellipsoid', 'closed_loop'),
        pytest.param('flip_up', 'laboratory_flip_up', 'closed_loop', marks=pytest.mark.slow),
        ('throw_catch', 'laboratory_throw_catch', 'closed_loop'),
    ],
)
def test_laws_of_the_laboratory_are_those_in_c(experiment, file, law, tmp_path):
    model = load_model(file)
    subject = subject_of(experiment, model)
    prepared = subject.prepare()
    source = law_source(load_scenario(file), f'{experiment}_{law}')
    inputs = states(subject.system, subject.start, np.random.default_rng(3), 1e-3)
    if 'mode' in source.law.measurement:
        inputs = np.hstack([inputs, np.arange(STEPS)[:, None] < 0.8 * STEPS])
    assert_alike(source, prepared.law(law), inputs)


def test_what_is_opaque_or_unknown_is_refused():
    scenario = load_scenario('two_wheeler')
    for name, text in {
        'predictive': 'predictive cannot be written as C, it is opaque: a quadratic program',
        'learned': 'it is opaque: a learned network',
        'steady': "the laws hold, drive, follow, measured, lqr, predictive, learned; got 'steady'",
    }.items():
        with pytest.raises(ParameterError, match=text):
            law_source(scenario, name)
    flat = load_scenario('laboratory_damping')
    with pytest.raises(ParameterError, match="laws closed_loop, open_loop; got 'predictive'"):
        law_source(flat, 'damping_predictive')
    with pytest.raises(ParameterError, match=r"flip_up_predictive, .*; got 'closed_loop'"):
        law_source(flat, 'closed_loop')


@pytest.mark.slow  # a region of attraction
def test_the_predictive_law_of_an_experiment_is_refused():
    with pytest.raises(ParameterError, match=r'flip_up_predictive.*it is opaque: a quadratic'):
        law_source(load_scenario('laboratory_flip_up'), 'flip_up_predictive')


def soft(wanted):
    """Return a law of a stranger: it counts what was missed, and uses functions of a library."""

    def step(z, y, t, given):
        z = z + y[0] - given[0]
        return z, -(z + t) - ca.tanh(y[1]) ** 3 + ca.exp(-(y[2] ** 2))

    system, plan = wanted.model.system, wanted.plan
    return FunctionLaw(state_inputs(system), system.control, step, plan.state_at, [0.5])


def python(wanted):
    system = wanted.model.system
    return StateFeedback(system, lambda _t, _x: np.zeros(system.control.size))


def test_a_law_of_a_stranger_is_exported_by_its_name(monkeypatch, tmp_path):
    scenario, _ = CASES['disk'].load(tmp_path)
    name, one = scenario.system.name, plugin.plugin_of(scenario.system.name)
    kind = RobotKind(more={name: f'{__name__}:{name}' for name in ('soft', 'python')})
    monkeypatch.setitem(plugin._KNOWN, name, replace(one, law=kind))
    plan = planner_of(scenario.system.name).plan(scenario, lambda _: True).plan
    found = follow(Wanted(ScenarioModel.of(scenario), plan, {'law': 'soft'}))
    inputs = states(scenario.system, scenario.x0, np.random.default_rng(5))
    assert_alike(law_source(scenario, 'soft'), found.law, inputs)
    with pytest.raises(ParameterError, match='opaque: a function of Python'):
        law_source(scenario, 'python')
    with pytest.raises(ParameterError, match="lqr, predictive, learned, soft, python; got 'hard'"):
        follow(Wanted(ScenarioModel.of(scenario), plan, {'law': 'hard'}))
