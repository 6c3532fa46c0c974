"""A closed loop in lockstep ends where the motion does."""

import numpy as np
import pytest
from rolling_controller import OpenLoop, run_batch, run_lockstep, StateFeedback
from rolling_controller.gait_following.gait_follower import VelocityStick
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.parameters import paper_parameters
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate
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
