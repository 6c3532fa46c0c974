"""The filter of what sensors measure, beside a Kalman filter by hand; the law behind it."""

from types import SimpleNamespace

from cart import Cart, P
import casadi as ca
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
import pytest
from rolling_controller import measured_state, run_batch, StateFeedback
from rolling_controller.law import STATE
from rolling_controller.lockstep import run_emulated
from rolling_controller.measured_state import (
    EXACT,
    GAP,
    LIMITED,
    LONGEST,
    MeasuredLaw,
    sensor_source,
    SensorFilter,
)
from rolling_controller.supervisor import Source, Verdict
from rolling_dynamics.contract import Entry, Layout, Mode
from rolling_dynamics.contract.instruments import Actuator, Sensor
from rolling_dynamics.simulation.emulation import Emulation

PARTS = 2  # of a period of the sensors, of at most LONGEST
SWELL = 0.3  # m/s^3, rate at which the acceleration of the cart grows by itself
NOISE = np.array([0.02, 0.3])  # standard deviations of place and of acceleration
START, LOST, DRIFT = {'s': 0.5, 'v': 2.0}, {'s': 3.0}, {'s': 0.01, 'v': 0.1}
UNSURE, WALK = 0.7, 0.2  # of the unknown force
X_START = np.array([0.1, -0.2])


class Swelling(Cart):
    """A cart whose acceleration grows with time."""

    def __init__(self):
        """Add what grows to the control."""
        super().__init__()
        x, u, t, _ = given = [ca.SX.sym(n, k) for n, k in zip('xutp', (2, 1, 1, 1), strict=True)]
        rates = ca.vertcat(x[1], u + SWELL * t)
        self.modes = {'rolling': Mode(dynamics=ca.Function('f', given, [rates]), guards={})}


def sensor(name, names, measured, deviations, rate=100.0, kind=None):
    """Return a sensor of ``measured(s, v, u, t)``."""

    def function(_system, mode):
        assert mode == 'rolling'
        x, u, t, _ = given = [ca.SX.sym(n, k) for n, k in zip('xutp', (2, 1, 1, 1), strict=True)]
        return ca.Function(name, given, [ca.vertcat(*measured(x[0], x[1], u, t))])

    entries = (
        (Entry(name, names, '', kind=kind),) if kind else (Entry(n, (n,), 'm') for n in names)
    )
    output = Layout(tuple(entries))
    noise = np.diag(np.square(deviations))
    return SimpleNamespace(
        name=name, output=output, covariance=noise, bias=0.0, rate=rate, function=function
    )


SENSORS = (
    sensor('place', ('along', 'height'), lambda s, v, *_: (2 * s + v, ca.SX(0.5)), [0.02, 0.0]),
    sensor('feel', ('rate',), lambda _, v, u, t: (v + u + SWELL * t,), [0.3]),
)


@pytest.fixture(scope='module')
def filter_():
    return SensorFilter(
        Swelling(),
        P,
        SENSORS,
        X_START,
        start=START,
        lost=LOST,
        drift=DRIFT,
        forces={'v': (UNSURE, WALK)},
        sources={'place': Source(name='the place')},
    )


class Oracle:
    """Estimate of (s, v, force), by the textbook."""

    def __init__(self):
        self.z, self.P = np.array([*X_START, 0.0]), np.diag([0.5, 2.0, UNSURE]) ** 2

    def go_on(self, t, *held):
        """Predict under controls, each held until a time."""
        begin = t
        for u, end in held:
            F, h = self.over(end - begin), end - begin
            known = [u * h**2 / 2 + SWELL * (begin * h**2 / 2 + h**3 / 6), 0, 0]
            known[1] = u * h + SWELL * (begin * h + h**2 / 2)
            self.z, begin = F @ self.z + known, end
        parts = PARTS * int(np.ceil((begin - t) / (PARTS * LONGEST) - 1e-9))
        h = (begin - t) / parts
        for _ in range(parts):  # of the same length, in which it is driven at the end
            F = self.over(h)
            self.P = F @ self.P @ F.T + h * np.diag([0.01, 0.1, WALK]) ** 2

    def over(self, h):
        """Return how (s, v, force) moves on."""
        return np.array([[1, h, h**2 / 2], [0, 1, h], [0, 0, 1]])

    def take(self, row, expected, y, deviation):
        """Correct by one number."""
        row = np.array(row, dtype=float)
        S = row @ self.P @ row + deviation**2
        K = self.P @ row / S
        self.z, self.P = self.z + K * (y - expected), self.P - np.outer(K, row @ self.P)

    def take_both(self, y, u, t):
        """Correct by what both sensors say, but for what is not a number."""
        s, v, _ = self.z
        if np.isfinite(y[0]):
            self.take([2, 1, 0], 2 * s + v, y[0], NOISE[0])
        if np.isfinite(y[2]):
            self.take([0, 1, 0], self.z[1] + u + SWELL * t, y[2], NOISE[1])


def assert_alike(belief, oracle):
    assert_allclose([*belief.x, *belief.force], oracle.z, rtol=0, atol=1e-10)
    assert_allclose(belief.P, oracle.P, rtol=0, atol=1e-10)


def test_the_estimate_is_that_of_a_kalman_filter_by_hand(filter_):
    """Controls act from their times on, also between two measurements, and in a measurement."""
    belief, oracle = filter_.start(), Oracle()
    belief, _ = filter_.step(belief, [0.3, 9.0, 0.2], 1.0)
    oracle.take_both([0.3, 9.0, 0.2], 0.0, 1.0)
    assert_alike(belief, oracle)
    belief = filter_.acting(filter_.acting(belief, [2.0], 1.004), [-3.0], 1.013)
    oracle.go_on(1.0, (0.0, 1.004), (2.0, 1.011))
    belief, _ = filter_.step(belief, [np.nan, 9.0, 1.5], 1.011)
    oracle.take_both([np.nan, 9.0, 1.5], 2.0, 1.011)
    assert_alike(belief, oracle)
    oracle.go_on(1.011, (2.0, 1.013))
    belief, _ = filter_.step(
        belief, [0.4, np.nan, -2.5], 1.013
    )  # what acts from then on is in force
    oracle.take_both([0.4, np.nan, -2.5], -3.0, 1.013)
    assert_alike(belief, oracle)
    assert belief.sent[-2:].tolist() == [[1.004, 2.0], [1.013, -3.0]]
    again, _ = filter_.step(belief, [0.5, 0.0, np.nan], 1.013)  # at the same time: no prediction
    oracle.take_both([0.5, 0.0, np.nan], -3.0, 1.013)
    assert_alike(again, oracle)
    # a control that acts from the measurement on is in force in another one of this time
    again, _ = filter_.step(filter_.acting(again, [4.0], 1.013), [np.nan, 0.0, 3.5], 1.013)
    oracle.take_both([np.nan, 0.0, 3.5], 4.0, 1.013)
    assert_alike(again, oracle)


def test_a_number_without_noise_counts_by_a_millionth():
    exact = sensor('ruler', ('along',), lambda s, *_: (s,), [0.0])
    state = SensorFilter(Swelling(), P, [exact], X_START, start=START)
    belief, _ = state.step(state.start(), [0.3], 0.0)
    assert belief.x[0] == pytest.approx(0.3, abs=1e-9)
    assert np.sqrt(belief.P[0, 0]) == pytest.approx(EXACT, rel=1e-6)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_a_quaternion_is_one_attitude_by_either_sign(sign):
    def turned(s, *_):
        return ca.cos(s / 2), 0 * s, 0 * s, ca.sin(s / 2)

    attitude = sensor('attitude', tuple('wxyz'), turned, [0.01] * 4, kind='quaternion')
    state = SensorFilter(Swelling(), P, [attitude], X_START, start=START)
    seen = sign * np.array([np.cos(0.1), 0.0, 0.0, np.sin(0.1)])
    belief, _ = state.step(state.start(), seen, 0.0)
    assert belief.x[0] == pytest.approx(0.2, abs=1e-3)


def test_after_a_gap_the_estimate_is_as_unsure_as_at_the_start(filter_):
    """It is where it was left; the supervisor knows what repeats, and how often it comes."""
    begun, _ = filter_.step(filter_.start(), [0.3, 9.0, 0.2], 0.0)
    just, _ = filter_.step(begun, [0.3, 9.0, np.nan], GAP / 100.0)
    assert len(just.memories['place'].times) == 2
    later, _ = filter_.step(begun, [0.3, 9.0, np.nan], GAP / 100.0 + 1e-6)
    memory = later.memories['place']
    assert (len(memory.times), len(memory.squares), memory.equal) == (2, 1, 1)
    oracle = Oracle()
    oracle.z = np.array([*begun.x, *begun.force])
    oracle.take_both([0.3, 9.0, np.nan], 0.0, 0.1)
    assert_alike(later, oracle)


@pytest.fixture
def verdicts(monkeypatch):
    """Return a list of what the supervisor says next; the last one stays."""
    given = [Verdict()]

    def step(_source, memory, _sample, _t):
        return memory, given.pop(0) if len(given) > 1 else given[0]

    monkeypatch.setattr(measured_state, 'step', step)
    return given


def test_an_estimate_that_is_reopened_is_as_unsure_as_one_that_is_lost(filter_, verdicts):
    """But for what is not lost, such as the rate, which stays without a correlation."""
    begun, _ = filter_.step(filter_.start(), [0.3, 9.0, 0.2], 1.0)
    verdicts[:] = [Verdict(reopen=True)]
    found, _ = filter_.step(begun, [0.9, 9.0, np.nan], 1.0)
    oracle = Oracle()
    oracle.z, oracle.P = np.array([*begun.x, *begun.force]), begun.P.copy()
    oracle.P[0, :] = oracle.P[:, 0] = 0.0
    oracle.P[0, 0] = LOST['s'] ** 2
    oracle.take_both([0.9, 9.0, np.nan], 0.0, 1.0)
    assert_alike(found, oracle)


def test_what_cannot_be_is_not_taken(filter_, verdicts):
    begun, _ = filter_.step(filter_.start(), [0.3, 9.0, 0.2], 1.0)
    verdicts[:] = [Verdict(possible=False)]
    found, _ = filter_.step(begun, [0.9, 9.0, np.nan], 1.0)
    assert_array_equal(found.x, begun.x)
    assert_array_equal(found.P, begun.P)
    assert not found.verdict.possible


@pytest.mark.parametrize(
    ('deviations', 'noise'), [([0.3, 0.02, 0.0], 0.02), ([0.0, 0.0, 0.0], 0.0)]
)
def test_the_supervisor_knows_a_sensor_by_its_least_noise(deviations, noise):
    names = ('a', 'b', 'c')[: len(deviations)]
    found = sensor_source(sensor('scale', names, lambda *_: (), deviations, rate=50.0))
    assert (found.name, found.period, found.opening) == ('sensor scale', 0.02, 0.05)
    assert found.agreement == 1.0  # s, in which another disagreement is a fault
    assert found.noise == pytest.approx(noise)


class Noting:
    """A law that notes what it is given, and answers by a number."""

    period, opaque = None, 'notes in Python'
    output = Layout((Entry('u', ('u',), 'm/s^2'),))

    def __init__(self, inputs, answer=0.0, period=None):
        self.inputs = Layout(tuple(Entry(n, tuple(c), 'm') for n, c in inputs.items()))
        self.answer, self.period, self.given = answer, period, []

    def start(self, before=None):
        return 0 if before is None else before

    def step(self, memory, inputs, t):
        self.given.append((memory, [float(v) for v in inputs], t))
        return memory + 1, np.array([self.answer])


def test_a_law_of_the_state_gets_that_of_the_filter(filter_):
    law = Noting({STATE: ('s', 'v'), 'goal': ('goal',)})
    behind = MeasuredLaw(filter_, law)
    assert [e.name for e in behind.inputs.entries] == ['place', 'feel', 'goal']
    memory, _ = behind.step(behind.start(), [0.3, 9.0, 0.2, 0.7], 1.0)
    assert law.given == [(0, [*memory.belief.x, 0.7], 1.0)]
    assert memory.missed == 0
    assert_array_equal(memory.belief.x, filter_.step(filter_.start(), [0.3, 9.0, 0.2], 1.0)[1])


@pytest.mark.parametrize(('after', 'missed'), [(0.01, 0), (0.014, 0), (0.04, 3), (0.5, 49)])
def test_a_law_with_a_period_steps_for_what_is_missing(filter_, after, missed):
    law = Noting({'seen': ('x', 'y'), 'goal': ('goal',)}, period=0.01)
    behind = MeasuredLaw(filter_, law)
    assert [e.name for e in behind.inputs.entries] == ['seen', 'goal']
    memory, _ = behind.step(behind.start(), [0.3, 9.0, 0.7], 1.0)
    memory, _ = behind.step(memory, [0.4, 9.0, 0.8], 1.0 + after)
    assert memory.missed == missed
    blank = [(k + 1, [np.nan, np.nan, 0.8], 1.0 + after) for k in range(min(missed, GAP))]
    number = len(blank)
    expected = [(0, [0.3, 9.0, 0.7], 1.0), *blank, (number + 1, [0.4, 9.0, 0.8], 1.0 + after)]
    assert repr(law.given) == repr(expected)
    assert memory.law == number + 2


@pytest.mark.parametrize(
    ('verdict', 'output'),
    [
        (Verdict(), -4.0),
        (Verdict(limited=True), -4.0 * LIMITED),
        (Verdict('it jumps'), 0.0),
        (Verdict(possible=False), -4.0),
    ],
)
def test_outputs_are_limited_by_what_the_supervisor_says(filter_, verdicts, verdict, output):
    """What cannot be is not measured for the law either."""
    law = Noting({'seen': ('x', 'y')}, answer=-9.0)
    behind = MeasuredLaw(filter_, law, control=lambda u: 10 * u, latency=0.03, greatest=4.0)
    verdicts[:] = [verdict]
    memory, found = behind.step(behind.start(), [0.3, 9.0], 1.0)
    assert found.tolist() == memory.output.tolist() == [output]
    assert memory.fault == verdict.fault
    assert memory.belief.sent[-1].tolist() == [1.03, 10 * output]
    assert np.isfinite(law.given[0][1]).all() == verdict.possible
    again = behind.start(memory)
    assert again.law == 1
    assert again.output.tolist() == [0.0]


def test_a_law_may_get_the_state_at_the_time_when_its_answer_acts(filter_):
    law = Noting({STATE: ('s', 'v')}, answer=0.5)
    behind = MeasuredLaw(filter_, law, latency=0.02, ahead=True)
    memory, _ = behind.step(behind.start(), [0.3, 9.0, 0.2], 1.0)
    memory, _ = behind.step(memory, [0.3, 9.0, 0.2], 1.01)
    (_, given, t) = law.given[-1]
    assert t == 1.03
    later = memory.belief
    for end in np.linspace(1.01, 1.03, 200)[1:]:  # in shorter steps, under what was sent at 1.0
        later, x = filter_.step(later._replace(sent=memory.belief.sent), [np.nan] * 3, end)
    assert_allclose(given, x, rtol=1e-6)
    assert np.abs(given - memory.belief.x).max() > 1e-3


@pytest.mark.parametrize('ahead', [False, True])
def test_filter_and_law_are_one_function_of_vectors(filter_, ahead):
    """What is remembered is a vector: measurements, some missing, and controls that act later."""
    system = Swelling()
    law = StateFeedback(system, lambda t, x, gain: -gain * x[0] - x[1] + t, lambda t: [3.0 + t])
    behind = MeasuredLaw(filter_, law, latency=0.013, greatest=1.5, ahead=ahead)
    one, memory, rng = behind.as_function(), behind.start(), np.random.default_rng(1)
    z = one.memory
    for k in range(30):
        y = np.array([0.2, 0.5, 0.1]) + 0.01 * rng.normal(size=3)
        y[rng.random(3) < 0.3] = np.nan
        t = 1.0 + 0.008 * k + 0.002 * (k % 2)
        memory, output = behind.step(memory, y, t)
        out = np.array(one.function(z, y, t, one.given(t))).ravel()
        z = out[: z.size]
        assert_allclose(out[z.size :], output, rtol=1e-12, atol=1e-13)
        assert_allclose(z[: memory.belief.numbers().size], memory.belief.numbers(), rtol=1e-12)
    assert np.ptp(memory.belief.sent[-6:, 1]) > 0.02  # it answered


def test_a_batch_of_carts_behind_their_filters_stands():
    """Each by its own noise, as one of them in lockstep; all covariances are the same."""
    system, late = Cart(), 0.01
    place = Sensor(
        name='place',
        output=Layout((Entry('position', ('cart_position',), 'm'),)),
        measure=lambda at: at.state['s'],
        covariance=np.array([[1e-6]]),
        rate=100.0,
        delay=late,
        message='joint_states',
        topic='joint_states',
    )
    motor = Actuator(
        name='motor',
        control='u',
        joints=('cart',),
        limits=np.array([5.0]),
        dead_time=late,
        message='accelerations',
        topic='joint_command',
    )
    state = SensorFilter(system, P, [place], [0.0, 0.0], start=0.3)
    push = StateFeedback(system, lambda _t, x, _: -4 * x[0] - 3 * x[1])
    law, starts = MeasuredLaw(state, push, latency=2 * late), np.array([[0.2, 0.0], [-0.3, 0.1]])
    drive = {'rate': 100.0, 'sensors': [place], 'actuators': [motor], 'seed': 3}
    batch = run_batch(system, P, starts, law, 5.0, **drive)
    for k, x_start in enumerate(starts):
        plant = Emulation(system, P, [place], [motor], seed=k)
        plant.restart(x_start, np.zeros(1))
        one = run_emulated(plant, law, state.given, 5.0, lambda u: u)
        assert np.abs(batch.states[-1, k]).max() < 5e-3
        assert np.abs(one.states[-1]).max() < 5e-3
        known = batch.memory[3:7, k]
        assert_allclose(known, one.memory.belief.P.ravel(), rtol=1e-3)
