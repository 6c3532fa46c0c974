"""Which plans exist: each rule at its border, with the entry, what was given, what would do."""

from cart import plan_of
import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_planner.plan import check_sizes, MAX_NUMBERS

FITS = {'n': 2, 'm': 1, 'k': 3, 'states': 6, 'controls': 3, 'wrenches': 0}


def test_sizes_that_fit():
    check_sizes(**FITS)
    check_sizes(**(FITS | {'wrenches': 3}))
    check_sizes(1, 1, 2, 2, 2, 0)
    k = MAX_NUMBERS // 2
    check_sizes(2, 2, k, 2 * k, 2 * k, 0)


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        ({'n': 0}, 'got 0 names of states, 1 names of controls and 3 times'),
        ({'m': 0}, 'got 2 names of states, 0 names of controls and 3 times'),
        ({'k': 0}, 'got 2 names of states, 1 names of controls and 0 times'),
        ({'k': 1}, 'plan: state_names and control_names must not be empty and times must be'),
        ({'states': 5}, r'plan\.states must have 6 numbers, got 5: one for each of 3 times and 2'),
        ({'states': 7}, r'plan\.states must have 6 numbers, got 7'),
        ({'controls': 2}, r'plan\.controls must have 3 numbers, got 2: one for each of 3 times'),
        ({'wrenches': 1}, 'contact_wrenches must be one for each of 3 times or empty, go'),
        ({'wrenches': 4}, 'or empty, got 4$'),
    ],
)
def test_sizes_that_do_not_fit_are_refused(change, text):
    with pytest.raises(ParameterError, match=text):
        check_sizes(**(FITS | change))


@pytest.mark.parametrize(
    ('sizes', 'text'),
    [
        ((2, 1, 500_001, 1_000_002, 500_001, 0), 'states .*: give at most 500000 times, or'),
        ((1, 2, 500_001, 500_001, 1_000_002, 0), 'controls must have at most 1000000 number'),
    ],
)
def test_plans_that_would_take_the_memory_are_refused(sizes, text):
    with pytest.raises(ParameterError, match=text):
        check_sizes(*sizes)


def made(**given):
    return plan_of(**({'times': [0.0, 1.0, 2.0], 'controls': [0.0, 0.0, 0.0]} | given))


def states(**changes):
    out = np.zeros((3, 2))
    out[changes['at']] = changes['value']
    return out


@pytest.mark.parametrize(
    ('given', 'text'),
    [
        ({'system': 3}, r'^plan\.system must be a string, got 3$'),
        ({'model_hash': None}, r'^plan\.model_hash must be a string, got None$'),
        ({'state_names': ('s', 4)}, r'^plan\.state_names must be strings, got 4$'),
        ({'control_names': (b'u',)}, r"^plan\.control_names must be strings, got b'u'$"),
        ({'state_names': ('s', 's')}, r"^plan\.state_names: 's' is there more than once$"),
        (
            {'interpolation': 'cubic'},
            r"^plan\.interpolation must be 'linear' or 'hold', got 'cubic'$",
        ),
        (
            {'interpolation': None},
            r"^plan\.interpolation must be 'linear' or 'hold', got 'None'$",
        ),
        ({'times': [-1e-9, 1, 2]}, r'^plan\.times must not be negative, got -1e-09 at first$'),
        (
            {'times': [0, 1, 1]},
            r'^plan\.times must increase: times\[1\] is 1, the next 1$',
        ),
        (
            {'times': [0, 2, 1]},
            r'^plan\.times must increase: times\[1\] is 2, the next 1$',
        ),
        (
            {'times': [2, 1, 0]},
            r'^plan\.times must increase: times\[0\] is 2, the next 1$',
        ),
        ({'times': [0, 1e-7, 9e-7]}, r'^plan\.times must span 1e-06 or more, got 9e-07$'),
        ({'times': [1, 1 + 2e-7, 1 + 4e-7]}, r'^plan\.times must span 1e-06 or more, got 4e-07$'),
        ({'times': [0, np.nan, 2]}, r'^plan\.times must be finite, got nan for times\[1\]$'),
        ({'times': [0, 1, np.inf]}, r'^plan\.times must be finite, got inf for times\[2\]$'),
        ({'times': ['a', 1, 2]}, r'^plan\.times must be numbers: could not convert'),
        ({'states': [[0, 1], [2, 3], [4, [5]]]}, r'^plan\.states must be numbers: '),
        (
            {'states': states(at=(1, 1), value=np.inf)},
            r'^plan\.states must be finite, got inf for states\[1\]\[1\] \(v\)$',
        ),
        (
            {'controls': [0, 0, np.nan]},
            r'^plan\.controls must be finite, got nan for controls\[2\]\[0\] \(u\)$',
        ),
        (
            {'contact_wrenches': np.full((3, 6), -np.inf)},
            r'^plan\.contact_wrenches must be finite, got -inf for contact_wrenches\[0\]\[0\]$',
        ),
    ],
)
def test_what_is_no_plan_is_refused(given, text):
    with pytest.raises(ParameterError, match=text):
        made(**given)


@pytest.mark.parametrize(
    'given',
    [
        {'interpolation': 'hold'},
        {'times': [0, 5e-7, 1e-6]},
        {'times': [3, 4, 5]},
        {'contact_wrenches': np.zeros((3, 6))},
        {'controls': ['1', '2', '3']},  # as some files have them
    ],
)
def test_what_is_a_plan_is_taken(given):
    plan = made(**given)
    for name, value in given.items():
        taken = getattr(plan, name)
        assert taken == value if isinstance(value, str) else np.isfinite(taken).all()


def test_long_names_are_cut_in_what_is_said():
    name = 'n' * 10_000
    with pytest.raises(ParameterError) as refused:
        made(state_names=('s', name), states=states(at=(0, 1), value=np.nan))
    assert len(str(refused.value)) < 500
