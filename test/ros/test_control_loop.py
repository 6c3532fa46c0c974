"""What ends a control loop, what limits its commands, and what a machine gets at the end."""

from dataclasses import replace
import math
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from rolling_controller.law import FunctionLaw, TOUCHING
from rolling_controller.motion_watch import Unwatched
from rolling_controller.nodes import driving, plan_following
from rolling_controller.nodes.control_loop import CODES, ControlLoop, Task
from rolling_controller.nodes.driving import BetweenPlans, Driving, MOVED, STILL, Wanted
from rolling_controller.nodes.equipment import LoopEquipment
from rolling_controller.nodes.execution import Hold
from rolling_controller.nodes.machines import braking
from rolling_controller.nodes.plan_following import PlanFollowing
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.suite_node import ERROR, OK

MS = 1_000_000  # ns
CONTROL = Layout((Entry('u', ('u', 'w'), 'm/s^2'),))
STRONG = np.array([9.0, -9.0])


class Machine:
    """A machine whose states a test states; what is done with it stands in ``log``."""

    missing, polled, trouble, fault = 'nothing came', (), '', ''
    covariances = None

    def __init__(self):
        self.measured, self.log, self.age, self.stamp = self, [], 0.0, MS
        self.poll = lambda: None

    def state(self):
        return self.stamp, np.array([0.5, 1.0])

    def send(self, u, stamp):
        self.log.append(('send', u.tolist(), stamp))

    def await_acknowledgement(self, timeout):
        self.log.append(('await', timeout))

    def safe(self, x):
        return -x


NODE = SimpleNamespace(
    get_clock=lambda: SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=7 * MS))
)


@pytest.fixture
def machine():
    return Machine()


@pytest.fixture
def equipment(machine, monkeypatch):
    monkeypatch.setattr(
        LoopEquipment, 'loop', lambda *_: SimpleNamespace(start=lambda: None, stop=lambda: None)
    )
    watch = Unwatched()
    return LoopEquipment(
        machine=machine,
        predictor=watch,
        watch=watch,
        start=np.zeros(2),
        values={'state_timeout': 0.05, 'command_timeout': 0.2},
        once=False,
    )


def loop_of(equipment, **options):
    """Return a loop of a law that asks for much, and what it finishes with."""
    ends = []
    law = FunctionLaw(Layout((TOUCHING,)), CONTROL, lambda z, *_: (z, STRONG))
    task = Task(law=law, finish=lambda *end: ends.append(end), **options)
    return ControlLoop(NODE, equipment, task), ends


def test_a_fault_of_the_states_ends_the_loop_before_a_command(machine, equipment):
    loop, ends = loop_of(equipment)
    assert loop.tick()
    assert len(machine.log) == 1
    machine.stamp, machine.fault = 2 * MS, 'the picture stands still'
    assert not loop.tick()
    assert ends == [(CODES.STALE_STATE, 'states are not plausible: the picture stands still')]
    assert loop.fault == 'the picture stands still'
    assert not loop.tick()
    assert len(machine.log) == 1
    assert len(ends) == 1


@pytest.mark.parametrize('mode', [RollingContact.MODE_SEPARATED, RollingContact.MODE_SLIPPING])
def test_a_contact_that_is_lost_ends_the_loop_before_a_command(machine, equipment, mode):
    loop, ends = loop_of(equipment)
    loop.contact_mode = mode
    assert not loop.tick()
    assert ends == [(CODES.CONTACT_LOST, f'the contact was lost at 0.000 s: it is {mode}')]
    assert not machine.log
    loop, ends = loop_of(equipment, lost_modes=())
    loop.contact_mode = mode
    assert loop.tick()
    assert not ends


@pytest.mark.parametrize(
    ('first', 'mode', 'lost'),
    [
        ('rolling', 'rolling', False),
        ('rolling', 'slipping_left', True),
        ('rolling', 'separated_left', True),
        ('rolling', 'slipping_left_separated_right', True),
        ('separated_wall', 'separated_wall', False),
        ('separated', 'separated', False),
        ('separated_wall', 'rolling', False),
        ('separated_wall', 'slipping_left_separated_wall', True),
    ],
)
def test_one_of_several_contacts_is_lost(equipment, first, mode, lost):
    loop, ends = loop_of(replace(equipment, first_mode=first))
    loop.contact_mode = mode
    assert loop.tick() != lost
    assert [code for code, _ in ends] == [CODES.CONTACT_LOST] * lost


def test_who_ends_a_loop_that_is_ending_waits_for_its_thread(equipment):
    """Else two loops would wait for states at once, and both command the machine."""
    stopped = []
    loop, ends = loop_of(equipment)
    loop.loop.stop = lambda: stopped.append(threading.current_thread().name)
    loop.end(CODES.CANCELLED, 'first')
    thread = threading.Thread(target=loop.end, args=(CODES.NONE, 'second'), name='second')
    thread.start()
    thread.join(60)
    assert stopped == ['MainThread', 'second']
    assert ends == [(CODES.CANCELLED, 'first')]


class Held:
    """A hold that a test ends; what is done with it stands in ``log``."""

    holds, keeps, ended, safe = True, True, '', True

    def __init__(self, _node, _equipment, law, _wanted, held, _about):
        self.law, self.log = law, []
        self.control = SimpleNamespace(answers=SimpleNamespace(memory=law))
        self.moved = lambda: held(self, MOVED)

    def stop(self):
        self.log.append(self.safe)


@pytest.fixture
def between(monkeypatch):
    monkeypatch.setattr(driving, 'Driving', Held)
    monkeypatch.setattr(driving, 'GoingOn', lambda law, *_: law)
    measured = SimpleNamespace(fault='', replaced=False)
    machine = SimpleNamespace(measured=measured, holds_at=())
    equipment = SimpleNamespace(machine=machine, present=np.array('there'))
    said = SimpleNamespace(info=lambda _: None)  # no warning: a user put it there
    node = SimpleNamespace(get_logger=lambda: said)
    entered, go = threading.Event(), threading.Event()

    def stand(place):
        entered.set()
        go.wait(60)
        return f'hold {place}'

    out = BetweenPlans(node, equipment, SimpleNamespace(stand=stand))
    out.hold(Hold('hold here', {}))
    return out, entered, go


def test_a_plan_that_comes_while_a_hold_begins_anew_takes_over_the_new_one(between):
    between, entered, go = between
    first, handed = between.driving, []
    moved = threading.Thread(target=first.moved)
    taking = threading.Thread(target=lambda: handed.append(between.standing()))
    moved.start()
    assert entered.wait(60)
    taking.start()
    taking.join(0.1)
    assert taking.is_alive()  # a loop that it does not know of would go on
    go.set()
    moved.join(60)
    taking.join(60)
    ((before, *_),) = handed
    assert before == 'hold there'
    assert between.driving is None
    assert not first.log


@pytest.mark.parametrize('safe', [False, True])
def test_a_hold_that_was_stopped_does_not_begin_anew(between, safe):
    between, entered, go = between
    go.set()
    first = between.driving
    between.stop(safe=safe)
    assert first.log == [safe]
    assert first.moved() is not safe  # a safe command is then due
    assert between.driving is None
    assert not entered.is_set()


@pytest.mark.parametrize(
    ('reason', 'level', 'kind'), [(MOVED, OK, 'info'), ('it fell', ERROR, 'error')]
)
def test_a_machine_that_a_user_moved_is_no_error(equipment, reason, level, kind):
    """Where nothing holds it, it waits as before it was held."""
    said = []
    log = {name: lambda text, name=name: said.append((name, text)) for name in ('info', 'error')}
    node = SimpleNamespace(**vars(NODE), get_logger=lambda: SimpleNamespace(**log))
    held = SimpleNamespace(
        name='holding', safe=True, ended='', holds=True, _node=node, _equipment=equipment
    )
    held._held = lambda *_: False
    Driving._finish(held, CODES.NONE, reason)
    assert said == [(kind, f'holding ended: {reason}')]
    between = SimpleNamespace(driving=held, holding=False, _refused='')
    assert BetweenPlans.health(between, OK, 'waiting', {})[0] == level


def test_a_command_on_its_way_goes_before_the_end(machine, equipment):
    """The end waits for a command that is being sent, so that the safe one follows it."""
    loop, ends = loop_of(equipment)
    entered, asked, go, done = (threading.Event() for _ in range(4))

    def send(*_):
        entered.set()
        go.wait(60)
        machine.log.append(('sent', list(ends)))

    def end():
        entered.wait(60)
        asked.set()
        loop.end(CODES.CANCELLED, 'asked to stop')
        done.set()

    machine.send = send
    threads = [threading.Thread(target=target) for target in (loop.tick, end)]
    for thread in threads:
        thread.start()
    asked.wait(60)
    done.wait(0.2)  # time to overtake
    go.set()
    for thread in threads:
        thread.join(60)
    assert machine.log == [('sent', [])]
    assert ends == [(CODES.CANCELLED, 'asked to stop')]
    assert not loop.tick()
    assert len(machine.log) == 1


def test_an_end_that_fails_is_reported(equipment):
    """Whoever waits for a run whose machine cannot be brought to rest gets the cause."""
    lines, failed = [], []

    def finish(*_):
        raise OSError('the motors do not answer')

    logger = SimpleNamespace(error=lines.append)
    node = SimpleNamespace(get_clock=NODE.get_clock, get_logger=lambda: logger)
    law = FunctionLaw(Layout((TOUCHING,)), CONTROL, lambda z, *_: (z, STRONG))
    loop = ControlLoop(node, equipment, Task(law=law, finish=finish, failed=failed.append))
    loop.end(CODES.CANCELLED, 'asked to stop')
    assert failed == lines == ["what ends control failed: OSError('the motors do not answer')"]


def test_a_command_stays_within_the_limits(machine, equipment):
    loop, _ = loop_of(equipment, limits=np.array([2.0, 3.0]))
    loop.tick()
    free, _ = loop_of(equipment)
    free.tick()
    assert [sent[1] for sent in machine.log] == [[2.0, -3.0], STRONG.tolist()]


def test_a_machine_that_is_brought_to_rest_has_got_its_command(machine, equipment):
    rest = equipment.bring_to_rest(NODE)
    (sent, waited) = machine.log
    assert sent == ('send', [-0.5, -1.0], 7 * MS)
    assert waited[0] == 'await'
    assert waited[1] > 0.0
    assert rest.tolist() == [0.5, 1.0]


def test_braking_is_limited():
    speeds, limits = np.array([1.0, -1.0, 0.1]), np.array([2.0, 3.0, 4.0])
    assert braking(speeds, 0.1, limits) == pytest.approx([-2.0, 3.0, -1.0])
    assert braking(speeds, 0.1, None) == pytest.approx([-10.0, 10.0, -1.0])


def test_a_velocity_that_is_old_is_one_to_stand_still(equipment, monkeypatch):
    now = SimpleNamespace(time=100.0)
    monkeypatch.setattr(driving.time, 'monotonic', lambda: now.time)
    wanted = Wanted(np.array([0.3, 0.0, 0.1]), 100.0)
    held = SimpleNamespace(wanted=wanted, _equipment=equipment)
    for age, moves in ((0.0, True), (0.19, True), (0.21, False)):
        now.time = 100.0 + age
        velocity = Driving.velocity.fget(held)
        assert (velocity is wanted.velocity) == moves
        assert (velocity is STILL) != moves


@pytest.mark.parametrize(
    ('keeps', 'jumped', 'lost', 'end'),
    [
        (True, False, '', (CODES.CONTACT_LOST, '')),
        (True, True, '', (CODES.NONE, MOVED)),
        (True, False, 'slip', (CODES.CONTACT_LOST, 'it cannot be held any more: slip')),
        (False, True, 'slip', (CODES.CONTACT_LOST, '')),
    ],
)
def test_a_hold_ends_where_the_machine_was_moved_or_is_lost(equipment, keeps, jumped, lost, end):
    seen = []
    tracker = SimpleNamespace(
        jumped=lambda now, before: seen.append((now, before)) or jumped, lost=lambda *_: lost
    )
    tools = SimpleNamespace(watch=equipment.watch, tracker=tracker)
    loop = SimpleNamespace(measured='now')
    held = SimpleNamespace(keeps=keeps, _equipment=tools, _before='before', control=loop)
    code, reason, u = Driving._judge(held, 0.0, np.zeros(2), STRONG)
    assert (code, reason) == end
    assert u is STRONG
    assert held._before == 'now'
    assert seen == [('now', 'before')] * keeps


@pytest.mark.parametrize(('apart', 'taken'), [(0.09, True), (0.11, False), (math.nan, False)])
def test_a_plan_starts_near_the_present_state(monkeypatch, equipment, apart, taken):
    monkeypatch.setattr(plan_following, 'accepted_plan', lambda *_: 'the plan')

    async def fresh(*_):
        return MS, np.zeros(2)

    async def carry_out(*given):
        return given

    tools = SimpleNamespace(tracker=SimpleNamespace(start_error=lambda *_: apart))
    node = SimpleNamespace(
        equipment=tools,
        node=NODE,
        system=None,
        values={'start_tolerance': 0.1},
        _between=SimpleNamespace(make_way=lambda: None),
        _fresh_state=fresh,
        _carry_out=carry_out,
    )
    goal = SimpleNamespace(request=SimpleNamespace(plan=SimpleNamespace(times=[0.0, 1.0])))
    with pytest.raises(StopIteration) as ended:
        PlanFollowing._execute(node, goal).send(None)
    result = ended.value.value
    assert (result[1] == 'the plan') if taken else 'start_tolerance' in result.error_string
