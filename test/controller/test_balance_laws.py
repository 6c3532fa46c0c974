"""The laboratory's laws in lockstep: damping, hand-over, throw and catch."""

from collections import deque

import numpy as np
import pytest
from rolling_controller.balance.hand_over import balancing_since
from rolling_controller.balance.hold import BalanceLqr
from rolling_controller.balance.region_of_attraction import region_of_attraction
from rolling_controller.laboratory.laws import (
    balance_region,
    balance_regulator,
    CONTROL_LIMITS,
    CONTROL_WEIGHTS,
    damping_regulator,
    experiment_plan,
    flip_up_arms,
    restricted_plan,
    TERMINAL,
    throw_catch_law,
    TRACKING,
)
from rolling_controller.time_varying_lqr import LqrWeights, TimeVaryingLqr
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.from_contact_system import model_state, plant_state
from rolling_dynamics.scenario import load_scenario
from rolling_planner.laboratory.laboratory import (
    FLAT,
    Laboratory,
    LIMITS,
    plan_throw_catch,
    turn_about_y,
    UPRIGHT,
)
from stepped_motion import SteppedMotion

LAB = Laboratory.of_paper()
LATENCY = 8  # ms


class Lockstep:
    """The plant under a law that sees delayed, noisy states of the model at 250 Hz."""

    def __init__(self, start, seed, scale=1.0):
        self.system, p = LAB.plant()
        self.model = LAB.model()[0]
        self.rng, self.scale = np.random.default_rng(seed), scale
        self.p = p.copy()
        for name in ('inertia', 'rolling_resistance'):
            self.p[self.system.parameters.slice(name)] *= 1 + 0.1 * scale * self._off()
        x = self._moved(start, scale * np.array([0.05, 0.005]) * [self._off(), self._off()])
        self.to_model = FastFunction(model_state(self.system, self.model))
        self.plant = SteppedMotion(
            self.system, self.p, plant_state(self.system, self.p, self.model, x)
        )
        self.events = []

    def _moved(self, x, by):
        """Return a state with the object's turn, contact point and rate off by so much."""
        d = np.zeros(9)
        d[[3, 4, 8][: len(by)]] = by
        return np.array(self.model.retract(x, d)).ravel()

    def _off(self):
        return self.rng.uniform(-1, 1)

    def angles(self, command, duration):
        """Return the object's turn in the world at every millisecond."""
        seen, angles = deque(maxlen=LATENCY), []
        for k in range(round(duration * 1000)):
            s = self.plant.state
            if k % 4 == 0 and (not seen or self.rng.random() > 0.1):
                y = self.to_model(s.x, self.p)
                y = self._moved(y, self.scale * self.rng.normal(size=3) * [3e-3, 2e-4, 0.03])
                seen.append((k, y, s.mode != 'separated'))
            old = [z for z in seen if z[0] <= k - LATENCY] or [seen[0]]
            s = self.plant.step(command(k * 1e-3, *old[-1][1:]), 1e-3)
            self.events += [e.name for e in s.events]
            angles.append(turn_about_y(self.system, s.x))
        return np.unwrap(angles)


def last_large(angles, size):
    """Return the last time at which an angle exceeds a size [s]."""
    return (np.flatnonzero(np.abs(angles) > size)[-1] + 1) * 1e-3


@pytest.mark.slow
def test_damping_is_five_times_faster_than_rest_alone():
    start = LAB.rest(FLAT + 0.3)
    law = damping_regulator(LAB)
    free = Lockstep(start, 0, scale=0.0).angles(lambda *_: np.zeros(3), 32.0) - FLAT
    damped = Lockstep(start, 0).angles(lambda _, y, __: law.step(None, y, 0.0)[1], 6.0) - FLAT
    alone, under_control = last_large(free, 0.015), last_large(damped, 0.03)
    # 1 % of critical damping: the envelope falls with 0.01 omega
    rate = LAB.equilibrium_rate(upright=False)
    assert alone == pytest.approx(np.log(0.3 / 0.015) / (0.01 * rate), rel=0.03)
    assert 5 * under_control < alone


def test_region_of_attraction_is_where_runs_come_home():
    region = balance_region(LAB, samples=25)
    law = region.regulator
    assert region.contains(LAB.rest(UPRIGHT))
    assert region.contains(LAB.rest(0.2))
    assert not region.contains(LAB.rest(1.2))
    # a contact that stands elsewhere cannot be moved, and does not matter
    assert law.value(LAB.rest(0.1, 0.05)) == pytest.approx(law.value(LAB.rest(0.1)))
    run = Lockstep(LAB.rest(0.2), 1, scale=0.0)
    angles = run.angles(lambda _, y, __: law.step(None, y, 0.0)[1], 3.0)
    assert np.abs(angles[-500:]).max() < 0.01


def test_a_regulator_too_weak_has_no_region():
    system, p = LAB.model()
    weights = LqrWeights(tracking={'d_HO': 1.0, 'p_WH': 1.0, 'd_WH': 1.0}, control=1.0)
    weak = BalanceLqr(system, p, LAB.rest(UPRIGHT), weights=weights, control_limits=1e-9)
    with pytest.raises(ParameterError, match='no region of attraction'):
        region_of_attraction(weak, samples=3, duration=0.3)


def test_commands_respect_their_limits_and_do_nothing_at_rest():
    law = balance_regulator(LAB, hand=(0.1, -0.05))
    assert np.abs(law.step(None, LAB.rest(UPRIGHT, hand=(0.1, -0.05)), 0.0)[1]).max() < 1e-12
    u = law.step(None, LAB.rest(1.5), 0.0)[1]
    limits = np.array(list(CONTROL_LIMITS.values()))
    assert np.all(u >= limits[:, 0])
    assert np.all(u <= limits[:, 1])
    assert np.any(u == limits[:, 1]) or np.any(u == limits[:, 0])


def planned(name):
    return restricted_plan(experiment_plan(load_scenario(name)), LAB.model()[0])


@pytest.fixture(scope='module')
def flip_up():
    plan = planned('laboratory_flip_up')
    return plan, flip_up_arms(LAB, plan, balance_region(LAB, samples=25))


@pytest.mark.slow
def test_flip_up_plan_keeps_its_limits(flip_up):
    plan, _ = flip_up
    assert plan.report['goal_error'] < 1e-3
    f = plan.contact_wrenches[:, 3:]
    weight = LAB.mass * LAB.gravity
    assert f[:, 2].min() > 0.3 * weight
    assert (np.hypot(f[:, 0], f[:, 1]) / f[:, 2]).max() < 0.7 * LAB.mu
    turns = turn_about_y(LAB.model()[0], plan.states)
    assert turns[0] == pytest.approx(FLAT, abs=1e-12)
    assert abs(turns[-1]) < 1e-3


@pytest.mark.slow
def test_flip_up_with_feedback_ends_in_balance(flip_up):
    _, arms = flip_up
    law = arms.feedback_balance
    for seed in range(3):
        run = Lockstep(LAB.rest(FLAT, -LAB.circumference / 4), seed)
        memory = law.start()

        def command(t, y, _):
            nonlocal memory
            memory, u = law.step(memory, y, t)
            return u

        angles = run.angles(command, 7.0)
        assert run.events == []
        assert np.abs(angles[-2000:]).max() < 0.05
        assert balancing_since(law, memory) < 2.0  # the region was reached before the plan's end


@pytest.mark.slow
def test_replay_alone_does_not_balance(flip_up):
    _, arms = flip_up
    run = Lockstep(LAB.rest(FLAT, -LAB.circumference / 4), 0)
    angles = run.angles(lambda t, y, _: arms.replay.step(None, y, t)[1], 7.0)
    assert np.abs(angles[-2000:]).max() > 0.3


@pytest.fixture(scope='module')
def throw():
    return plan_throw_catch(LAB, planned('laboratory_throw_catch'))


def test_a_throw_is_carried_thrown_and_balanced(throw):
    """As its parts are, one after another; upright is every half turn."""
    law, rng = throw_catch_law(LAB, throw), np.random.default_rng(2)
    memory, end = law.start(), throw.rests
    weights = LqrWeights(tracking=TRACKING, terminal=TERMINAL, control=CONTROL_WEIGHTS)
    most = {name: (-high, high) for name, high in zip(CONTROL_LIMITS, LIMITS, strict=True)}
    carry = TimeVaryingLqr(*LAB.model(), throw.carry, weights, control_limits=most)
    regulator = balance_regulator(LAB, throw.hand)
    home, half = regulator.x, regulator.system.state.slice('q_HO')
    other = home.copy()
    other[half] = -home[half][1], home[half][0]
    near = [(t, throw.carry.states[0], 1.0) for t in (0.0, throw.carry.duration / 2)]
    near += [(t, home, 0.0) for t in (throw.carry.duration + 0.01, end - 0.01)]
    near += [(end - 1e-3, home, 1.0), (end + 0.01, home, 0.0), (end + 0.02, home, 1.0)]
    near += [(end + 0.1, other, 1.0), (end + 0.2, home, 0.0)]
    for t, x, touching in near:
        y = x + 1e-3 * rng.normal(size=x.size)
        memory, u = law.step(memory, np.append(y, touching), t)
        if t < throw.carry.duration:
            wanted = carry.step(None, y, t)[1]
        elif t <= end + 0.01:
            wanted = throw.control_at(t)
        else:
            (w, s), turned = y[half], abs(y[half] @ home[half]) < 0.5
            y[half] = (-s, w) if turned else (w, s)
            wanted = regulator.step(None, y, t)[1]
            assert turned == (x is other)
        np.testing.assert_allclose(u, wanted, rtol=1e-11, atol=1e-12)
    assert balancing_since(law, memory) == end + 0.02


@pytest.mark.slow
def test_throw_is_caught_and_balanced(throw):
    law = throw_catch_law(LAB, throw)
    for seed in range(3):
        run = Lockstep(throw.carry.states[0], seed)
        memory = law.start()

        def command(t, y, touching):
            nonlocal memory
            memory, u = law.step(memory, np.append(y, touching), t)
            return u

        angles = run.angles(command, 5.0)
        flown = [event for event in run.events if event != 'slip']  # as the force vanishes
        assert flown[:2] == ['lift_off', 'landing']
        assert np.abs(angles[-2000:] - throw.upright).max() < 0.05
