"""Weights and limits of regulators: defaults of the system, names that must exist."""

import numpy as np
from numpy.testing import assert_array_equal
import pytest
from rolling_controller import LqrWeights, PredictiveLaw, TimeVaryingLqr
from rolling_controller.balance.hold import BalanceLqr
from rolling_controller.robot_laws import point_mass, spin_rolling_sphere
from rolling_controller.time_varying_lqr import limit_arrays, read_weights, weight_options
from rolling_dynamics import ContactSystem, Plane, PointMassDisk, Sphere, SpinRollingSphere
from rolling_dynamics.contact.representation import ATTITUDE, CONTACT_WEIGHTS
from rolling_dynamics.contract import default_weights
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.masses import RailMass
from rolling_dynamics.internal_masses.rails import Circle

BALL = ContactSystem(Sphere(0.02), Plane())
# What regulators of these systems have weighed since they were first tuned.
TUNED = {
    'contact': (
        BALL,
        weight_options(CONTACT_WEIGHTS, ATTITUDE),
        {'d_WH': 1.0, 'd_HO': 10.0, 'contact_h': 1000.0}
        | {'w_WH_H': 0.1, 'v_WH_H': 0.1, 'w_HO_H': 1.0},
        1e4,
        0.1,
    ),
    'point_mass_disk': (
        PointMassDisk([RailMass(1.0, Circle(0.2))]),
        point_mass.KIND.options,
        {'theta': 1.0, 'theta_rate': 0.1, 'phi': 1.0, 'phi_rate': 0.1, 'p': 10.0},
        1e3,
        1e-3,
    ),
    'spin_rolling_sphere': (
        SpinRollingSphere(),
        spin_rolling_sphere.KIND.options,
        {'contact_s': 100.0, 'd_SO': 10.0},
        1e3,
        1.0,
    ),
}


@pytest.mark.parametrize('name', TUNED)
def test_default_weights_are_those_that_were_tuned(name):
    system, options, tracking, terminal, control = TUNED[name]
    chosen = read_weights({o.name: o.default for o in options}, system)
    for weights in (LqrWeights().of(system), chosen):
        assert weights.tracking == tracking
        assert weights.terminal == {k: terminal * v for k, v in tracking.items()}
        assert weights.control == control


def test_contact_on_charts_weighs_the_object_too():
    """Names of the other representation must not be dropped in silence."""
    weights = LqrWeights().of(BALL.with_representation('coordinates'))
    assert {'contact_o', 'psi', 'w_HO_Ch'} <= set(weights.tracking)


def test_other_systems_are_weighed_by_the_scales_of_their_layouts(wheel):
    system = wheel['wheel']
    weights = default_weights(system)
    assert weights.tracking == {'s': 1.0, 'v': 1.0}
    layout = Layout((Entry('s', ('s',), 'm', scale=0.1), Entry('v', ('v',), 'm/s', scale=2.0)))
    finer = weights.from_scales(layout, Layout((Entry('f', ('f', 'g'), 'N', scale=10.0),)))
    assert finer.tracking == {'s': pytest.approx(100.0), 'v': 0.25}
    assert finer.control.shape == (2,)
    assert finer.control[0] == pytest.approx(weights.control[0] / 100)


@pytest.mark.parametrize('scale', [0.0, -1.0, np.nan, np.inf])
def test_a_scale_is_positive(scale):
    with pytest.raises(ParameterError, match='s: scale must be positive'):
        Entry('s', ('s',), 'm', scale=scale)


def test_regulator_of_a_system_of_ones_own_holds_its_plan(wheel, wheel_plan):
    law = TimeVaryingLqr(wheel['wheel'], wheel['params'], wheel_plan, control_limits=1.0)
    assert not law.warning
    assert np.abs(law.gains).max() > 0.1
    x, u = law.nominal(1.0)
    assert law.step(None, [x[0] + 0.01, x[1]], 1.0)[1][0] < u[0]


@pytest.mark.parametrize(
    ('weights', 'text'),
    [
        ({'tracking': {'ss': 1.0}}, r"weights\.tracking: no tangent entry 'ss'; did you mean 's'"),
        (
            {'terminal': {'d_WH': 1.0}},
            r"terminal: no tangent entry 'd_WH'; there are: s, v",
        ),
        (
            {'control': [1.0, 1.0]},
            r'control takes one number, or one each for torque; got',
        ),
        ({'control': {'torqe': 1.0}}, r"one each for torque; got \{'torqe': 1\.0\}"),
    ],
)
def test_weights_that_the_system_does_not_have_are_refused(wheel, wheel_plan, weights, text):
    with pytest.raises(ParameterError, match=text):
        TimeVaryingLqr(wheel['wheel'], wheel['params'], wheel_plan, LqrWeights(**weights))


def test_limits_are_names_or_magnitudes():
    layout = Layout((Entry('a', ('a_x', 'a_y'), 'N'),))
    given = {'a_x': (-2, 2), 'a_y': (-np.inf, np.inf)}, [2.0, np.inf], np.array([2.0, np.inf])
    for limits in given:
        assert np.array(limit_arrays(layout, limits)).tolist() == [[-2, -np.inf], [2, np.inf]]
    assert np.array(limit_arrays(layout, 3.0)).tolist() == [[-3, -3], [3, 3]]


def test_controls_that_the_system_does_not_have_are_refused(wheel, wheel_plan):
    given = wheel['wheel'], wheel['params'], wheel_plan
    with pytest.raises(ParameterError, match="control_limits: no control 'torqe'; did you mean"):
        TimeVaryingLqr(*given, control_limits={'torqe': (-1.0, 1.0)})
    with pytest.raises(ParameterError, match=r'one number is needed, or 1 \(torque\), got shape'):
        TimeVaryingLqr(*given, control_limits=[1.0, 1.0])
    with pytest.raises(ParameterError, match="active_controls: no control 'torqe'; did you mean"):
        TimeVaryingLqr(*given, active_controls=['torqe'])
    with pytest.raises(ParameterError, match="active_controls: no control 'torqe'; did you mean"):
        BalanceLqr(*given[:2], [0.0, 0.0], active_controls=['torqe'])


def test_a_regulator_without_gain_says_that_nothing_is_weighed(wheel, wheel_plan):
    nothing = LqrWeights(tracking={'s': 0.0}, terminal={})
    with pytest.warns(UserWarning, match=r'no weight is positive; weigh some of s, v') as seen:
        law = TimeVaryingLqr(wheel['wheel'], wheel['params'], wheel_plan, nothing)
    assert seen[0].filename == __file__
    assert law.warning.endswith('there is no feedback')
    assert_array_equal(law.gains, 0.0)
    with pytest.warns(UserWarning, match=r'no weight is positive') as seen:
        predictive = PredictiveLaw(wheel['wheel'], wheel['params'], wheel_plan, nothing)
    assert seen[0].filename == __file__
    assert predictive.warning == law.warning


def test_a_regulator_without_gain_says_what_its_controls_do_not_move(straight):
    """A hand that only turns about x cannot move the origin of the hand."""
    problem, plan = straight
    weights = LqrWeights(tracking={'p_WH': 1.0}, terminal={})
    with pytest.warns(UserWarning, match='do not move what has a weight: p_WH'):
        TimeVaryingLqr(problem.system, problem.p, plan, weights)
