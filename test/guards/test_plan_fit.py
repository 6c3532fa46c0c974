"""Which plans a system takes: its own, by name, equations, states and attitudes."""

from cart import Cart, plan_of
import numpy as np
import pytest
from rolling_dynamics.contract import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_planner import Plan
from rolling_planner.plan import check_plan_fits

TIMES, ZEROS = [0.0, 1.0, 2.0], np.zeros(3)


def plan(**given):
    return plan_of(TIMES, ZEROS, **given)


def test_a_plan_of_the_same_equations_fits():
    check_plan_fits(plan(), Cart())


@pytest.mark.parametrize(
    ('given', 'text'),
    [
        ({'system': 'barrow'}, r"^plan\.system must be 'cart', got 'barrow'$"),
        ({'state_names': ('s', 'w')}, r'^plan\.state_names must be s, v, got s, w$'),
        ({'state_names': ('v', 's')}, r'^plan\.state_names must be s, v, got v, s$'),
        ({'control_names': ('a',)}, r'^plan\.control_names must be u, got a$'),
        ({'model_hash': '2'}, r"^plan\.model_hash is '2', this node runs '1': the plan was made"),
        ({'model_hash': ''}, r"^plan\.model_hash is empty, .* this node has '1'\. For "),
    ],
)
def test_a_plan_of_another_system_is_refused(given, text):
    with pytest.raises(ParameterError, match=text):
        check_plan_fits(plan(**given), Cart())


def test_a_plan_without_hash_is_taken_where_none_is_required():
    check_plan_fits(plan(model_hash=''), Cart(), require_hash=False)
    with pytest.raises(ParameterError, match='with other equations'):
        check_plan_fits(plan(model_hash='2'), Cart(), require_hash=False)


class Turning:
    """A system with an attitude between two numbers, as far as plans are concerned."""

    name, model_hash = 'turning', '1'
    attitude = tuple(f'q_{k}' for k in 'wxyz')
    state = Layout(
        (
            Entry('a', ('a',), 'm'),
            Entry('q', attitude, '', kind='quaternion'),
            Entry('b', ('b',), 'm'),
        )
    )
    control = Layout((Entry('u', ('u',), 'm/s^2'),))


@pytest.mark.parametrize(
    ('norm', 'fits'), [(1.0, True), (1.0009, True), (0.9991, True), (1.0011, False), (0.0, False)]
)
def test_attitudes_are_unit_quaternions(norm, fits):
    states = np.zeros((3, 6))
    states[:, 0] = states[:, 5] = 7.0
    states[:, 2] = 1.0
    states[1, 1:5] = [0.6 * norm, 0.0, 0.8 * norm, 0.0]
    given = Plan(
        system='turning',
        model_hash='1',
        state_names=Turning.state.names,
        control_names=('u',),
        times=TIMES,
        states=states,
        controls=ZEROS[:, None],
    )
    if fits:
        check_plan_fits(given, Turning())
        return
    with pytest.raises(ParameterError) as refused:
        check_plan_fits(given, Turning())
    assert str(refused.value) == (
        'plan.states: q must be a unit quaternion (w, x, y, z), its norm at '
        f'times[1] is {norm:.6g}'
    )


def test_numbers_beyond_every_unit_are_refused_without_a_warning():
    given = Plan(
        system='turning',
        model_hash='1',
        state_names=Turning.state.names,
        control_names=('u',),
        times=TIMES,
        states=np.full((3, 6), 1e300),
        controls=ZEROS[:, None],
    )
    with pytest.raises(ParameterError, match=r'its norm at times\[0\] is inf$'):
        check_plan_fits(given, Turning())
