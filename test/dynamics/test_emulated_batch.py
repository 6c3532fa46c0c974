"""Many plants between actuators and sensors, against the emulation of one."""

from dataclasses import replace

import numpy as np
import pytest
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.batch.emulation import EmulatedBatch
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation.emulation import Emulation

WHEELER = load_scenario('two_wheeler')
DISTURBED = {
    'rate': 250.0,
    'exposure': 0.006,
    'jitter': 1e-3,
    'loss': 0.1,
    'outlier': 0.1,
    'outlier_size': 0.1,
    'bias': 0.01,
}
SLOW = {'slew': 30.0, 'dead_band': 1e-3, 'rate': 100.0, 'dead_time': 4e-3}
IDLE = np.zeros(2)


def emulated(size, sensors=WHEELER.sensors, actuators=(), seeds=None, dt=2e-3):
    batch = BatchSimulator(WHEELER.system, size, dt)
    batch.reset(states=WHEELER.x0, parameters=WHEELER.p)
    made = EmulatedBatch(batch, sensors, actuators)
    made.restart(range(size) if seeds is None else seeds)
    return made


def test_each_motion_is_that_of_the_emulation_of_one_with_its_seeds():
    imu, encoders = WHEELER.sensors
    sensors = replace(imu, **DISTURBED), encoders
    actuators = [replace(a, **SLOW) for a in WHEELER.actuators]
    many = emulated(4, sensors, actuators, [[5, k] for k in range(4)])
    one = Emulation(WHEELER.system, WHEELER.p, sensors, actuators, seed=[(5, 2, 1), (5, 2, 2)])
    one.restart(WHEELER.x0, IDLE)
    held, rng, lost = many.values[2].copy(), np.random.default_rng(0), 0
    known = one.advance(0.0)
    for _ in range(60):
        for m in known:
            where = many.sensors[m.sensor.name][1]
            held[where] = np.where(np.isfinite(m.value), m.value, held[where])
            lost += np.isnan(m.value).all()
        np.testing.assert_allclose(many.values[2], held, atol=1e-7)
        u = rng.uniform(-0.05, 0.05, 2)
        controls = many.step(u, 5)
        known = one.step(u, 0.01)
        assert (controls[-1, 2] == one.u).all()
    assert lost > 3
    np.testing.assert_allclose(many.batch.states[2], one.state.x, atol=1e-7)


def test_noise_bias_and_loss_are_those_of_the_sensor_over_seeds():
    """5 standard deviations of each estimate, over 2,000 motions."""
    L = np.diag([1e-3, 2e-3])
    L[1, 0] = 1e-3
    encoders = replace(WHEELER.sensors[1], covariance=L @ L.T, bias=5e-3, delay=0.0)
    many = emulated(2000, [encoders])
    exact = many._noiseless()
    first = many.values - exact
    cov = L @ L.T + 25e-6 * np.eye(2)
    np.testing.assert_allclose(np.cov(first.T), cov, atol=0.16 * cov.max())
    np.testing.assert_allclose(first.mean(axis=0), 0.0, atol=5 * np.sqrt(cov.max() / 2000))
    many.step(IDLE)
    change = many.values - many._noiseless() - first  # the bias stays
    np.testing.assert_allclose(np.cov(change.T), 2 * L @ L.T, atol=0.16 * 2 * (L @ L.T).max())
    many = emulated(2000, [replace(encoders, loss=0.2)])
    before = many.values.copy()
    many.step(IDLE)
    held = (many.values == before).all(axis=1)
    assert held.mean() == pytest.approx(0.2, abs=0.05)


def test_what_is_known_is_as_late_as_exposure_and_delay():
    """A wheel at a constant rate: an exposure is late by half of it."""
    sensor = replace(WHEELER.sensors[1], covariance=np.zeros((2, 2)), exposure=0.004, delay=0.006)
    many = emulated(3, [sensor])
    angles = []
    for _ in range(20):
        many.step([0.01, 0.01])
        angles.append((many._noiseless()[1].copy(), many.values[1].copy()))
    exact, known = np.array(angles).swapaxes(0, 1)
    mean = (exact[:-2] + 2 * exact[1:-1] + exact[2:]) / 4  # over 4 ms, at the end of it
    np.testing.assert_allclose(known[5:], mean[:-3], atol=1e-9)


def test_a_motion_that_begins_again_is_a_new_one_and_the_others_go_on():
    seeds, sent = [7, 8], np.array([[0.02, 0.0], [0.0, 0.02]])
    actuators = [replace(a, **SLOW) for a in WHEELER.actuators]
    many, other = (emulated(2, actuators=actuators, seeds=seeds) for _ in range(2))
    for one in (many, other):
        one.step(sent, 3)
    which = np.array([True, False])
    many.batch.reset(which, states=WHEELER.x0)
    many.restart([9, 0], which)
    alone = emulated(1, actuators=actuators, seeds=[9])
    for _ in range(20):
        for one, u in ((many, [IDLE, sent[1]]), (other, sent), (alone, IDLE)):
            one.step(u)
        assert np.array_equal(many.values[0], alone.values[0])
        assert np.array_equal(many.values[1], other.values[1])
    assert np.array_equal(many.batch.states[1], other.batch.states[1])
