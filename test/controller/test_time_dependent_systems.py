"""Systems that depend on the time itself: prediction, tracking, rollout, and plans refused."""

import numpy as np
import pytest
from rolling_controller.law import Following, OpenLoop
from rolling_controller.motion_watch import Predictor
from rolling_controller.tracker import Tracker
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.ball import PointMassDisk
from rolling_dynamics.internal_masses.masses import RailMass
from rolling_dynamics.internal_masses.rails import Circle
from rolling_dynamics.simulation import simulate
from rolling_planner import Plan, PlanProblem
from rolling_planner.refinement.rollout import RolloutSimulator

NODES = np.linspace(0.5, 2.5, 41)  # s; the clock of the equations does not begin at zero


@pytest.fixture(scope='module')
def gusts():
    """Return a disk in a wind that changes with time, its parameters, and its simulated motion."""
    disk = PointMassDisk([RailMass(0.5, Circle(0.2))], force=['3*sin(5*t)', 0, '4*cos(3*t)'])
    p = disk.pack_parameters(mass=1.5, polar_inertia=0.05, radius=0.3)
    x0 = disk.state.pack(theta=[-np.pi / 2], theta_rate=[0], phi=[0], phi_rate=[0], p=[0])
    controls = np.zeros((len(NODES), 1))
    run = simulate(disk, p, x0, (NODES, controls), 2.0, start=0.5, t_eval=NODES)
    return disk, p, run


def test_rollout_passes_the_time(gusts):
    disk, p, run = gusts
    rollout = RolloutSimulator(disk, 10).run(p, run.states[0], NODES, np.zeros((len(NODES), 1)))
    assert rollout.states[:: rollout.stride] == pytest.approx(run.states, abs=1e-7)
    force = np.array(disk.mode.wrench.map(len(NODES))(run.states.T, 0, NODES, p)).T
    assert rollout.wrenches[:: rollout.stride] == pytest.approx(force, abs=1e-6)


def test_prediction_passes_the_time(gusts):
    disk, p, run = gusts
    predictor = Predictor(disk, p, delay=0.0, horizon=1.0)
    predictor.origin = 7_000_000_000  # the plan, and the clock of the equations, began there
    stamp = predictor.origin + round(0.5e9)
    at, x = predictor.predict(stamp, run.states[0], stamp + round(0.3e9))
    assert at == stamp + round(0.3e9)
    assert x == pytest.approx(run.state_at(0.8), abs=1e-7)


def test_margins_are_those_of_the_time(gusts):
    disk, p, run = gusts
    system, names = disk, tuple(disk.state.names)
    plan = Plan(
        system=system.name,
        model_hash=system.model_hash,
        state_names=names,
        control_names=tuple(system.control.names),
        times=NODES,
        states=run.states,
        controls=np.zeros((len(NODES), 1)),
        report={},
    )
    tracker = Tracker(system, p)
    tracker.begin(plan, Following(OpenLoop(system, plan), NODES, run.states))
    for k in (3, 20):
        step = tracker.step(NODES[k], run.states[k], np.zeros(1))
        wanted = float(disk.mode.guards['friction'](run.states[k], 0, NODES[k], p))
        assert step.margins['friction'] == pytest.approx(wanted, abs=1e-9)
    assert tracker.goal_error(run.states[-1]) == 0


def test_plan_of_a_system_that_depends_on_time_is_refused(gusts):
    disk, p, run = gusts
    with pytest.raises(ParameterError, match='depend explicitly on time'):
        PlanProblem(
            system=disk,
            p=p,
            x_start=run.states[0],
            goal={'p': [0.5]},
            active_controls=['theta_acceleration_1'],
            horizon=2.0,
            control_limits=50.0,
        )
