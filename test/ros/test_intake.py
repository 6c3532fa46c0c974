"""Which states a loop answers, which plans it takes, and what a goal asks of the planner."""

from types import SimpleNamespace

from geometry_msgs.msg import Point, PoseStamped
import numpy as np
import pytest
from rolling_controller.nodes import intake
from rolling_controller.nodes.plan_following import accepted_plan
from rolling_dynamics.contract import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_interfaces.action import PlanRolling
from rolling_node_kit import polled_subscription
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_planner import Plan
from rolling_planner.nodes.conversions import plan_to_message
from rolling_planner.nodes.goal_request import check_system, goal_job, split_start

# -- states -------------------------------------------------------------------------------------


class States:
    """States that a test states."""

    def __init__(self, timeout=0.5, sim_time=False, patient=False):
        self.now, self.age, self.polled, self.clock = None, 0.0, 0, 100.0
        self.measured = SimpleNamespace(state=lambda: self.now, age=0.0, refused='')
        self.warnings = []
        machine = SimpleNamespace(poll=self.poll, measured=self.measured)
        self.equipment = SimpleNamespace(
            machine=machine,
            timeout=timeout,
            once=sim_time,
            patient=patient,
            stale_text=lambda _: 'too old',
            warn=self.warnings.append,
        )

    def poll(self):
        self.polled += 1
        self.measured.age = self.age

    def monotonic(self):
        return self.clock


@pytest.fixture
def taken(monkeypatch):
    """Return a function that makes an intake, and the states that it takes from."""

    def made(**given):
        states = States(**given)
        monkeypatch.setattr(intake, 'time', states)
        return intake.Intake(states.equipment), states

    return made


def test_fresh_states_are_answered_and_their_worst_age_is_kept(taken):
    taking, states = taken()
    for age, worst in ((0.25, 0.25), (0.5, 0.5), (0.0, 0.5)):
        states.now, states.age = (7, np.ones(2)), age
        assert taking.take() is states.now
        assert (taking.stale, taking.worst_age) == ('', worst)
    assert states.polled == 3


def test_in_simulated_time_each_stamp_is_answered_once(taken):
    for sim_time in (True, False):
        taking, states = taken(sim_time=sim_time)
        assert (taking.take(), taking.worst_age) == (None, 0.0)
        for stamp in (0, 5, 4):
            states.now = stamp, np.ones(2)
            assert taking.take() is states.now
            assert (taking.take() is None) == sim_time
        assert taking.stale == ''


def test_a_first_state_has_the_timeout_to_come_and_later_ones_too(taken):
    taking, states = taken(timeout=0.5)
    states.age = np.inf
    for clock in (100.0, 100.5):
        states.clock = clock
        assert taking.take() is None
        assert taking.stale == ''
    states.now, states.age = (7, np.ones(2)), 0.1
    states.clock = 200.0
    assert taking.take() is states.now
    states.age = 0.5001
    assert taking.take() is None
    assert taking.stale == 'too old'
    assert taking.worst_age == 0.1


def test_patient_equipment_waits_for_its_first_state_only(taken):
    taking, states = taken(timeout=0.5, patient=True)
    states.age = np.inf
    for clock in (100.0, 200.0, 300.0):
        states.clock = clock
        assert taking.take() is None
        assert taking.stale == ''
    states.now, states.age = (7, np.ones(2)), 0.0
    assert taking.take() is states.now
    states.age, states.clock = 0.6, 300.6
    taking.take()
    assert taking.stale == 'too old'


def test_the_time_to_come_counts_from_the_first_look(taken):
    taking, states = taken(timeout=0.5)
    states.age, states.clock = 0.6, 200.0
    assert taking.take() is None
    assert taking.stale == ''
    states.clock = 200.5001
    assert taking.take() is None
    assert taking.stale == 'too old'


def test_from_half_of_the_timeout_on_states_are_late(taken):
    """It is logged once, and each time for the diagnostics; not before a first state came."""
    taking, states = taken(timeout=0.5)
    states.age = 0.3
    taking.take()
    states.now, states.age = (7, np.ones(2)), 0.25
    taking.take()
    assert (states.measured.refused, states.warnings) == ('', [])
    for _ in range(2):
        states.age, states.measured.refused = 0.26, ''
        taking.take()
        assert (states.measured.refused, states.warnings) == ('too old', ['too old'])
    assert taking.stale == ''


def test_a_state_is_late_beyond_half_of_the_timeout_whatever_its_stamp(taken):
    taking, states = taken(timeout=0.5)
    states.now = 0, np.ones(2)
    for age in (0.0, 0.2, 0.25):
        states.age = age
        assert taking.take() is states.now
        assert (states.measured.refused, states.warnings) == ('', [])
    states.age = 0.2500001
    taking.take()
    assert states.warnings == ['too old']


def test_patience_ends_with_the_first_state_whatever_its_stamp(taken):
    taking, states = taken(timeout=0.5, patient=True)
    states.now = 0, np.ones(2)
    assert taking.take() is states.now
    states.age, states.clock = 0.6, 100.6
    taking.take()
    assert taking.stale == 'too old'


def test_what_is_reported_of_a_late_state_knows_when_it_was_looked_for(taken):
    """The first look is one without a time before it."""
    for begin, looked in ((100.0, []), (100.0, [100.125])):
        taking, states = taken(timeout=0.5)
        states.equipment.stale_text = lambda since: f'looked {since:.3f} s apart'
        states.clock, states.now = begin, (7, np.ones(2))
        for clock in looked:
            taking.take()
            states.clock = clock
        states.age = 0.4 if looked else 0.0
        taking.take()
        assert states.warnings == ['looked 0.125 s apart'] * len(looked)
    states.age, states.clock = 0.6, 100.625
    taking.take()
    assert taking.stale == 'looked 0.500 s apart'


@pytest.mark.parametrize(
    ('silent', 'transport', 'looked', 'cause'),
    [
        (0.4, 0.001, 0.001, 'the publisher'),
        (0.1, 0.3, 0.001, 'the transport'),
        (0.4, 0.001, 0.39, 'this thread'),
    ],
)
def test_a_late_state_is_put_down_to_one_part(monkeypatch, silent, transport, looked, cause):
    now = 10**18
    monkeypatch.setattr(polled_subscription.time, 'time_ns', lambda: now)
    topic = object.__new__(polled_subscription.PolledSubscription)
    topic.topic, topic.received = 'hand/odometry', now - round(silent * 1e9)
    topic.sent = topic.received - round(transport * 1e9)
    assert topic.lateness(silent + transport, looked) == (
        f'{cause} was late: nothing came on hand/odometry for {silent:.3f} s, the newest message '
        f'took {transport * 1e3:.1f} ms, and this thread looked {looked * 1e3:.1f} ms apart'
    )


# -- plans --------------------------------------------------------------------------------------

CART = SimpleNamespace(
    name='cart',
    model_hash='1',
    state=Layout((Entry('s', ('s',), 'm'), Entry('v', ('v',), 'm/s'))),
    control=Layout((Entry('u', ('u',), 'm/s^2'),)),
)
NOW = 1_790_000_000 * 10**9


def accept(stamp=0, times=(0.0, 1.0, 2.5), model_hash='1', **values):
    """Return the plan of a message that a controller is given."""
    plan = Plan(
        system='cart',
        model_hash=model_hash,
        state_names=('s', 'v'),
        control_names=('u',),
        times=times,
        states=np.zeros((len(times), 2)),
        controls=np.ones((len(times), 1)),
    )
    known = {'plan_stamp_tolerance': 5.0, 'max_plan_duration': 2.5, 'require_model_hash': True}
    message = plan_to_message(plan, nanoseconds_to_time(stamp), 'world')
    return accepted_plan(message, CART, known | values, NOW)


def no_plan(**given):
    with pytest.raises(ParameterError) as refused:
        accept(**given)
    return str(refused.value)


@pytest.mark.parametrize('late', [-5.0, 0.0, 5.0])
def test_a_plan_for_about_now_is_taken(late):
    for stamp in (0, NOW + round(late * 1e9)):
        plan = accept(stamp)
        assert (plan.times.tolist(), plan.controls.ravel().tolist()) == ([0.0, 1.0, 2.5], [1] * 3)


@pytest.mark.parametrize('late', [-5.000001, 5.000001, -1e9])
def test_a_plan_for_another_time_is_refused(late):
    stamp = NOW + round(late * 1e9)
    assert no_plan(stamp=stamp) == (
        f'plan.header.stamp is {stamp * 1e-9:.9g} s, the clock of this node 1.79e+09 s; '
        'plan_stamp_tolerance allows 5 s between them. A plan with stamp 0 starts when it is '
        'accepted'
    )


def test_a_plan_that_begins_late_or_is_too_long_is_refused():
    assert no_plan(times=(0.05, 1.0)) == (
        'plan.times must start at 0, got 0.05: subtract the first time from all, and give the '
        'start of the motion as header.stamp'
    )
    assert no_plan(times=(0.0, 2.51)) == 'the plan lasts 2.51 s; max_plan_duration allows 2.5 s'


def test_a_plan_of_other_equations_is_refused():
    assert no_plan(model_hash='').startswith('plan.model_hash is empty')
    assert accept(model_hash='', require_model_hash=False).model_hash == ''
    assert no_plan(model_hash='2').startswith("plan.model_hash is '2', this node runs '1'")


# -- goals --------------------------------------------------------------------------------------

PLACE = Entry('place', ('x', 'y'), 'm')
SPEED = Entry('v', ('v',), 'm/s')


def model(**given):
    values = {
        'methods': ('direct', 'seeded'),
        'takes_waypoints': True,
        'takes_keep_out': True,
        'has_own_goal': False,
        'finds_duration': False,
        'goal_entries': lambda of: {'a_scenario': [PLACE, SPEED]}[of.name],
        'goal_at': lambda of, place: dict(zip(of.places, place, strict=False)),
    }
    scenario = SimpleNamespace(system=SimpleNamespace(name='cart'), name='a_scenario', places='xy')
    return SimpleNamespace(planner=SimpleNamespace(**values | given), scenario=scenario)


def goal(**given):
    values = {'goal_names': ['x', 'y', 'v'], 'goal_values': [1.0, 2.0, 3.0], 'horizon': 4.0}
    return PlanRolling.Goal(**values | given)


def job(request, of=None, **options):
    return goal_job(request, of or model(), options, 'world', 9.0)


def refusal(request, of=None):
    with pytest.raises(ParameterError) as refused:
        job(request, of)
    return str(refused.value)


def pose(x=0.0, y=0.0, z=0.0, frame=''):
    made = PoseStamped()
    made.header.frame_id = frame
    made.pose.position.x, made.pose.position.y, made.pose.position.z = x, y, z
    return made


def test_a_goal_becomes_a_job():
    made = job(goal(planner_id='seeded', system='cart'), segments=5)
    assert made.pop('waypoints').shape == made.pop('keep_out').shape == (0, 3)
    assert made == {
        'goal': {'place': [1.0, 2.0], 'v': [3.0]},
        'horizon': 4.0,
        'method': 'seeded',
        'options': {'segments': 5},
    }


@pytest.mark.parametrize('taken', [False, True])
def test_controls_among_the_names_of_a_start_are_those_in_force(taken):
    of = model(takes_start_controls=taken)
    of.scenario.system.control = SimpleNamespace(names=['force', 'turn'])
    start = {'x': 1.0, 'turn': 2.0, 'v': 3.0}
    request = goal(start_names=[*start], start_values=[*start.values()])
    in_force = {'turn': start.pop('turn')} if taken else {}
    assert split_start(request, of) == (start, in_force)
    request.start_values[-1] = np.nan
    with pytest.raises(ParameterError, match=r"^start_values: 'v' must be finite"):
        split_start(request, of)


def test_budget_and_least_tolerance_are_options():
    request = goal(time_budget=0.5, goal_tolerances=[0.3, 0.1, 0.2])
    assert job(request, time_budget=7.0, other=1)['options'] == {
        'time_budget': 0.5,
        'goal_tolerance': 0.1,
        'other': 1,
    }
    options = {'time_budget': 7.0}
    assert job(goal(), **options)['options'] == options
    assert goal_job(request, model(), options, 'world', 9.0)['options'] != options
    assert options == {'time_budget': 7.0}  # those of the node stay
    text = refusal(goal(goal_tolerances=[0.3, 0.0, 0.2]))
    assert text == 'goal_tolerances must be positive, got 0'
    text = refusal(goal(goal_tolerances=[0.3, 0.2]))
    assert text.startswith('goal_tolerances_values must have one number for each of the 3 names')


def test_another_system_or_method_is_refused():
    with pytest.raises(ParameterError) as refused:
        check_system('barrow', model())
    wanted = "system must be 'cart', that of the scenario a_scenario, got 'barrow'"
    assert str(refused.value) == wanted
    assert refusal(goal(system='barrow')) == wanted
    check_system('', model())
    text = "planner_id must be empty or one of direct, seeded, got 'magic'"
    assert refusal(goal(planner_id='magic')) == text
    assert job(goal())['method'] == ''


@pytest.mark.parametrize('bad', [0.0, -1.0, np.nan, np.inf])
def test_times_that_make_no_sense_are_refused(bad):
    assert refusal(goal(horizon=bad)) == f'horizon must be positive and finite [s], got {bad!r}'
    assert job(goal(horizon=1e-3))['horizon'] == 1e-3
    free = model(finds_duration=True)
    if bad == 0.0:
        assert job(goal(horizon=0.0), free)['horizon'] == 0.0
        assert 'time_budget' not in job(goal(time_budget=0.0))['options']
        return
    text = f'must be zero or positive and finite [s], got {bad!r}'
    assert refusal(goal(horizon=bad), free) == f'horizon {text}'
    assert refusal(goal(time_budget=bad)) == f'time_budget {text}'


def test_a_goal_that_names_nothing_is_refused():
    nothing = goal(goal_names=[], goal_values=[])
    assert refusal(nothing) == 'goal_names is empty; name states of the goal: x, y, v'
    assert job(nothing, model(has_own_goal=True))['goal'] == {}
    places = goal(goal_names=[], goal_values=[], waypoints=[pose(1.0)])
    assert job(places)['goal'] == {}
    assert refusal(goal(goal_values=[1.0])).startswith('goal_values must have one number')
    assert refusal(goal(goal_names=['x', 'y', 'w'])).startswith("goal_names: no state 'w'")


def test_waypoints_are_positions_in_the_frame_of_the_world():
    made = job(goal(waypoints=[pose(1, 2, 3), pose(4, 5, 6, 'world')]))
    assert made['waypoints'].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert made['horizon'] == 4.0
    text = "waypoints[1]: frame_id must be 'world', got 'hand'"
    assert refusal(goal(waypoints=[pose(), pose(frame='hand')])) == text
    text = 'waypoints[1] must be finite [m], got [0.0, nan, 0.0]'
    assert refusal(goal(waypoints=[pose(), pose(y=np.nan), pose()])) == text


def test_one_waypoint_is_a_place_to_a_planner_that_takes_none():
    planner = model(takes_waypoints=False)
    place = goal(goal_names=[], goal_values=[], waypoints=[pose(1.0, 2.0, 3.0)], horizon=0.0)
    made = job(place, planner)
    assert (made['goal'], made['horizon']) == ({'place': [1.0, 2.0]}, 9.0)
    assert made['waypoints'].shape == (0, 3)
    place.horizon = 5.0
    assert job(place, planner)['horizon'] == 5.0
    text = 'waypoints are not for the planner of cart; leave them empty and plan from point to '
    place.waypoints = [pose(), pose()]
    assert refusal(place, planner) == f'{text}point'
    assert refusal(goal(waypoints=[pose()]), planner) == f'{text}point'
    place.waypoints = [pose()]
    nowhere = model(takes_waypoints=False, goal_at=lambda *_: {})
    assert refusal(place, nowhere) == f'{text}point'


def test_circles_to_keep_out_of_are_pairs_of_centre_and_positive_radius():
    centres = [Point(x=1.0, y=2.0, z=9.0), Point(x=3.0, y=4.0)]
    made = job(goal(keep_out_centers=centres, keep_out_radii=[0.5, 0.25]))
    assert made['keep_out'].tolist() == [[1, 2, 0.5], [3, 4, 0.25]]
    text = 'keep_out_radii must have one number for each of keep_out_centers, got 1 and 2'
    assert refusal(goal(keep_out_centers=centres, keep_out_radii=[0.5])) == text
    for bad in (0.0, -1.0, np.nan):
        text = refusal(goal(keep_out_centers=centres, keep_out_radii=[0.5, bad]))
        assert text == f'keep_out_radii[1] must be positive [m], got {bad!r}'
    text = 'keep_out_centers[0] must be finite [m], got [1.0, inf, 0.5]'
    odd = [Point(x=1.0, y=np.inf)]
    assert refusal(goal(keep_out_centers=odd, keep_out_radii=[0.5])) == text
    without = model(takes_keep_out=False)
    assert job(goal(), without)['keep_out'].shape == (0, 3)
    text = refusal(goal(keep_out_centers=centres, keep_out_radii=[0.5, 0.5]), without)
    assert text == (
        'keep_out_centers are not for the planner of cart; leave them empty, and limit states in '
        'the section plan of the scenario'
    )
