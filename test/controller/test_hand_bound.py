"""Whatever is measured, the hand stays within its bound."""

import numpy as np
import pytest
from rolling_controller.motion_watch import CORRECTED, hand_motion, HAND_STATE, HandBound
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contract import Entry, Layout
from rolling_dynamics.surfaces import Plane, Sphere
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import mat2quat

STATE = ContactSystem(Sphere(0.1), Plane()).state
BOUND, PERIOD, LONGEST = 0.1, 2e-3, 2.0  # m and rad, s, s
MOST, BRAKE_TIME = 10.0, 0.1  # m/s^2 and rad/s^2, s
COMMAND_TIMEOUT = 0.05  # s, as in the files of parameters


@pytest.fixture(scope='module', autouse=True)
def _written_here():
    """Have the equations written in this module, whatever ran before."""
    hand_motion.cache_clear()


class TrueHand:
    """A hand that does what is commanded, by steps of rotation matrices."""

    def __init__(self, w=(0, 0, 0), v=(0, 0, 0)):
        self.R, self.p, self.w, self.v = np.eye(3), np.zeros(3), np.array(w), np.array(v)

    def move(self, u, h):
        """Move by an angular and a linear acceleration, in its own frame, for a while."""
        alpha, a = u[:3], u[3:]
        half = self.R @ turn(h / 2 * (self.w + h / 4 * alpha))
        self.p = self.p + h * self.v + h**2 / 2 * half @ a
        self.R = self.R @ turn(h * (self.w + h / 2 * alpha))
        self.w, self.v = self.w + h * alpha, self.v + h * half @ a

    def brake(self, most=MOST):
        """Come to rest by the safe command, within limits."""
        while self.speed() > 1e-3:
            u = -np.r_[self.w, self.R.T @ self.v] / BRAKE_TIME
            self.move(np.clip(u, -most, most), PERIOD)

    def stop(self, bound, measured, most=MOST):
        """Come to rest by the safe command of a node for a while, then by the plant's."""
        x = bound.followed(measured)
        v = np.r_[x[STATE.slice('w_WH_H')], x[STATE.slice('v_WH_H')]]
        for _ in range(round(COMMAND_TIMEOUT / PERIOD)):
            self.move(np.clip(-v / BRAKE_TIME, -most, most), PERIOD)
        self.brake(most)

    def speed(self):
        return np.linalg.norm(self.v) + np.linalg.norm(self.w)

    def state(self):
        x = np.zeros(STATE.size)
        x[STATE.slice('q_WH')], x[STATE.slice('p_WH')] = mat2quat(self.R), self.p
        x[STATE.slice('w_WH_H')], x[STATE.slice('v_WH_H')] = self.w, self.R.T @ self.v
        return x

    def deviation(self):
        """Return the greater of distance and angle from where it began."""
        angle = np.arccos(np.clip((np.trace(self.R) - 1) / 2, -1, 1))
        return max(np.linalg.norm(self.p), angle)


def turn(d):
    angle = np.linalg.norm(d)
    return axangle2mat(d / angle, angle) if angle > 1e-14 else np.eye(3)


def unit(rng, size=3):
    d = rng.normal(size=size)
    return d / np.linalg.norm(d)


def frozen(rng, _seed):
    """The measured state stands still, and the law pushes."""
    u = MOST * np.r_[0.3 * unit(rng), unit(rng)]
    return lambda _t, _x, start: (u, start)


def leading_back(rng, seed):
    """Velocities are measured that cancel what is commanded, at a slow push and at a fast one."""
    u = [0.3, 1.0, MOST][seed % 3] * np.r_[0.0 * unit(rng), unit(rng)]

    def attack(_t, _x, start):
        x = start.copy()
        x[STATE.slice('v_WH_H')] = -u[3:]
        return u, x

    return attack


def turning(rng, _seed):
    """The hand is turned, and its turn is not measured."""
    u = np.r_[MOST * unit(rng), np.zeros(3)]
    return lambda _t, _x, start: (u, start)


def anything(rng, _seed):
    """Commands and measured states at random, each for a while."""
    hold = {}

    def attack(t, x, _start):
        k = int(t / 0.05)
        if k not in hold:
            off = 0.09 * rng.uniform(size=STATE.size) * rng.choice([-1, 1], STATE.size)
            hold[k] = MOST * np.r_[unit(rng), unit(rng)] * rng.uniform(), off
        u, off = hold[k]
        y = x + off
        y[STATE.slice('q_WH')] = 1, 0, 0, 0
        y[STATE.slice('p_WH')] = off[STATE.slice('p_WH')] / 2
        y[STATE.slice('v_WH_H')] *= 100
        return u, y

    return attack


def wandering(rng, _seed):
    """True accelerations that swing, with the true state less a drift."""
    direction, rate = unit(rng), rng.uniform(0.2, 3.0)

    def attack(t, x, _start):
        u = np.r_[np.zeros(3), MOST * np.cos(rate * t) * direction]
        y = x.copy()
        y[STATE.slice('p_WH')] *= 0.3
        return u, y

    return attack


@pytest.mark.parametrize('attack', [frozen, leading_back, turning, anything, wandering])
def test_the_hand_stays_within_its_bound_whatever_is_measured(attack):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        hand, chosen = TrueHand(), attack(rng, seed)
        start = hand.state()
        states, t = np.array([start, start]), 0.0
        bound = HandBound(STATE, BOUND, states, BRAKE_TIME, np.full(6, MOST))
        while t < LONGEST:
            u, x = chosen(t, hand.state(), start)
            if bound.problem(t, x if t else start, start, u):
                break
            hand.move(u, PERIOD)
            t += PERIOD
        else:
            assert attack is anything, 'was not noticed'
        # by so much may what is measured have corrected what is commanded
        angle = CORRECTED[0] * t + CORRECTED[1] * t**2 / 2
        turned = MOST * (CORRECTED[0] * t**3 / 6 + CORRECTED[1] * t**4 / 24)
        slack = angle + turned + 2 * PERIOD * hand.speed()
        hand.stop(bound, x)
        slack += BRAKE_TIME * (CORRECTED[0] + CORRECTED[1] * t)  # of the velocity, while it brakes
        assert hand.deviation() <= BOUND + slack, seed


@pytest.mark.parametrize('most', [1.0, 10.0, 50.0])
@pytest.mark.parametrize('turns', [False, True])
def test_the_hand_is_at_rest_within_its_bound(most, turns):
    """Driven away with all that its limits allow, by a state that stands still."""
    for axis in range(3):
        hand, t, u = TrueHand(), 0.0, np.zeros(6)
        u[axis if turns else 3 + axis] = most
        start = hand.state()
        bound = HandBound(STATE, BOUND, np.array([start] * 2), BRAKE_TIME, np.full(6, most))
        while not bound.problem(t, start, start, u):
            hand.move(u, PERIOD)
            t += PERIOD
        before = hand.deviation()
        hand.stop(bound, start, most)
        assert before < 0.6 * BOUND
        # what is measured corrects 1 m/s^2 by 0.05 m/s^2; and it is judged once in a period
        late = 0.12 * BOUND / most + most * BRAKE_TIME * PERIOD
        assert 0.85 * BOUND < hand.deviation() < BOUND + late


def test_a_hand_as_fast_as_its_plan_has_nothing_to_brake():
    hand, plan = TrueHand(), TrueHand(v=(3.0, 0, 0), w=(0, 5.0, 0))
    start, there = hand.state(), plan.state()
    limits = np.full(6, MOST)
    bound = HandBound(STATE, BOUND, np.array([start, start]), BRAKE_TIME, limits)
    assert bound.problem(0.0, there, there, np.zeros(6)) == ''
    bound = HandBound(STATE, BOUND, np.array([start, start]), BRAKE_TIME, limits)
    # 3 m/s: 0.45 m by 10 m/s^2, and 0.05 m more by the time constant; 5 rad/s: 1.3 rad
    assert 'is 1.3 m or rad' in bound.problem(0.0, there, start, np.zeros(6))


def test_a_hand_that_is_where_it_is_measured_is_followed_for_half_a_minute():
    """Along a plan that swings, with delays of commands and noise at the start unknown to it."""
    hand, late = TrueHand(), np.zeros(6)
    start = hand.state()
    bound = HandBound(STATE, BOUND, np.array([start, start]))
    for k in range(3000):
        t, axis = k * 1e-2, np.array([0.3, 0.0, -0.2, 1.0, 0.0, 0.4])
        u = axis * np.cos(2.0 * t + 0.1 * np.sin(t)) - 0.5 * np.r_[hand.w, hand.R.T @ hand.v]
        x = hand.state()
        x[STATE.slice('v_WH_H')] += 0.01 * (k == 0)  # m/s
        assert bound.problem(t, x, hand.state(), u) == ''
        hand.move(late, 3e-3)
        hand.move(u, 7e-3)
        late = u


def test_the_default_is_how_far_the_plan_goes():
    hand, states = TrueHand(v=(1.0, 0, 0), w=(0, 0.2, 0)), []
    for _ in range(5):
        states.append(hand.state())
        hand.move(np.zeros(6), 0.1)
    assert HandBound(STATE, 0.0, np.array(states)).bound == pytest.approx(0.4 + 0.3)
    states[2][STATE.slice('q_WH')] = mat2quat(turn(np.array([0, 0, 0.9])))
    assert HandBound(STATE, 0.0, np.array(states)).bound == pytest.approx(0.9 + 0.3)


def test_measured_deviations_stop_it_at_once():
    hand = TrueHand()
    start = hand.state()
    for there in (TrueHand(), TrueHand()):
        bound = HandBound(STATE, BOUND, np.array([start, start]))
        assert bound.problem(0.0, start, start, np.zeros(6)) == ''
        if hand is not None:
            there.p = np.array([0, 0.11, 0])
            hand = None
        else:
            there.R = turn(np.array([0, 0.11, 0]))
        text = bound.problem(0.01, there.state(), start, np.zeros(6))
        assert text.startswith('the hand is 0.11 m or rad from the plan as measured')


def test_a_hand_begins_where_it_is_first_measured():
    hand = TrueHand(v=(1.0, 0, 0))
    start = hand.state()
    bound = HandBound(STATE, BOUND, np.array([start, start]))
    assert bound.problem(7.0, start, start, np.zeros(6)) == ''
    hand.move(np.zeros(6), 0.05)
    assert bound.problem(7.05, hand.state(), hand.state(), np.zeros(6)) == ''


def test_a_hand_that_is_commanded_away_is_named_as_commanded():
    start = TrueHand().state()
    bound, u = HandBound(STATE, BOUND, np.array([start, start])), np.array([0, 0, 0, 0, 8.0, 0])
    assert bound.problem(0.0, start, start, u) == ''
    text = bound.problem(0.2, start, start, u)
    # 8 m/s^2 for 0.2 s: 0.16 m, less 0.01 m/s and 0.05 m/s^2 by what is measured
    assert text.startswith('the hand is 0.158 m or rad from the plan as commanded')
    assert text.endswith('tracking_bound allows 0.1')


PLANAR = Layout(
    (
        Entry('q_WH', ('q_WH_w', 'q_WH_y'), ''),
        Entry('p_WH', ('p_WH_x', 'p_WH_z'), 'm'),
        Entry('u_o', ('u_o',), 'rad'),
        Entry('w_WH_H', ('w_WH_H_y',), 'rad/s'),
        Entry('v_WH_H', ('v_WH_H_x', 'v_WH_H_z'), 'm/s'),
    )
)


@pytest.mark.parametrize('control', range(3))
def test_a_hand_in_a_plane_moves_by_its_three_controls(control):
    """An angular acceleration about y, and accelerations along x and z."""
    start = np.array([1.0, 0, 0, 0, 0, 0, 0, 0])
    for value in (4.0, -4.0):
        bound, u = HandBound(PLANAR, BOUND, np.array([start, start])), np.zeros(3)
        u[control] = value
        assert bound.problem(0.0, start, start, u) == ''
        x = start.copy()
        if control == 0:  # by 4 rad/s^2 for 0.2 s: 0.08 rad
            x[:2], x[5] = (np.cos(value * 0.01), np.sin(value * 0.01)), 0.2 * value
        else:
            x[1 + control], x[5 + control] = value * 0.02, 0.2 * value
        assert bound.problem(0.2, x, x, u) == ''
        assert 'as commanded' in bound.problem(0.4, start, start, u)


def test_a_hand_that_starts_outside_its_bound_is_named_as_measured():
    hand, start = TrueHand(), TrueHand().state()
    for far in (BOUND, 1.01 * BOUND):
        hand.p = np.array([0, far, 0])
        bound = HandBound(STATE, BOUND, np.array([start, start]))
        text = bound.problem(0.0, hand.state(), start, np.zeros(6))
        assert text.endswith(
            'from the plan as measured, braking included; tracking_bound allows 0.1'
        ) == (far > BOUND)
        assert bool(text) == (far > BOUND)


@pytest.mark.parametrize('error', [1e-3, 1e-13])
def test_what_is_measured_is_reached_and_not_passed(error):
    """In a second it may correct by 1 cm and 0.01 rad."""
    moved, true = TrueHand().state(), TrueHand().state()
    moved[STATE.slice('p_WH')] = 0, error, 0
    hands = [x[[STATE.names.index(name) for name in HAND_STATE]] for x in (moved, true)]
    out = np.array(
        hand_motion()(hands[0], hands[1], hands[1], np.zeros(6), 1.0, np.ones(3))
    ).ravel()
    assert np.abs(out[:13] - hands[1]).max() < 1e-9


@pytest.mark.parametrize(('pause', 'speed'), [(0.05, 0.5), (0.5, 0.0)])
def test_after_a_pause_a_hand_brakes_as_it_is_measured(pause, speed):
    """The plant, too, stopped it when no command came; nobody knows for how long one acted."""
    start, u = TrueHand().state(), np.array([0, 0, 0, MOST, 0, 0])
    bound = HandBound(STATE, 10.0, np.array([start, start]), BRAKE_TIME, np.full(6, MOST))
    assert bound.problem(0.0, start, start, u) == ''
    bound.problem(pause, start, start, u)
    v = bound.followed(start)[STATE.slice('v_WH_H')]
    assert v == pytest.approx([speed, 0, 0], abs=0.01)
