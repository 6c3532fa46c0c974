"""Hardware gets finite limits on every control, and what a hand gets is limited always."""

from dataclasses import replace

import numpy as np
import pytest
from rolling_controller.laboratory.laws import subject_of
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario_model import check_limits, load_model, load_robot, MOST
from rolling_robotics.experiments import EXPERIMENTS
from rolling_robotics.hardware import REAL

LABORATORY = [name for name, made in EXPERIMENTS.items() if made.hardware]


@pytest.mark.parametrize('name', LABORATORY)
def test_scenarios_of_hardware_limit_every_control(name):
    check_limits(load_model(EXPERIMENTS[name].scenario_file))


@pytest.mark.parametrize('name', LABORATORY)
def test_a_controller_on_real_hardware_checks_the_limits(name):
    by_kind = {
        kind: entry.parameters.get('finite_limits', False)
        for kind in EXPERIMENTS[name].hardware
        for entry in EXPERIMENTS[name].nodes_on(kind)
        if entry.name == 'controller'
    }
    assert by_kind == {kind: kind == REAL for kind in by_kind}
    assert REAL in by_kind


def test_a_model_has_the_errors_of_its_parameters_that_its_scenario_declares():
    """Of a uniform one within its bounds; what is no parameter of the system has none."""
    model = load_model('ball_on_plate_hard')
    assert not model.errors.any()
    uncertain = {'mass': [0.1, 0.2], 'mu': [0.3, 0.9], 'dead_time': [0.0, 0.01]}
    errors = replace(model, scenario=replace(model.scenario, uncertain=uncertain)).errors
    names = [name for name, off in zip(model.system.parameters.names, errors, strict=True) if off]
    assert names == ['mass', 'mu']
    assert errors[errors > 0] == pytest.approx([0.1 / 12**0.5, 0.6 / 12**0.5])


def test_a_control_without_limit_is_named():
    model = load_model('ball_on_plate_hard')  # limits the angular acceleration only
    with pytest.raises(ParameterError, match=r'a_WH_H has none.*limits: {a_WH_H'):
        check_limits(model)
    with pytest.raises(ParameterError, match='alpha_WH_H, a_WH_H have none'):
        check_limits(replace(model, control_limits=None))


@pytest.mark.parametrize('name', ['pendulum_torque', 'bicycle', 'point_mass_ball'])
def test_robots_without_limits_are_refused(name):
    with pytest.raises(ParameterError, match='driven within finite limits only'):
        check_limits(load_robot(name))


@pytest.mark.parametrize(('name', 'turn'), [('ball_on_plate_hard', 50), ('butterfly_plate', 100)])
def test_a_hand_along_plans_is_limited_by_its_scenario_then_as_all_hands(name, turn):
    model = load_model(name).limited()
    assert model.control_limits.tolist() == [turn] * 3 + [15] * 3
    check_limits(model)
    assert replace(model, control_limits=None).limited().control_limits.tolist() == MOST.tolist()


@pytest.mark.parametrize('name', ['flip_up', 'balance_3d'])
def test_a_hand_without_limits_of_its_own_gets_those_of_all_hands(name):
    model = load_model(EXPERIMENTS[name].scenario_file)
    subject = subject_of(name, model)
    used = list(subject.used)
    assert np.array_equal(subject.limits(None), MOST[used])
    assert np.array_equal(subject.limits(np.full(6, np.inf)), MOST[used])
    assert np.array_equal(subject.limits(model.control_limits), model.control_limits[used])
