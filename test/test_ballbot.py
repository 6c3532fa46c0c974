"""A robot that balances, as a package from outside: its equations, plans, feedback and hold."""

from dataclasses import replace
from functools import cache
from pathlib import Path
import re
import sys

import casadi as ca
import numpy as np
import pytest
from rolling_controller import TimeVaryingLqr
from rolling_controller.balance.hand_over import HandOver
from rolling_controller.balance.hold import Hold
from rolling_controller.balance.region_of_attraction import region_of_attraction
from rolling_controller.export.c import as_c
from rolling_controller.export.compiled_law import CompiledLaw
from rolling_controller.export.machine_laws import follow_law, hold_law, machine_sources
from rolling_controller.lockstep import run_batch, run_emulated
from rolling_controller.measured_state import MeasuredLaw, sensor_source, SensorFilter
from rolling_controller.nominal import nominal_trajectory
from rolling_controller.robot_laws.regulator import robot_kind
from rolling_dynamics.equilibrium import nearest_equilibrium
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.impulse import Impulse
from rolling_dynamics.plugin import register_plugin
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario_model import load_robot
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.simulation.emulation import Emulation
from rolling_dynamics.testing import check_system
from rolling_planner import plan_rolling
from rolling_planner.planners.planner import planner_of, Request
from rolling_planner.problem.goal import goal_error
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.cli import main
from rolling_robotics.result import plan_result
from rolling_robotics.trials.standing import Standing, Stands
from rolling_robotics.trials.trial import run_trials, Trial
from transforms3d import quaternions as tq

sys.path.insert(0, str(Path(__file__).parent / 'mechanism'))
from kane_oracle import rates_by_kane

FOLDER = Path(__file__).parents[1] / 'examples' / 'ballbot'
LIMIT = 8.0  # N m


def test_its_file_may_list_further_instruments(scenario):
    camera = {'kind': 'pose', 'body': 'ball', 'rate': 30, 'position': 1e-3}
    drives = load_scenario({**scenario.raw, 'actuators': {'torque': {'dead_time': 0.01}}})
    assert [a.dead_time for a in drives.actuators] == [0.01]
    more = {'sensors': {'camera': camera}, 'measured': True}
    names = [s.name for s in load_scenario({**scenario.raw, **more}).sensors]
    assert names == ['imu', 'encoders', 'camera']


@pytest.fixture(scope='module')
def scenario():
    sys.path.insert(0, str(FOLDER))
    from ballbot.plugin import PLUGIN

    register_plugin(PLUGIN)
    return load_scenario(PLUGIN.example)


def standing(scenario, x, law, **options):
    """Return the task of a law on the robot from a state."""
    return Standing(model=replace(load_robot(scenario.raw), start=x), law=law, **options)


def stands(hold, tolerance=1e-3, **options):
    """Return the criterion of a robot that stands where it is held; its heading may turn."""
    names = 'p_WS', 'd_WB_x', 'd_WB_y'
    return Stands(system=hold.system, x=hold.x, within=dict.fromkeys(names, tolerance), **options)


@pytest.fixture(scope='module')
def upright(scenario):
    x = scenario.x0.copy()
    x[scenario.system.state.slice('q_WB')] = [1, 0, 0, 0]
    return x


def test_it_keeps_the_contract(scenario):
    outcomes = check_system(scenario.system, scenario.p, scenario.x0)
    assert {o.name for o in outcomes if o.verdict == 'passed'} >= {'newton-euler', 'invariants'}


def test_in_a_plane_it_is_the_wheeled_inverted_pendulum(scenario):
    """Lagrange's equations of the textbook, in position and tilt, for ten random states."""
    system, rng = scenario.system, np.random.default_rng(1)
    v = {n: float(a[0]) for n, a in system.parameters.unpack(scenario.p).items()}
    r, m, h, g = (v[n] for n in ('radius', 'mass', 'height', 'gravity'))
    rolling = v['ball_mass'] + v['ball_inertia'] / r**2
    for tilt, rate, speed, torque in rng.uniform(-0.5, 0.5, (10, 4)) * [1, 4, 4, 10]:
        x = system.state.pack(
            p_WS=[0, 0],
            q_WS=[1, 0, 0, 0],
            q_WB=[np.cos(tilt / 2), 0, np.sin(tilt / 2), 0],
            w_WS_W=[0, speed / r, 0],
            w_WB_B=[0, rate, 0],
        )
        xdot = np.array(system.modes['rolling'].dynamics(x, [0, torque, 0], 0, scenario.p))
        found = system.state.unpack(xdot.ravel())
        c, s = m * h * np.cos(tilt), m * h * np.sin(tilt)
        M = [[rolling + m, c], [c, v['roll_inertia'] + m * h**2]]
        expected = np.linalg.solve(M, [torque / r + s * rate**2, g * s - torque])
        assert found['w_WS_W'] == pytest.approx([0, expected[0] / r, 0], abs=1e-9)
        assert found['w_WB_B'] == pytest.approx([0, expected[1], 0], abs=1e-10)


def test_in_space_kanes_equations_give_the_same_rates(scenario):
    """A second derivation from the poses alone, with the torque by its power."""
    system, rng = scenario.system, np.random.default_rng(4)

    def power(w, torque, _moving):
        return ca.dot(system.machine.links['body'].R_WB @ torque, w['ball'] - w['body'])

    kane = rates_by_kane(system, ('w_WS_W', 'w_WB_B'), power)
    for _ in range(20):
        x = rng.normal(size=system.state.size)
        for name in ('q_WS', 'q_WB'):
            x[system.state.slice(name)] /= np.linalg.norm(x[system.state.slice(name)])
        u = rng.normal(size=3)
        rates = np.array(system.modes['rolling'].dynamics(x, u, 0, scenario.p)).ravel()[10:]
        expected = np.array(kane(x, u, 0, scenario.p)).ravel()
        assert np.abs(rates - expected).max() < 1e-10 * np.abs(expected).max()


@pytest.fixture(scope='module')
def planned(scenario, upright):
    """Return a function that plans a metre in a time, once for each."""
    problem = replace(read_problem(scenario), x_start=upright)
    return cache(lambda horizon: plan_rolling(replace(problem, horizon=horizon)))


@pytest.mark.parametrize('horizon', [3.0, pytest.param(12.0, marks=pytest.mark.slow)])
def test_a_plan_is_judged_under_the_feedback_that_it_needs(scenario, planned, horizon):
    plan = planned(horizon)
    assert plan.report['judged'].startswith('under the regulator')
    assert plan.report['open_loop_growth'] > 1e6
    assert plan.report['greatest_defect'] < 0.1
    assert plan.states[-1][0] == pytest.approx(1.0, abs=1e-4)  # its reference is collocated
    assert nominal_trajectory(scenario.system, scenario.p, plan, None, 2e-3).unstable


def test_a_plan_on_request_is_sampled_and_written_as_it_was_judged(scenario, upright):
    options = {'method': 'hermite_simpson', 'segments': 25, 'refinements': 3, 'sample_rate': 100.0}
    options |= {'goal_tolerance': 1e-3, 'normal_force_min': 0.0, 'quiet_ends': False}
    goal = {'p_WS_x': 1.0, 'p_WS_y': 0.0}
    request = Request(
        start=upright, goal=goal, horizon=3.0, options=options | {'time_budget': 60.0}
    )
    found = planner_of('ballbot').plan(scenario, lambda _: True, request)
    plan, result = found.plan, plan_result(found)
    assert result['reached']
    assert result['goal_error'] == pytest.approx(plan.report['goal_error'], rel=1e-3)
    assert np.diff(plan.times).max() <= 0.01 + 1e-9
    assert len(plan.contact_wrenches) == len(plan.times)
    assert plan.states[-1][0] == pytest.approx(1.0, abs=1e-4)
    f = scenario.system.modes['rolling'].dynamics
    middle = (plan.states[1:] + plan.states[:-1]) / 2, (plan.controls[1:] + plan.controls[:-1]) / 2
    rates = np.array([f(x, u, 0, scenario.p) for x, u in zip(*middle, strict=True)])[..., 0]
    slopes = np.diff(plan.states, axis=0) / np.diff(plan.times)[:, None]
    assert np.abs(slopes - rates)[1:-1].max() < 0.1  # the samples are a motion of the robot


def test_a_goal_of_an_axis_leaves_the_turn_about_it_free(scenario, upright):
    problem = replace(read_problem(scenario), x_start=upright)
    problem = replace(problem, goal={**problem.goal, 'z_WB': [0, 0, 1]})
    where, layout = problem.goal_state[0].copy(), scenario.system.state
    for heading, lean in ((0.0, 0.0), (1.3, 0.0), (-2.8, 0.0), (0.0, 0.1), (1.3, 0.1)):
        turned = tq.axangle2quat([0, 0, 1], heading)
        where[layout.slice('q_WB')] = tq.qmult(turned, tq.axangle2quat([1, 0, 0], lean))
        assert goal_error(problem, where) == pytest.approx(lean, abs=1e-9)


@pytest.mark.slow  # two plans of a machine that falls: 16 CPU s
def test_a_goal_may_be_upright_with_any_heading(scenario, upright):
    """
    It starts turning, and ends with another heading, unless the goal fixes that.

    Costs are not compared: both plans are local optima, a full turn apart from others as cheap.
    """
    layout, x = scenario.system.state, upright.copy()
    x[layout.slice('w_WB_B')] = [0.0, 0.0, 0.8]
    problem = replace(read_problem(scenario), x_start=x, horizon=3.0)
    goals = {'free': {'z_WB': [0, 0, 1]}, 'fixed': {}}
    plans = {
        name: plan_rolling(replace(problem, goal={**problem.goal, **goal}))
        for name, goal in goals.items()
    }
    ends = {name: plan.states[-1, layout.slice('q_WB')] for name, plan in plans.items()}
    assert abs(ends['free'][3]) > 0.3
    assert np.abs(ends['free'][1:3]).max() < 1e-3
    assert np.abs(ends['fixed'][1:]).max() < 1e-3


@pytest.mark.parametrize(
    ('goal', 'text'),
    [
        ({'z_WB': [0, 0, 2]}, r'goal\.z_WB must be a unit vector, its length is 2'),
        ({'z_WB': [0, 0, 1], 'q_WB': [1, 0, 0, 0]}, r'goal\.z_WB: q_WB has another goal too'),
        ({'z_WB': [0, 0, 1], 'x_WB': [1, 0, 0]}, r'goal\.z_WB: q_WB has another goal too'),
        ({'z_WB': [0, 1]}, r'goal\.z_WB: takes 3 numbers z_WB_x z_WB_y z_WB_z, got 2'),
        ({'p_W': [0, 1]}, r"goal\.p_W: no such state; did you mean 'p_WS'\? (?!.*p_WO)"),
        ({'p_WO': [0, 1, 0]}, r'goal\.p_WO: no such state(?!.*\bp_WO\b)'),
    ],
)
def test_a_goal_that_is_none_is_refused_by_name(scenario, goal, text):
    with pytest.raises(ParameterError, match=text):
        replace(read_problem(scenario), goal=goal)


def test_every_name_that_an_unknown_goal_is_told_is_accepted(scenario, upright):
    problem, layout = read_problem(scenario), scenario.system.state
    with pytest.raises(ParameterError) as refused:
        replace(problem, goal={'nowhere': 0.0})
    names = str(refused.value).partition('there are: ')[2].split(', ')
    for name in names:
        value = [0, 0, 1] if name[:2] in ('x_', 'y_', 'z_') else 0.0
        replace(problem, goal={name: upright[layout.slice(name)] if name in layout else value})


def driven(scenario, plan, offsets, hold_for):
    """Follow a plan from offset starts and hold; return the errors of the hold at its end."""
    system = scenario.system
    law = TimeVaryingLqr(system, scenario.p, plan, control_limits=LIMIT)
    hold = Hold(system, scenario.p, plan.states[-1], control_limits=LIMIT)
    starts = []
    for offset in offsets:
        d = np.zeros(system.tangent.size)
        d[:2], d[5:7] = offset[:2], offset[2:]
        starts.append(np.array(system.retract(plan.states[0], d)).ravel())
    both = HandOver(law, hold, latest=plan.duration)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROLLING_COMPILE', 'now')  # a second in place of half a minute
        run = run_batch(system, scenario.p, starts, both, plan.duration + hold_for)
    assert not run.stopped.any()
    assert np.abs(run.controls).max() <= LIMIT
    return np.array([hold.error(x) for x in run.states[-1]])


@pytest.mark.parametrize(
    'horizon', [3.0, *(pytest.param(h, marks=pytest.mark.slow) for h in (5.0, 8.0, 12.0))]
)
def test_it_drives_a_metre_from_offset_starts_and_stands(scenario, planned, horizon):
    """Two seconds into the hold within 1 mm and 1 mrad, from tilts and positions to 0.05."""
    plan, rng = planned(horizon), np.random.default_rng(7)
    offsets = [np.zeros(4), *rng.uniform(-0.05, 0.05, (100, 4))]
    errors = driven(scenario, plan, offsets, 2.0)
    assert np.abs(errors[:, [0, 1, 5, 6, 7]]).max() < 1e-3


@pytest.mark.slow
def test_it_stands_for_a_minute(scenario, planned):
    following = robot_kind('ballbot').make(scenario, {}).follow(planned(3.0))
    both = HandOver(following.law, following.hold, latest=3.0)
    trial = Trial(
        task=standing(scenario, planned(3.0).states[0], both),
        criterion=stands(following.hold),
        duration=63.0,
    )
    (record,) = run_trials([trial])
    assert not trial.criterion.outcome(record).failure


def leaning(scenario, upright, lean):
    d = np.zeros(scenario.system.tangent.size)
    d[scenario.system.tangent.index('d_WB_y', '')] = lean
    return np.array(scenario.system.retract(upright, d)).ravel()


def pushed(scenario, x, impulse):
    """Return a state after an impulse [N s] along x at the body's centre of mass, upright."""
    v = {n: float(a[0]) for n, a in scenario.system.parameters.unpack(scenario.p).items()}
    r, h = v['radius'], v['height']
    # along x and about y alone: momenta of the rates (of the ball, of the body) about y
    rolling = v['ball_inertia'] + (v['ball_mass'] + v['mass']) * r**2
    both = v['mass'] * r * h
    M = [[rolling, both], [both, v['roll_inertia'] + v['mass'] * h**2]]
    ball, body = np.linalg.solve(M, impulse * np.array([r, h]))
    out = x.copy()
    out[scenario.system.state.slice('w_WS_W')] += [0.0, ball, 0.0]
    out[scenario.system.state.slice('w_WB_B')] += [0.0, body, 0.0]
    return out


def test_an_impulse_is_that_of_the_momenta_by_hand(scenario, upright):
    impulse = Impulse(scenario.system, scenario.p)
    after = impulse.after(upright, [10.0, 0.0, 0.0])
    np.testing.assert_allclose(after, pushed(scenario, upright, 10.0), rtol=0, atol=1e-12)


@pytest.fixture(scope='module')
def region(scenario, upright):
    hold = Hold(scenario.system, scenario.p, upright, control_limits=LIMIT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROLLING_COMPILE', 'now')  # a second in place of half a minute
        return region_of_attraction(hold)


def test_the_region_of_attraction_says_which_guard_limits_it(scenario, upright, region):
    assert region.limit == 'friction'
    assert region.contains(leaning(scenario, upright, 0.2))
    assert not region.contains(leaning(scenario, upright, 0.4))


def test_released_at_a_lean_or_pushed_it_recovers_or_a_guard_ends_it(scenario, upright, region):
    cases = [(0.1, 0.0), (0.3, 0.0), (0.0, 2.0), (0.0, 10.0), (0.5, 0.0), (0.0, 30.0)]
    mass = Impulse(scenario.system, scenario.p).mass
    one = Trial(
        task=standing(scenario, upright, region.regulator),
        criterion=stands(region.regulator),
        duration=11.0,
    )
    trials = [
        replace(one, rotation=(0.0, lean, 0.0), pushes=[(1e-3, (push / mass, 0.0, 0.0))])
        for lean, push in cases
    ]
    records = list(run_trials(trials))
    failures = [one.criterion.outcome(record).failure for record in records]
    assert failures == ['', '', '', '', 'tilt', 'tilt']
    assert max(np.abs(record['torque']).max() for record in records) <= LIMIT
    for lean, push in cases[4:]:
        assert not region.contains(pushed(scenario, leaning(scenario, upright, lean), push))


@pytest.mark.parametrize('hold_for', [3.0, pytest.param(60.0, marks=pytest.mark.slow)])
def test_by_emulated_imu_and_encoders_it_follows_its_plan_and_stands(
    scenario, upright, planned, hold_for
):
    """With their noise and delay, and the dead time of the motors; the odometry drifts little."""
    from ballbot.instruments import ENCODERS, IMU, MOTORS

    system, p = scenario.system, scenario.p
    plan = planned(3.0)
    following = robot_kind('ballbot').make(scenario, {}).follow(plan)
    hold = following.hold
    both = HandOver(following.law, hold, latest=plan.duration)
    state = SensorFilter(system, p, (IMU, ENCODERS), upright)
    law = MeasuredLaw(state, both, latency=4e-3)
    plant = Emulation(system, p, (IMU, ENCODERS), (MOTORS,), seed=1)
    plant.restart(upright, np.zeros(3))
    run = run_emulated(plant, law, state.given, plan.duration + hold_for, lambda u: u)
    assert run.ended is None
    assert np.isnan(run.inputs).any(axis=1).all()  # never more than one instrument at a time
    at_end = run.states[np.searchsorted(run.times, plan.duration)]
    assert np.linalg.norm(hold.error(at_end)) < 0.1  # 1.3 by the default terminal weights
    held = run.states[run.times > plan.duration + 2.0]
    errors = np.array([hold.error(x) for x in held[::50]])
    assert np.abs(errors[:, :2]).max() < 5e-3
    assert np.abs(errors[:, 5:7]).max() < 5e-3
    assert np.abs(run.states[-1] - run.memory.belief.x)[:2].max() < 5e-3


def block(page, words):
    """Return the program of a page that holds these words; it stands for 3 s, not for a minute."""
    found = re.findall(r'^```py(?:thon)?\n(.*?)^```', page.read_text(), re.DOTALL | re.MULTILINE)
    text = next(text for text in found if words in text).replace('+ 60.0', '+ 3.0')
    return compile(text, str(page), 'exec')


def test_the_programs_of_its_pages_reach_what_they_say(scenario, monkeypatch, capsys):
    """That of docs/extending.md goes on from the first one of the example's own page."""
    monkeypatch.chdir(FOLDER)
    names = {'__name__': scenario.name}
    for page, words in (
        (FOLDER / 'README.md', 'hold.uncontrollable'),
        (FOLDER.parents[1] / 'docs' / 'extending.md', 'ballbot.instruments'),
    ):
        exec(block(page, words), names)  # noqa: S102
        assert names['run'].ended is None
        assert np.abs(names['run'].states[-1][:2] - [1.0, 0.0]).max() < 2e-3
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.slow  # 7 s at 500 Hz of two sensors: 2 CPU s each
@pytest.mark.parametrize(('lean', 'impulse'), [(0.1, 0.0), (0.3, 0.0), (0.0, 2.0), (0.0, 10.0)])
def test_by_its_instruments_it_recovers_from_a_lean_and_a_push(scenario, upright, lean, impulse):
    """The supervisor of sensors takes neither for a fault, and halves the torque for a while."""
    seen = load_scenario({**scenario.raw, 'measured': True})
    system, p, sensors = seen.system, seen.p, seen.sensors
    hold = Hold(system, p, upright, control_limits=LIMIT)
    sources = {s.name: sensor_source(s) for s in sensors}
    state = SensorFilter(system, p, sensors, upright, sources=sources)
    trial = Trial(
        task=standing(seen, upright, MeasuredLaw(state, hold, latency=4e-3, greatest=LIMIT)),
        criterion=stands(hold, 5e-3),
        seed=1,
        rotation=(0.0, lean, 0.0),
        pushes=[(0.2, (impulse / Impulse(system, p).mass, 0.0, 0.0))],
        duration=7.2,
    )
    (record,) = run_trials([trial])
    assert not trial.criterion.outcome(record).failure
    assert np.abs(record['torque']).max() <= LIMIT


def test_its_hold_is_exported_though_its_plug_in_names_no_law(scenario, upright):
    law, hold = hold_law(scenario), Hold(scenario.system, scenario.p, scenario.x0)
    compiled, rng = (
        CompiledLaw(source=machine_sources(scenario)['hold']()),
        np.random.default_rng(2),
    )
    memory, m = law.start(), compiled.start()
    still = np.zeros(scenario.system.tangent.size)
    for k in range(20):
        d = 1e-2 * rng.normal(size=still.size)
        x = np.array(scenario.system.retract(hold.x, d)).ravel()
        x[scenario.system.state.slice('q_WB')] *= (-1) ** k  # the same attitude
        memory, u = law.step(memory, [*x, *still], 0.0)
        m, c = compiled.step(m, [*x, *still], 0.0)
        assert np.abs(u - c).max() < 1e-12
        expected = np.clip(hold.u - hold.gain @ d, -LIMIT, LIMIT)
        assert np.abs(u - expected).max() < 1e-9
        _, shifted = law.step(memory, [*x, *d], 0.0)
        assert np.abs(shifted - hold.u).max() < 1e-9  # the equilibrium is moved to the state
    _, blind = compiled.step(m, [*np.full(x.size, np.nan), *still], 0.0)
    assert np.array_equal(blind, c)


@pytest.mark.slow  # 35,000 operations to compile
def test_its_filter_and_hold_are_exported(scenario):
    """The step in C answers as the law behind the filter does, also where nothing is measured."""
    from ballbot.instruments import ENCODERS, IMU, MOTORS

    seen = replace(scenario, sensors=(IMU, ENCODERS), actuators=(MOTORS,))
    compiled, system = CompiledLaw(source=machine_sources(seen)['measured']()), scenario.system
    state = SensorFilter(system, scenario.p, seen.sensors, scenario.x0)
    hold = Hold(system, scenario.p, scenario.x0, control_limits=LIMIT)
    law, rng = (
        MeasuredLaw(state, hold, latency=IMU.delay + MOTORS.dead_time),
        np.random.default_rng(4),
    )
    memory, m, answers = law.start(), compiled.start(), []
    measured = [s.function(system, 'rolling') for s in seen.sensors]
    for k in range(12):
        d = 1e-2 * rng.normal(size=system.tangent.size)
        x = np.array(system.retract(hold.x, d)).ravel()
        y = np.concatenate([np.array(f(x, hold.u, 0.0, scenario.p)).ravel() for f in measured])
        y[:] = np.nan if k == 7 else y
        memory, u = law.step(memory, y, k / IMU.rate)
        m, c = compiled.step(m, [*y, 0.0], 0.0)
        np.testing.assert_allclose(c, u, rtol=0, atol=1e-9)
        answers.append(u)
    assert np.ptp(answers) > 0.1
    with pytest.raises(ParameterError, match='needs sensors'):
        machine_sources(scenario)['measured']()


@pytest.mark.slow  # a plan, and 8 s at 1 kHz
def test_the_regulator_along_its_plan_is_exported_and_ends_in_the_hold(scenario, planned):
    """In closed loop from a lean; gains and motion as polynomials give nearly the same torque."""
    plan, PERIOD = planned(3.0), 1e-3
    law, along = (
        follow_law(scenario, plan),
        robot_kind('ballbot').make(scenario, {}).follow(plan).law,
    )
    compiled = CompiledLaw(source=as_c(law, library=True))
    plant = Stepper(scenario.system, scenario.p, max_step=PERIOD)
    memory, m, s = law.start(), compiled.start(), plant.begin(scenario.x0, np.zeros(3))
    off = []
    for k in range(round((plan.duration + 5.0) / PERIOD)):
        memory, u = law.step(memory, [*s.x, 0.0], 0.0)
        if k % 50 == 0 and k * PERIOD < plan.duration:
            off.append(np.abs(u - along.step(None, s.x, k * PERIOD)[1]).max())
        if k < 200:
            m, c = compiled.step(m, [*s.x, 0.0], 0.0)
            assert np.abs(u - c).max() < 1e-12
        s = plant.step(s, u, PERIOD)
        assert s.ended is None
    assert max(off) < 0.02 * LIMIT
    d = np.array(scenario.system.difference(s.x, plan.states[-1])).ravel()
    assert np.abs(d[[0, 1, 5, 6]]).max() < 5e-3


def test_its_hold_solves_the_environment_of_any_machine(scenario):
    gymnasium = pytest.importorskip('gymnasium')
    given = {'num_envs': 2, 'scenario': scenario.raw}
    env = gymnasium.make_vec('rolling_robotics.learning:rolling/ReachGoal-v0', **given)
    episodes = env.unwrapped._episodes
    env.reset(seed=3)
    x_goal = read_problem(scenario).goal_state[0]
    hold = Hold(scenario.system, scenario.p, x_goal, control_limits=LIMIT)
    for _ in range(400):
        actions = [hold.step(None, x, 0.0)[1] / LIMIT for x in episodes.batch.states]
        _, reward, failed, _, info = env.step(np.array(actions))
        assert not failed.any()
    assert info['success'].all()
    assert (reward > 0.95).all()
    for _ in range(200):
        _, reward, failed, _, info = env.step(np.ones((2, 3)))
        if failed.any():
            break
    assert set(info['stopped'][failed]) <= {'tilt', 'friction', 'normal_force'}


def test_a_hold_names_what_no_control_moves_and_knows_that_it_is_unstable(scenario, upright):
    hold = Hold(scenario.system, scenario.p, upright, control_limits=LIMIT)
    assert hold.unstable
    named = ' '.join(hold.uncontrollable)
    assert 'w_WS_W' in named
    assert 'd_WS' in named
    assert np.abs(hold.u).max() < 1e-9


def test_a_state_that_moves_has_no_hold(scenario, upright):
    x = upright.copy()
    x[scenario.system.state.slice('w_WS_W')] = [0.0, 4.0, 0.0]
    with pytest.raises(ParameterError, match='there is no equilibrium near this state'):
        nearest_equilibrium(scenario.system, scenario.p, x)


def test_on_a_slope_the_equilibrium_has_the_torque_that_holds_there():
    """Of a sphere with a pendulum: its whole weight on the lever arm of the slope."""
    slope = load_scenario('pendulum_slope')
    x, u = nearest_equilibrium(slope.system, slope.p, slope.x0)
    rate = np.array(slope.system.modes['rolling'].dynamics(x, u, 0, slope.p)).ravel()
    assert np.abs(rate).max() < 1e-8
    assert np.abs(u).max() > 1e-3


def test_no_error_counts_the_turn_of_its_ball(scenario):
    assert robot_kind('ballbot').make(scenario, {}).uncounted == ('d_WS',)


@pytest.mark.slow  # it plans and follows: 3.5 CPU s
def test_its_demonstration_succeeds_without_ros(scenario, monkeypatch, tmp_path, capsys):
    """From 20 mm beside its plan, whose correction turns the ball: no error counts that turn."""
    monkeypatch.setattr(sys, 'argv', ['rolling', 'demo', 'ballbot', '--no-ros'])
    monkeypatch.chdir(tmp_path)
    assert main() == 0
    out = capsys.readouterr().out
    assert 'closed_loop           1 of 1' in out
    assert 'open_loop             0 of 1' in out  # it falls without feedback
