"""A closed loop in lockstep ends where the motion does."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from rolling_controller import (
    FunctionLaw,
    Hold,
    OpenLoop,
    run_batch,
    run_lockstep,
    StateFeedback,
)
from rolling_controller.gait_following.gait_follower import VelocityStick
from rolling_dynamics.contract import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.parameters import paper_parameters
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate
from rolling_dynamics.simulation.emulation import Emulation
from rolling_planner import Plan


def test_it_ends_at_the_guard_that_ends_the_motion():
    """A plate falls away under a ball; before, it is held."""
    scenario = load_scenario('spinning_plate')
    system, p, x = scenario.system, scenario.p, scenario.x0
    down = np.zeros(system.control.size)
    down[system.control.index('a_WH_H_z')] = -12.0  # more than gravity takes

    def pulled(t, *_):
        return down * (t / 0.1)

    run = run_lockstep(system, p, x, StateFeedback(system, pulled), 0.5, rate=1000.0)
    times = np.repeat(np.arange(501) / 1000, 2)[1:-1]
    held = times, np.repeat([pulled(k / 1000, x) for k in range(500)], 2, axis=0)
    truth = simulate(system, p, x, held, 0.5)
    assert run.events[-1].terminal
    assert run.events[-1].name == truth.terminal_event.name
    assert run.times[-1] == pytest.approx(truth.end, abs=1e-9)
    assert 0.0 < run.times[-1] < 0.5
    assert len(run.times) == len(run.states) == len(run.controls)
    np.testing.assert_allclose(run.states[-1], truth.states[-1], atol=1e-8)


@pytest.mark.parametrize('compile_', ['now', 'never'])
def test_a_batch_is_each_of_its_motions_and_stops_where_they_end(compile_, monkeypatch):
    """A disk under rising controls, which start slip where friction is less."""
    monkeypatch.setenv('ROLLING_COMPILE', compile_)
    scenario = load_scenario('point_mass_disk_straight')
    system, p = scenario.system, np.tile(scenario.p, (3, 1))
    p[:, system.parameters.index('mu')] *= [[1.0], [0.05], [0.1]]
    rising = {
        'times': np.array([0.0, 1.0]),
        'states': np.tile(scenario.x0, (2, 1)),
        'controls': np.array([np.zeros(2), [100.0, 60.0]]),
    }
    law = OpenLoop(system, Plan.of(system, **rising))
    starts = scenario.x0 + 1e-2 * np.arange(3)[:, None]
    batch = run_batch(system, p, starts, law, 0.4, limits=30.0)
    assert batch.stopped.tolist() == ['', 'friction', 'friction']
    assert 0.0 < batch.times[-1, 1] < batch.times[-1, 2] < 0.4
    for k, start in enumerate(starts):
        run = run_lockstep(system, p[k], start, law, 0.4, limits=30.0)
        assert (run.ended is None) == (not batch.stopped[k])
        assert batch.times[-1, k] == pytest.approx(run.times[-1], abs=1e-9)
        np.testing.assert_allclose(batch.states[-1, k], run.states[-1], atol=1e-9)


def test_a_batch_has_the_actuators_of_a_motion():
    s = load_scenario('two_wheeler')
    imperfect = {'dead_time': 4e-3, 'rate': 250.0, 'dead_band': 1e-3}
    actuators = [replace(a, **imperfect) for a in s.actuators]
    law, starts = Hold(s.system, s.p, s.x0, control_limits=0.8), np.tile(s.x0, (3, 1))
    lean = np.zeros(s.system.tangent.size)
    lean[s.system.tangent.index('d_body')[1]] = 0.02
    starts[1] = np.array(s.system.retract(s.x0, lean)).ravel()
    batch = run_batch(s.system, s.p, starts, law, 0.2, actuators=actuators)
    run = run_lockstep(s.system, s.p, starts[1], law, 0.2, actuators=actuators)
    np.testing.assert_allclose(batch.states[-1, 1], run.states[-1], atol=1e-8)
    np.testing.assert_allclose(batch.controls[:, 1], run.controls[:-1], atol=1e-7)


def test_a_law_of_a_batch_takes_what_sensors_measure():
    """A law with a memory, against the emulation of one with its seeds; and it balances."""
    s = load_scenario('two_wheeler')
    imu, encoders = s.sensors
    inputs = Layout(tuple(Entry(e.name, tuple(e.output.names), '') for e in s.sensors))
    tilt, rate = (imu.output.index(n)[k] for n, k in (('orientation', 2), ('angular_velocity', 1)))

    def step(z, y, _t, _given):
        smooth = 0.9 * z + 0.1 * y[rate]
        return smooth, ca.repmat(8.0 * 2 * y[tilt] + 0.8 * smooth, 2, 1)

    law, drift = FunctionLaw(inputs, s.system.control, step, memory=[0.0]), {'loss': 0.1}
    sensors, size = (replace(imu, **drift), encoders), imu.output.size
    given = {'sensors': sensors, 'actuators': s.actuators, 'seed': 4}
    batch = run_batch(s.system, s.p, [s.x0] * 3, law, 0.5, **given)
    assert batch.stopped.tolist() == [''] * 3
    assert np.abs(batch.states[-1, 0] - batch.states[-1, 1]).max() > 1e-4  # by their noise
    seeds = [(4, 2, 1 + k) for k in range(2)]
    one = Emulation(s.system, s.p, sensors, s.actuators, seed=seeds)
    one.restart(s.x0, np.zeros(2))
    functions = (sensor.function(s.system, 'rolling') for sensor in sensors)
    known = np.concatenate([np.array(f(s.x0, 0, 0, s.p)).ravel() for f in functions])
    memory, measured = law.start(), one.advance(0.0)
    for k in range(500):
        for m in measured:
            where = slice(0, size) if m.sensor is sensors[0] else slice(size, None)
            known[where] = np.where(np.isfinite(m.value), m.value, known[where])
        memory, u = law.step(memory, known, k * 1e-3)
        one.send(u, k * 1e-3)
        measured = one.advance((k + 1) * 1e-3)
    np.testing.assert_allclose(batch.states[-1, 2], one.state.x, atol=1e-6)
    with pytest.raises(ParameterError, match='takes the inputs imu, encoders, which are not'):
        run_batch(s.system, s.p, [s.x0], law, 0.1)


def test_a_law_that_no_batch_can_step_is_refused():
    scenario = load_scenario('point_mass_disk_straight')
    law = VelocityStick(paper_parameters())
    with pytest.raises(ParameterError, match='not a function of vectors: pursuit: the swing'):
        run_batch(scenario.system, scenario.p, [scenario.x0], law, 0.1)


def test_it_goes_through_the_modes_of_the_plant():
    """A ball lands on a plate, slides, and rolls; nothing ends it."""
    scenario = load_scenario('ball_tossed_by_plate')
    system, p, x = scenario.system, scenario.p, scenario.x0
    u = np.zeros(system.control.size)
    run = run_lockstep(system, p, x, StateFeedback(system, lambda *_: u), 0.24)
    truth = simulate(system, p, x, u, 0.24)
    assert [e.name for e in run.events] == [e.name for e in truth.events]
    times = [e.time for e in run.events]
    assert times == pytest.approx([e.time for e in truth.events], abs=1e-6)
    assert not run.events[-1].terminal
    assert run.times[-1] == pytest.approx(0.24)
