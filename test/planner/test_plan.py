"""A plan that exists is valid: sizes, names, times, numbers; controls linear or held."""

import dataclasses
import json
import math
import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError, RollingError
from rolling_dynamics.simulation.control import PiecewiseLinear
from rolling_planner import Plan
from rolling_planner.plan import MAX_NUMBERS

EXAMPLES = [30, pytest.param(10_000, marks=pytest.mark.slow)]


def small(**changes):
    values = {
        'system': 'cart',
        'model_hash': 'h',
        'state_names': ('s', 'v'),
        'control_names': ('a',),
        'times': np.array([0.0, 0.5, 1.5]),
        'states': np.arange(6.0).reshape(3, 2),
        'controls': np.array([[1.0], [3.0], [-2.0]]),
    }
    return Plan(**values | changes)


@pytest.mark.parametrize(
    ('changes', 'text'),
    [
        ({'system': 3}, 'plan.system must be a string'),
        ({'model_hash': None}, 'plan.model_hash must be a string'),
        ({'state_names': ()}, 'must not be empty'),
        ({'state_names': ('s', 's')}, "state_names: 's' is there more than once"),
        ({'control_names': (1,)}, 'plan.control_names must be strings'),
        ({'times': [0.0], 'states': [[0, 0]], 'controls': [[0]]}, 'two or more'),
        ({'times': [-0.5, 0.5, 1.5]}, 'must not be negative, got -0.5'),
        ({'times': [0, 0.5, 0.5]}, r'times\[1\] is 0.5, the next 0.5'),
        ({'times': [0, math.nan, 1.5]}, r'must be finite, got nan for times\[1\]'),
        ({'times': [0, 0.5, math.inf]}, r'must be finite, got inf for times\[2\]'),
        ({'times': [0, 1e-9, 2e-9]}, 'must span 1e-06'),
        ({'times': 'abc'}, 'plan.times must be numbers'),
        ({'times': [[0.0], [0.5], [1.5]]}, r'plan.times must have shape \(3,\)'),
        ({'states': np.zeros((3, 1))}, 'plan.states must have 6 numbers, got 3'),
        ({'states': np.zeros((2, 3))}, r'plan.states must have shape \(3, 2\)'),
        ({'states': [[0, 0], [0, math.nan], [0, 0]]}, r'nan for states\[1\]\[1\] \(v\)'),
        ({'states': [[0, 0], [0, 10**400], [0, 0]]}, 'plan.states must be numbers'),
        ({'controls': [[1], [2]]}, 'plan.controls must have 3 numbers, got 2'),
        ({'controls': [[1], [math.inf], [2]]}, r'inf for controls\[1\]\[0\] \(a\)'),
        ({'contact_wrenches': np.zeros((2, 6))}, 'one for each of 3 times or empty, got 2'),
        ({'contact_wrenches': np.zeros(17)}, 'contact_wrenches must have shape'),
        ({'contact_wrenches': np.full((3, 6), math.nan)}, 'plan.contact_wrenches must be finite'),
        ({'interpolation': 'cubic'}, "must be 'linear' or 'hold', got 'cubic'"),
        ({'interpolation': 'x' * 1000}, r'xxx\.\.\.'),
        ({'interpolation': ['hold']}, "must be 'linear' or 'hold'"),
    ],
)
def test_what_is_no_plan_is_refused_by_name(changes, text):
    with pytest.raises(ParameterError, match=text):
        small(**changes)


def test_plans_are_bounded_in_size():
    k = MAX_NUMBERS // 2 + 1
    values = {
        'times': np.arange(float(k)),
        'states': np.zeros((k, 2)),
        'controls': np.zeros((k, 1)),
    }
    with pytest.raises(
        ParameterError, match=f'at most {MAX_NUMBERS} numbers.*at most 500000 times'
    ):
        small(**values)
    assert len(small(**{n: v[1:] for n, v in values.items()}).times) == MAX_NUMBERS // 2


def test_sizes_are_judged_before_anything_is_allocated():
    from rolling_planner.plan import check_sizes

    tracemalloc.start()
    try:
        for sizes in (
            (10**9, 1, 10**9, 10**18, 10**9, 0),
            (1, 1, 10**9, 10**9, 10**9, 10**9),
            (1, 1, 2, 2, 2, 10**9),
        ):
            with pytest.raises(ParameterError, match=r'at most|one for each'):
                check_sizes(*sizes)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


# -- controls ---------------------------------------------------------------------------------


def test_linear_controls_go_straight():
    plan = small()
    times = [-1.0, 0.0, 0.25, 0.5, 1.0, 1.5, 9.0]
    assert [plan.control_at(t)[0] for t in times] == [1.0, 1.0, 2.0, 3.0, 0.5, -2.0, -2.0]


def test_held_controls_are_those_of_the_time_before():
    plan = small(interpolation='hold')
    times = [-1.0, 0.0, 0.25, np.nextafter(0.5, 0), 0.5, 1.0, np.nextafter(1.5, 0), 1.5, 9.0]
    wanted = [1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0, -2.0, -2.0]
    assert [plan.control_at(t)[0] for t in times] == wanted


@pytest.mark.parametrize('interpolation', ['linear', 'hold'])
def test_controls_are_the_same_however_they_are_asked_for(interpolation):
    plan = small(interpolation=interpolation)
    times = np.linspace(0, 1.49, 150)
    one_by_one = np.array([plan.control_at(t) for t in times])
    assert np.array_equal(plan.controls_at(times), one_by_one)
    sampled = PiecewiseLinear(*plan.control_samples(), 1)
    assert sampled.sample(times, times) == pytest.approx(one_by_one)
    assert np.array([sampled(t) for t in times]) == pytest.approx(one_by_one)


def test_ramps_meet_the_controls_at_both_ends_of_a_step():
    times = np.array([0.0, 0.25, 0.5, 1.0, 1.5])
    before, after = small().ramps_between(times)
    assert before.ravel().tolist() == [1.0, 2.0, 3.0, 0.5]
    assert after.ravel().tolist() == [2.0, 3.0, 0.5, -2.0]
    held = small(interpolation='hold').ramps_between(times)
    for values in held:
        assert values.ravel().tolist() == [1.0, 1.0, 3.0, 3.0]


def test_held_controls_may_be_a_hair_off_the_borders_of_steps():
    """Steps end at knots that rounding puts beside the plan's own times."""
    times = np.array([0.0, np.nextafter(0.5, 0), 1.5])
    before, after = small(interpolation='hold').ramps_between(times)
    assert before.ravel().tolist() == after.ravel().tolist() == [1.0, 3.0]


# -- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize('interpolation', ['linear', 'hold'])
def test_file_gives_the_plan_again(interpolation):
    plan = small(interpolation=interpolation, report={'cost': 1.0})
    again = Plan.from_dict(json.loads(json.dumps(plan.to_dict())))
    for name in (f.name for f in dataclasses.fields(Plan)):
        assert np.array_equal(getattr(plan, name), getattr(again, name)), name


GOOD = small(contact_wrenches=np.zeros((3, 6))).to_dict()
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@pytest.mark.parametrize('examples', EXAMPLES)
def test_file_with_anything_in_an_entry_is_a_plan_or_refused(examples):
    @settings(max_examples=examples, deadline=None, derandomize=True, database=None)
    @given(name=st.sampled_from(sorted(GOOD)), value=ANYTHING, whole=st.booleans())
    def check(name, value, whole):
        try:
            plan = Plan.from_dict(value if whole else GOOD | {name: value})
        except RollingError as error:
            plan, text = None, str(error)
        if plan is None:
            assert 0 < len(text) < 1000
        else:
            assert np.isfinite(plan.states).all()
            assert plan.duration > 0

    check()


def test_rest_of_a_plan_begins_on_it_and_ends_as_it_does():
    plan = small(contact_wrenches=np.zeros((3, 6)))
    rest = plan.after(0.25)
    np.testing.assert_allclose(rest.times, [0.0, 0.25, 1.25])
    np.testing.assert_allclose(rest.states, [[1.0, 2.0], [2.0, 3.0], [4.0, 5.0]])
    np.testing.assert_allclose(rest.controls, [[2.0], [3.0], [-2.0]])


def test_rest_of_a_plan_from_a_state_begins_at_the_nearest_node():
    plan = small()
    rest = plan.rest_from(np.array([2.2, 3.1]), 0.5)
    np.testing.assert_allclose(rest.states, plan.states[1:])
    np.testing.assert_allclose(rest.times, [0.0, 1.0])
    assert plan.rest_from(np.array([2.2, 3.1]), 0.2) is None  # too far
    assert plan.rest_from(plan.states[-1], 0.5) is None  # nothing is left
