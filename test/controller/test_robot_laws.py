"""The laws of the rolling robots in lockstep: along plans, driven, at their limits, refused."""

import dataclasses

import numpy as np
from numpy.testing import assert_allclose
import pytest
from robot_cases import CASES
from rolling_controller import run_batch, run_lockstep
from rolling_controller.gait_following.gait_follower import read_gaits
from rolling_controller.gait_following.reference_loop import LeanGains
from rolling_controller.law import Following, StateFeedback, VELOCITY
from rolling_controller.mass_driven_velocity import GAIN
from rolling_controller.robot_laws.regulator import DEFAULT, robot_kind
from rolling_controller.tracker import Tracker
from rolling_dynamics.errors import CancelledError, ParameterError
from rolling_dynamics.plugin import roles
from rolling_dynamics.robots.view import robot_view
from rolling_planner.gait_planner.plan_gaits import plan_gaits
from rolling_planner.gait_planner.problem import read_gait_problem
from rolling_planner.plan import check_plan_fits

# where the contact's x stands in the state, the speed, and for how long
DRIVEN = {
    'point_mass_disk': (-1, 0.3, 3.0),
    'pendulum_sphere': (0, 0.3, 2.0),
    'spin_rolling_sphere': (0, 0.03, 0.5),
}


class Made:
    """A robot of a case, its laws, its plan, and its perturbed start."""

    def __init__(self, case, folder, **changed):
        self.case = case
        self.scenario, _ = case.load(folder)
        self.system, self.p = self.scenario.system, self.scenario.p
        kind = robot_kind(self.system.name)
        self.values = {o.name: o.default for o in kind.options} | changed
        self.laws = kind.make(self.scenario, self.values)
        self.tracker = Tracker(self.system, self.p, uncounted=self.laws.uncounted)
        self.plan = case.planned(self.scenario)
        if self.plan is None:
            return
        view = robot_view(self.system, self.p)
        d = view.shift @ np.array(case.position) + view.turn @ np.array(case.rotation)
        self.start = np.array(self.system.retract(self.plan.states[0], d)).ravel()

    def drift(self, law):
        """Return the error at the end of the plan, and of the time to settle, under a law."""
        self.tracker.begin(self.plan, Following(law, self.plan.times, self.plan.states))
        run = run_lockstep(
            self.system,
            self.p,
            self.start,
            law,
            self.plan.times[-1] + self.case.settle,
            rate=self.case.rate,
        )
        return self.tracker.goal_error(run.states[-1]), run


@pytest.fixture(scope='module', params=CASES)
def made(request, tmp_path_factory):
    return Made(CASES[request.param], tmp_path_factory.mktemp(request.param))


def test_feedback_is_better_than_none_from_a_perturbed_start(made):
    plan = made.plan  # no control after its end
    played = StateFeedback(made.system, lambda t, _, u: (t < plan.times[-1]) * u, plan.control_at)
    opened, _ = made.drift(played)
    closed, run = made.drift(made.laws.follow(made.plan).law)
    assert closed < opened / made.case.better
    assert np.all(np.abs(run.controls) <= made.scenario.control_limits)


def test_plan_is_kept_where_nothing_is_off(made):
    following = made.laws.follow(made.plan)
    run = run_lockstep(
        made.system,
        made.p,
        made.plan.states[0],
        following.law,
        made.plan.times[-1],
        rate=made.case.rate,
    )
    made.tracker.begin(made.plan, following)
    assert made.tracker.goal_error(run.states[-1]) < 0.1 * made.tracker.start_error(
        made.plan, made.plan.states[len(made.plan.times) // 2]
    )


def test_plan_of_another_kind_is_refused(made):
    other = dataclasses.replace(
        made.plan, state_names=tuple(f's{k}' for k in range(made.system.state.size))
    )
    with pytest.raises(ParameterError, match=r'plan.state_names must be'):
        check_plan_fits(other, made.system)
    with pytest.raises(ParameterError, match=r'plan.system must be'):
        check_plan_fits(dataclasses.replace(made.plan, system='contact'), made.system)


def driven(made, wanted, duration):
    """Return the motion of a robot that is driven from its start, forward and turn over time."""
    x = made.scenario.x0
    law = made.laws.drive(x, 0.0)

    def signals(t):
        forward, turn = wanted(t)
        return {VELOCITY: np.array([forward, 0.0, turn])}

    return run_lockstep(made.system, made.p, x, law, duration, rate=250.0, signals=signals)


@pytest.mark.parametrize('made', ['ball', 'disk', 'spin_rolling'], indirect=True)
def test_a_batch_follows_a_plan_as_one_motion_after_the_other(made):
    law, (a, b) = made.laws.follow(made.plan).law, (made.plan.states[0], made.start)
    given = law, made.plan.times[-1] / 2
    batch = run_batch(made.system, made.p, [a, b, a], *given, rate=made.case.rate)
    for start, states in ((b, batch.states[:, 1]), (a, batch.states[:, 2])):
        run = run_lockstep(made.system, made.p, start, *given, rate=made.case.rate)
        assert_allclose(states, run.states, atol=1e-9)


@pytest.mark.parametrize('made', ['disk', 'spin_rolling'], indirect=True)
def test_a_batch_is_driven_as_one_motion_after_the_other(made):
    x, (_, speed, _) = made.scenario.x0, DRIVEN[made.system.name]
    law, each = made.laws.drive(x, 0.1), speed * np.array([[1.0, -0.5], [0.2, 0.0], [1.0, 3.0]])
    options = {'duration': 0.5, 'rate': 250.0}
    batch = run_batch(
        made.system, made.p, [x, x], law, signals=lambda t: {VELOCITY: t * each}, **options
    )
    for k, command in enumerate(each.T):
        signals = lambda t, command=command: {VELOCITY: t * command}  # noqa: E731
        run = run_lockstep(made.system, made.p, x, law, signals=signals, **options)
        assert_allclose(batch.states[:, k], run.states, atol=1e-9)


@pytest.mark.parametrize('made', ['pendulum'], indirect=True)
def test_gaits_are_planned_on_the_way_and_in_no_batch(made):
    with pytest.raises(ParameterError, match='not a function of vectors: pursuit: the swing'):
        run_batch(made.system, made.p, [made.start], made.laws.follow(made.plan).law, 1.0)


@pytest.mark.parametrize('made', ['disk', 'pendulum', 'spin_rolling'], indirect=True)
def test_robot_is_driven_ahead_and_stopped(made):
    place, speed, duration = DRIVEN[made.system.name]
    run = driven(made, lambda t: (speed if t < duration else 0.0, 0.0), 2 * duration)
    velocity = np.gradient(run.states[:, place], run.times)
    kept = velocity[(run.times > 0.8 * duration) & (run.times < duration - 0.02)]
    assert np.mean(kept) == pytest.approx(speed, rel=0.15)
    assert np.abs(velocity[run.times > 1.9 * duration]).max() < 0.1 * speed


def test_velocity_turns_with_the_wanted_rate(tmp_path):
    made = Made(CASES['spin_rolling'], tmp_path)
    run = driven(made, lambda _: (0.1, np.pi / 2), 2.0)  # half a circle of radius 0.2 / pi
    moved = run.states[-1] - run.states[0]
    assert_allclose(moved[made.system.state.slice('contact_s')], [0.0, 0.4 / np.pi], atol=1e-3)
    assert run.controls[0] == pytest.approx([0.0, 5.0, np.pi / 2])


def test_ball_with_one_mass_is_not_driven(tmp_path):
    made = Made(dataclasses.replace(CASES['ball'], planned=lambda _: None), tmp_path)
    with pytest.raises(ParameterError, match='two masses on rails or more'):
        made.laws.drive(made.scenario.x0, 0.0)


def test_rolling_rate_is_bounded(tmp_path):
    made = Made(CASES['spin_rolling'], tmp_path, rolling_rate=0.05, spin_rate=0.5)
    run = driven(made, lambda _: (1.0, 2.0), 0.2)
    rolling = 0.02 * np.hypot(run.controls[:, 0], run.controls[:, 1])
    assert_allclose(rolling, 0.05)
    assert_allclose(run.controls[:, 2], 0.5)


def test_plan_that_is_no_sequence_of_gaits_is_refused(tmp_path):
    made = Made(CASES['pendulum'], tmp_path)
    where = made.system.state.slice('contact')
    states = made.plan.states.copy()
    states[:, where] *= 1.1
    with pytest.raises(ParameterError, match='not a sequence of gaits: contact at'):
        made.laws.follow(dataclasses.replace(made.plan, states=states))
    half = len(made.plan.times) // 8
    cut = {k: getattr(made.plan, k)[:half] for k in ('times', 'states', 'controls')}
    with pytest.raises(ParameterError, match='the pendulum does not rest'):
        made.laws.follow(dataclasses.replace(made.plan, contact_wrenches=np.zeros((0, 6)), **cut))


def test_held_torques_are_no_gaits_and_reading_them_ends_when_asked_to(tmp_path):
    made = Made(CASES['pendulum'], tmp_path)
    with pytest.raises(ParameterError, match=r"plan.interpolation is 'hold'"):
        made.laws.follow(dataclasses.replace(made.plan, interpolation='hold'))
    for calls in range(4):
        left = iter(range(calls))
        with pytest.raises(CancelledError):
            made.laws.follow(made.plan, lambda left=left: next(left, None) is None)


def test_gaits_are_read_back_as_they_were_planned(tmp_path):
    made = Made(CASES['pendulum'], tmp_path)
    planned = plan_gaits(read_gait_problem(made.scenario))
    read = read_gaits(planned.params, planned.to_plan())
    assert len(read.steps) == len(planned.steps)
    for a, b in zip(read.steps, planned.steps, strict=True):
        assert_allclose([a.start, a.end], [b.start, b.end], atol=1e-5)
        assert_allclose(a.swing.velocity_change, b.swing.velocity_change, atol=1e-5)
        assert_allclose(a.corner, b.corner, atol=1e-5)


def test_scenario_over_the_arc_length_is_refused(tmp_path):
    text = CASES['spin_rolling'].text.replace('angular_velocity: [0, 0, 0]', 'direction: {}')
    text = text[: text.index('plan:')]
    with pytest.raises(ParameterError, match='angular_velocity'):
        Made(dataclasses.replace(CASES['spin_rolling'], text=text), tmp_path)


def test_a_system_whose_plugin_names_no_laws_gets_the_default():
    assert robot_kind('machine') is DEFAULT
    assert robot_kind('pendulum_sphere') is not DEFAULT


def test_options_have_the_defaults_of_the_laws():
    kinds = [kind for _, kind in roles('law')]
    defaults = {f'{kind.group}.{o.name}': o.default for kind in kinds for o in kind.options}
    assert defaults['pendulum.position_gain'] == LeanGains.position
    assert defaults['pendulum.velocity_gain'] == LeanGains.velocity
    assert defaults['point_mass.velocity_gain'] == GAIN
