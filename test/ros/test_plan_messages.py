"""Plan messages: every damaged one is refused with a text, and every good one comes through."""

import math
import tracemalloc

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Wrench
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from rolling_controller.nodes.controller_parameters import HAND_TABLE
from rolling_controller.nodes.plan_following import accepted_plan
from rolling_dynamics.errors import RollingError
from rolling_dynamics.scenario_model import load_model
from rolling_interfaces.msg import RollingPlan
from rolling_planner import Plan
from rolling_planner.nodes.conversions import message_to_plan, plan_to_message

EXAMPLES = [30, pytest.param(10_000, marks=pytest.mark.slow)]
VALUES = {entry.name: entry.default for entry in HAND_TABLE}
MODEL = load_model('ball_on_plate_hard.yaml')
SYSTEM = MODEL.system
NOW = 1_790_000_000 * 10**9  # ns, in the year 2026
ODD = [math.nan, math.inf, -math.inf]


def message(count=5, duration=0.4, stamp=None, **changes):
    values = {
        'system': 'contact',
        'model_hash': SYSTEM.model_hash,
        'state_names': SYSTEM.state.names,
        'control_names': SYSTEM.control.names,
        'times': np.linspace(0.0, duration, count),
        'states': np.tile(MODEL.start, (count, 1)),
        'controls': np.zeros((count, 6)),
        'contact_wrenches': np.zeros((count, 6)),
    }
    return plan_to_message(Plan(**values | changes), stamp or Time(), 'world')


def accept(given_message, now=NOW, **values):
    return accepted_plan(given_message, SYSTEM, VALUES | values, now)


def seconds(count):
    return Time(sec=count)


# -- what is refused by which text --------------------------------------------------------------


@pytest.mark.parametrize(
    ('name', 'k', 'value', 'text'),
    [
        ('times', 0, -0.1, 'plan.times must not be negative'),
        ('times', 0, 0.05, 'plan.times must start at 0'),
        ('times', 2, 0.1, 'plan.times must increase'),
        ('times', 4, 1e6, 'the plan lasts 1e\\+06 s; max_plan_duration allows 200 s'),
        ('times', 4, math.nan, 'plan.times must be finite'),
        ('states', 22, 0.0, 'q_WH must be a unit quaternion .* at times\\[1\\] is 0'),
        ('states', 0, 2.0, 'q_WH must be a unit quaternion .* at times\\[0\\] is 2'),
        ('states', 22 + 7, math.nan, 'nan for states\\[1\\]\\[7\\] \\(q_HO_w\\)'),
    ],
)
def test_number_that_is_wrong_is_named(name, k, value, text):
    given_message = message()
    getattr(given_message, name)[k] = value
    with pytest.raises(RollingError, match=text):
        accept(given_message)


def test_plan_without_a_hash_needs_permission():
    with pytest.raises(RollingError, match=r'plan.model_hash is empty.*require_model_hash'):
        accept(message(model_hash=''))
    assert accept(message(model_hash=''), require_model_hash=False).model_hash == ''
    with pytest.raises(RollingError, match='made with other equations'):
        accept(message(model_hash='other'), require_model_hash=False)


def test_stamp_must_be_near_now():
    text = 'plan_stamp_tolerance allows 5 s'
    for far in (1, -1, NOW // 10**9 - 6, NOW // 10**9 + 6):
        with pytest.raises(RollingError, match=text):
            accept(message(stamp=seconds(far)))
    for near in (-5, 0, 5):
        accept(message(stamp=seconds(NOW // 10**9 + near)))
    accept(message(stamp=seconds(NOW // 10**9 + 60)), plan_stamp_tolerance=60.0)
    accept(message(), now=0)


def test_sizes_are_judged_before_anything_is_copied():
    given_message = message()
    given_message.times = np.arange(100_000.0)
    given_message.states = np.zeros(100_000 * 22)
    given_message.controls = np.zeros(100_000 * 6)
    tracemalloc.start()
    try:
        with pytest.raises(RollingError, match=r'plan.states must have at most 1000000 numbers'):
            message_to_plan(given_message)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


# -- properties ---------------------------------------------------------------------------------

FAR = st.integers(-(2**31), 2**31 - 1).filter(lambda s: s and abs(s - NOW // 10**9) > 5)
OTHER = st.text(max_size=30).filter(lambda s: s not in ('contact', SYSTEM.model_hash))
LISTS = ('times', 'states', 'controls')


@st.composite
def damages(draw):
    """Return a function that makes a plan invalid, and what it does."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    return kind, *draw(KINDS[kind])


def text_damage(value, name):
    return lambda m: setattr(m, name, value), name, value


def number_damage(name, k, value):
    def damage(m):
        numbers = getattr(m, name)
        numbers[k % len(numbers)] = value

    return damage, name, k, value


def size_damage(name, change):
    def damage(m):
        numbers = list(getattr(m, name))
        setattr(m, name, numbers[:change] if change < 0 else numbers + numbers[:1] * change)

    return damage, name, change


def name_damage(name, k, value):
    def damage(m):
        names = list(getattr(m, name))
        names[k % len(names)] = value
        setattr(m, name, names)

    return damage, name, k, value


def attitude_damage(k, entry, share):
    def damage(m):
        first = (k % len(m.times)) * len(m.state_names) + SYSTEM.state.slice(entry).start
        for j in range(first, first + 4):
            m.states[j] *= share

    return damage, k, entry, share


def stamp_damage(sec):
    return lambda m: setattr(m.header, 'stamp', Time(sec=sec)), sec


def wrench_damage(count, value):
    def damage(m):
        m.contact_wrenches = [Wrench() for _ in range(count)]
        if count == len(m.times):
            m.contact_wrenches[0].force.x = value

    return damage, count, value


def slower(share):
    return lambda m: setattr(m, 'times', [t * share for t in m.times]), share


POSITION = st.integers(0, 10_000)
NAMES = st.sampled_from(['state_names', 'control_names'])
KINDS = {
    'text': st.builds(
        text_damage, OTHER, st.sampled_from(['system', 'model_hash', 'interpolation'])
    ).filter(lambda d: d[2] not in ('linear', 'hold')),
    'not finite': st.builds(number_damage, st.sampled_from(LISTS), POSITION, st.sampled_from(ODD)),
    'negative time': st.builds(
        number_damage, st.just('times'), POSITION, st.floats(-1e308, -1e-300)
    ),
    'late time': st.builds(number_damage, st.just('times'), st.just(0), st.floats(1e-300, 1e308)),
    'size': st.builds(
        size_damage,
        st.sampled_from([*LISTS, 'state_names', 'control_names', 'contact_wrenches']),
        st.integers(-4, 40).filter(bool),
    ),
    'name': st.builds(name_damage, NAMES, POSITION, st.text(max_size=20)).filter(
        lambda d: d[3] not in (*SYSTEM.state.names, *SYSTEM.control.names)
    ),
    'attitude': st.builds(
        attitude_damage,
        POSITION,
        st.sampled_from(['q_WH', 'q_HO']),
        st.floats(-0.99, 0.99) | st.floats(1.01, 1e300),
    ),
    'stamp': st.builds(stamp_damage, FAR),
    'wrenches': st.builds(wrench_damage, st.integers(1, 12), st.sampled_from(ODD)),
    'duration': st.builds(slower, st.floats(501.0, 1e300) | st.floats(1e-300, 1e-6)),
}


@pytest.mark.parametrize('examples', EXAMPLES)
def test_every_damaged_plan_is_refused_with_a_text(examples):
    kinds = set()

    @settings(max_examples=examples, deadline=None, derandomize=True, database=None)
    @given(damages())
    def check(damage):
        kind, change, *_ = damage
        given_message = message()
        change(given_message)
        with pytest.raises(RollingError) as refusal:
            accept(given_message)
        assert 10 < len(str(refusal.value)) < 1500
        kinds.add(kind)

    check()
    assert examples < 1000 or kinds == set(KINDS)  # thirty may leave one out


@pytest.mark.parametrize('examples', EXAMPLES)
def test_every_good_plan_comes_through(examples):
    @settings(max_examples=examples, deadline=None, derandomize=True, database=None)
    @given(
        steps=st.lists(st.floats(1e-6, 20.0), min_size=1, max_size=9),
        control=st.floats(-1e6, 1e6),
        interpolation=st.sampled_from(['linear', 'hold']),
        late=st.integers(-5, 5),
        wrenches=st.booleans(),
    )
    def check(steps, control, interpolation, late, wrenches):
        count = len(steps) + 1
        plan = accept(
            message(
                count,
                times=np.append(0.0, np.cumsum(steps)),
                controls=np.full((count, 6), control),
                interpolation=interpolation,
                contact_wrenches=np.zeros((count if wrenches else 0, 6)),
                stamp=seconds(NOW // 10**9 + late),
            )
        )
        assert plan.times.tolist() == np.append(0.0, np.cumsum(steps)).tolist()
        assert (plan.interpolation, plan.controls[0, 0]) == (interpolation, control)

    check()


def test_message_of_a_plan_keeps_all():
    sent = message(interpolation='hold')
    again = plan_to_message(message_to_plan(sent), sent.header.stamp, sent.header.frame_id)
    assert isinstance(again, RollingPlan)
    assert again == sent
