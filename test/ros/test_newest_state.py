"""Which states count, how old they are, and what is reported of the others."""

import math

import numpy as np
from numpy.testing import assert_array_equal
import pytest
from rolling_dynamics.nodes.measurements import Measurements
from rolling_node_kit import newest_state
from rolling_node_kit.cdr import OdometryEncoder
from rolling_node_kit.newest_state import NewestState, StampCheck

SECOND = 1_000_000_000
TOLERANCE = 0.5
REST = [1.0] + [0.0] * 12


class Clocks:
    """The clock of a node [ns] and a steady one [s], both moved by hand."""

    def __init__(self):
        self.node, self.steady = 100 * SECOND, 7.0

    def go_on(self, seconds):
        self.node += round(seconds * SECOND)
        self.steady += seconds


@pytest.fixture
def clocks(monkeypatch):
    made = Clocks()
    monkeypatch.setattr(newest_state.time, 'monotonic', lambda: made.steady)
    return made


@pytest.fixture
def check(clocks):
    return StampCheck(lambda: clocks.node, lambda: TOLERANCE)


class Numbers(NewestState):
    """A number is the state; one below zero cannot be read."""

    def _read(self, raw):
        if raw < 0:
            self.refuse('it is negative')
            return None
        return np.array([float(raw)])


@pytest.fixture
def stream(check):
    return Numbers(check)


def test_before_the_first_state_there_is_none(stream):
    assert stream.state() is None
    assert stream.age == math.inf


def test_age_counts_from_the_stamp_not_from_the_arrival(clocks, stream):
    stream.offer(clocks.node - SECOND // 5, 1)
    assert stream.state()[1] == 1
    assert stream.age == pytest.approx(0.2)
    clocks.go_on(0.1)
    assert stream.age == pytest.approx(0.3)


def test_age_counts_from_the_arrival_where_the_clock_of_the_node_stands_still(clocks, stream):
    stream.offer(clocks.node, 1)
    stream.state()
    clocks.steady += 0.3
    assert stream.age == pytest.approx(0.3)


@pytest.mark.parametrize('step', [0, -1, -SECOND // 10])
def test_what_is_not_later_leaves_the_age_as_it_was(clocks, stream, step):
    begin = clocks.node
    stream.offer(begin, 1)
    stream.state()
    for _ in range(4):
        clocks.go_on(0.1)
        stream.offer(begin + step, 2)
        assert_array_equal(stream.state()[1], [1.0])
    assert stream.age == pytest.approx(0.4)
    assert stream.count == 1


def test_what_cannot_be_read_leaves_the_age_as_it_was(clocks, stream):
    stream.offer(clocks.node, 1)
    stream.state()
    for _ in range(4):
        clocks.go_on(0.1)
        stream.offer(clocks.node, -1)
        assert_array_equal(stream.state()[1], [1.0])
    assert stream.age == pytest.approx(0.4)
    assert (stream.refused, stream.trouble) == ('it is negative',) * 2
    stream.offer(clocks.node + 1, 3)
    assert_array_equal(stream.state()[1], [3.0])
    assert (stream.refused, stream.trouble) == ('it is negative', '')


@pytest.mark.parametrize(
    ('off', 'text'), [(-0.51, '0.51 s behind the clock'), (0.51, '0.51 s ahead of the clock')]
)
def test_stamp_beyond_the_bound_is_refused(clocks, stream, off, text):
    stream.offer(clocks.node + round(off * SECOND), 1)
    assert stream.state() is None
    assert text in stream.refused
    assert 'stamp_tolerance is 0.5 s' in stream.refused


@pytest.mark.parametrize('off', [-0.49, 0.49])
def test_stamp_within_the_bound_is_taken(clocks, stream, off):
    stream.offer(clocks.node + round(off * SECOND), 1)
    assert stream.state() is not None
    assert stream.refused == ''


def test_state_that_is_ahead_is_taken_once_the_clock_has_caught_up(clocks, stream):
    """As in simulated time, where /clock may come after the state."""
    stream.offer(clocks.node + SECOND, 1)
    assert stream.state() is None
    clocks.go_on(0.6)
    assert stream.state() is not None
    assert stream.refused == ''


def test_states_go_on_after_the_clock_was_set_back(clocks, stream):
    stream.offer(clocks.node, 1)
    stream.state()
    clocks.node = 2 * SECOND
    stream.offer(clocks.node, 2)
    assert_array_equal(stream.state()[1], [2.0])
    assert stream.age == 0.0
    assert_array_equal(stream.state_near(100 * SECOND), [2.0])


def test_without_clock_it_is_told(clocks, stream):
    clocks.node = 0
    stream.offer(100 * SECOND, 1)
    assert stream.state() is None
    assert 'no /clock came yet' in stream.refused


@pytest.mark.parametrize('off', [-SECOND // 2, SECOND // 2])
def test_stamp_at_the_bound_is_taken(clocks, stream, off):
    stream.offer(clocks.node + off, 1)
    assert stream.state() is not None


def test_without_clock_the_whole_text_says_so(clocks, check):
    clocks.node = 0
    assert check.problem(2 * SECOND) == (
        'a state was rejected: its stamp is 2 s ahead of simulated time; no /clock came yet; '
        'stamp_tolerance is 0.5 s'
    )


def test_a_state_that_was_used_is_not_refused_as_it_grows_old(clocks, stream):
    stream.offer(clocks.node, 1)
    stream.state()
    clocks.go_on(1.0)
    assert stream.state()[1] == 1
    assert (stream.refused, stream.trouble) == ('', '')
    stream.offer(clocks.node, 2)
    stream.state()
    assert stream.count == 2


def test_without_a_check_each_other_stamp_counts(clocks):
    stream = Numbers()
    for stamp, raw, seen in ((5, 1, 1), (5, 2, 1), (3, 4, 4), (9, 5, 5)):
        stream.offer(stamp, raw)
        assert stream.state()[1] == seen
    clocks.steady += 2.0
    assert stream.age == 2.0


def test_the_state_nearest_to_a_time_is_one_of_those_that_came(clocks, stream):
    assert stream.state_near(clocks.node) is None
    begin = clocks.node
    stream.offer(begin, 3)
    assert stream.state_near(begin) == 3  # before anything was read
    for k, raw in ((1, 1), (2, 2)):
        clocks.go_on(0.1)
        stream.offer(clocks.node, raw)
        stream.state()
        assert stream.state_near(begin + k * SECOND // 10) == raw
    clocks.go_on(0.1)
    stream.offer(clocks.node, 9)  # not read yet
    near = [stream.state_near(begin + k * SECOND // 20) for k in (-9, 0, 1.5, 2, 3.5, 9)]
    assert near == [3, 3, 1, 1, 2, 2]


@pytest.mark.parametrize('set_back', [False, True])
def test_the_last_states_alone_are_remembered(clocks, stream, set_back):
    if set_back:
        stream.offer(clocks.node, 1)
        stream.state()
        clocks.node = 2 * SECOND
    for k in range(newest_state.KEPT + 10):
        stream.offer(clocks.node + k, k)
        stream.state()
    assert stream.state_near(clocks.node) == 10


class Both:
    """Makes a state of the places of hand and object."""

    def state(self, hand, object_):
        return np.array([hand[4], object_[4]]), 0.0

    def restart(self):
        """Nothing is remembered."""


@pytest.mark.parametrize(
    ('where', 'value', 'text'),
    [
        (0, 0.0, 'object/odometry has a quaternion of norm 0; a unit quaternion is needed'),
        (0, 1.1, 'object/odometry has a quaternion of norm 1.1'),
        (4, math.nan, 'object/odometry is not finite'),
        (12, math.inf, 'object/odometry is not finite'),
        (10, 1e308, 'object/odometry has v_x of 1e+308; at most 1e+06 is believed'),
    ],
)
def test_pair_with_a_bad_body_is_no_state(clocks, check, where, value, text):
    measured, encode = Measurements(Both(), check), OdometryEncoder('world', 'body').encode
    bad = list(REST)
    bad[where] = value
    for body in (REST, bad):
        measured.take(bytes(encode(clocks.node, REST)), 'hand/odometry')
        measured.take(bytes(encode(clocks.node, body)), 'object/odometry')
        measured.state()
        clocks.go_on(0.1)
    assert measured.count == 1
    assert measured.age == pytest.approx(0.2)
    assert text in measured.refused


TOPICS = 'object/odometry', 'hand/odometry'


def test_the_covariances_of_hand_and_object_come_with_their_state(clocks, check):
    measured, encode = Measurements(Both(), check), OdometryEncoder('world', 'body').encode
    assert measured.covariances is None
    for k in range(3):
        known = np.full((2, 6, 6), float(k))
        measured.take(encode(clocks.node, REST, known), TOPICS[k % 2])
        measured.take(encode(clocks.node, REST), TOPICS[1 - k % 2])
        assert measured.state() is not None
        of_hand, of_object = measured.covariances
        assert_array_equal(of_hand if k % 2 else of_object, known)
        assert not (of_object if k % 2 else of_hand).any()
        clocks.go_on(0.1)
    measured.take(encode(clocks.node, REST)[:-8], 'object/odometry')
    assert 'too short' in measured.refused
    assert_array_equal(measured.covariances[1], known)


def test_hand_without_object_is_no_state(clocks, check):
    measured, encode = Measurements(Both(), check), OdometryEncoder('world', 'body').encode
    for _ in range(3):
        assert not measured.take(bytes(encode(clocks.node, REST)), 'hand/odometry')
        clocks.go_on(0.1)
    assert measured.state() is None
