"""Nodes that run are moved: `rolling execute`, a pose on `goal_pose`, and what README prints."""

from importlib import import_module
from pathlib import Path
import queue
import re
import shlex
import subprocess
import sys
import threading
import time

from deadline import Deadline
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
import pytest
import rclpy
from rclpy.action import ActionClient
from rclpy.experimental import EventsExecutor
from rolling_interfaces.action import ExecutePlan, PlanRolling
from rolling_node_kit.qos import EVENT, STREAM_READER
from rolling_robotics.bringup import Bringup, private_domain
from rolling_robotics.cli import main
from rolling_robotics.experiments import find_experiment
from rolling_robotics.nodes.client import Client
from rolling_robotics.nodes.live_view import GoalSender
import yaml

pytestmark = pytest.mark.ros
TURN = ['u_h=0', 'v_h=-0.033', 'q_HO_w=0.7071', 'q_HO_x=0.7071', 'q_HO_y=0', 'q_HO_z=0']
LONG = 120.0
RATE = 50.0  # Hz, of loops that go round while the tests wait; commands do not depend on it
README = Path(__file__).resolve().parents[2].joinpath('README.md').read_text()


@pytest.fixture(scope='module')
def nodes(tmp_path_factory):
    """Plant, planner and controller of a ball on a plate; yields domain, environment and logs."""
    logs = tmp_path_factory.mktemp('logs')
    with private_domain() as (domain, environment):
        bringup = Bringup(
            experiment=find_experiment('ball_on_plate'),
            environment=environment,
            use_sim_time=True,
            overrides={
                'simulator': {'rate': RATE, 'lockstep_timeout': 30.0},
                'controller': {'rate': RATE, 'state_timeout': 20.0},  # the plant waits
            },
            log_folder=logs,
        )
        with bringup:
            with Client(domain=domain, check=bringup.check) as client:
                client.wait_until_served(LONG)
            yield domain, environment, logs


@pytest.fixture(scope='module')
def domain(nodes):
    """Return the domain of the nodes, so that the peer of the tests is among them."""
    return nodes[0]


@pytest.fixture
def execute(nodes, monkeypatch, capfd):
    """Return a call of `rolling execute`; returns status, output and errors."""
    for name, value in nodes[1].items():
        monkeypatch.setenv(name, value)

    def call(*options):
        status = main(['execute', *options])
        out, errors = capfd.readouterr()
        assert 'Traceback' not in errors
        return status, out, errors

    return call


def reset(nodes):
    with Client(domain=nodes[0]) as client:
        client.reset((0.0, 0.0), (0.0, 0.0, 0.0))


def test_without_any_plan_it_says_where_one_comes_from(execute):
    status, out, _ = execute()
    assert status == 1
    assert 'no newest one came from plan_rolling' in out


def test_a_goal_is_planned_and_reached_and_its_plan_executed_again(nodes, execute):
    status, out, err = execute('--goal', *TURN, '--horizon', '2')
    assert status == 0, (out, err)
    assert 'planned 2 s of motion' in out
    assert 'the goal was reached' in out
    status, out, _ = execute()  # the ball is at the goal, no longer at the start
    assert status == 1
    assert 'away from the present state' in out
    reset(nodes)
    assert execute()[0] == 0


@pytest.mark.slow
def test_a_plan_from_a_file(nodes, execute, tmp_path):
    file = tmp_path / 'plan.json'
    assert main(['plan', 'ball_on_plate_hard', '--out', str(file)]) == 0
    reset(nodes)
    status, out, err = execute(str(file))
    assert status == 0, (out, err)


def test_unknown_names_are_told(execute):
    status, out, _ = execute('--goal', 'u_hand=0.1', '--horizon', '2')
    assert status == 1
    assert 'u_hand' in out
    assert 'u_h' in out


@pytest.mark.parametrize(
    ('options', 'text'),
    [
        (['--goal', 'u_h=1', 'u_h=2'], 'u_h is given twice'),
        (['--horizon', '2'], 'goes with --goal'),
        (['plan.json', '--goal', 'u_h=1'], 'not both'),
        (['missing.json'], 'missing.json'),
    ],
)
def test_what_makes_no_sense_is_refused(options, text, capsys):
    assert main(['execute', *options]) == 2
    assert text in capsys.readouterr().err


def filled(message, values):
    """Return a message with the fields that YAML names, as `ros2 action send_goal` fills them."""
    for name, value in values.items():
        kind = message.get_fields_and_field_types()[name]
        if isinstance(value, dict):
            filled(getattr(message, name), value)
        elif value and isinstance(value[0] if isinstance(value, list) else None, dict):
            package, _, name_of_kind = re.fullmatch(r'sequence<(.*)>', kind)[1].partition('/')
            element = getattr(import_module(f'{package}.msg'), name_of_kind)
            setattr(message, name, [filled(element(), v) for v in value])
        else:
            setattr(message, name, value)
    return message


@pytest.mark.slow  # motions of some seconds, in simulated time
def test_the_goals_that_readme_sends_are_reached(nodes, peer):
    reset(nodes)
    printed = re.findall(r'^ros2 action send_goal --feedback (.*)$', README, re.MULTILINE)
    kinds = {k.__name__: k for k in (PlanRolling, ExecutePlan)}
    assert len(printed) == 2
    for line in printed:
        name, kind, text = shlex.split(line)
        kind = kinds[kind.removeprefix('rolling_interfaces/action/')]
        client = ActionClient(peer.node, kind, name)
        handle = peer.send_goal(client, filled(kind.Goal(), yaml.safe_load(text)), timeout=LONG)
        result = peer.result(handle, LONG)
        assert result.error_code == kind.Result.NONE, result.error_string
    log = nodes[2].joinpath('controller.log').read_text()
    assert re.search(r'\[INFO\].* not correct errors of .*: this goal leaves them free', log)
    assert 'this goal needs them' not in log


@pytest.mark.slow  # likewise
def test_the_client_that_readme_prints_reaches_its_goal(nodes):
    reset(nodes)
    (code,) = re.findall(r'^```py\n(.*?)^```', README, re.DOTALL | re.MULTILINE)
    for _ in range(2):  # a server that does not know yet where its answers go drops them
        try:
            done = subprocess.run(
                [sys.executable, '-c', code],
                env=dict(nodes[1]),
                capture_output=True,
                text=True,
                timeout=LONG,
                check=False,
            )
        except subprocess.TimeoutExpired:
            continue
        assert 'reached' in done.stdout, done.stdout + done.stderr
        return
    pytest.fail('no answer')


@pytest.mark.slow
def test_goal_of_the_predictive_law_moves_on_the_way(nodes, peer):
    reset(nodes)
    publisher = peer.node.create_publisher(PoseStamped, 'goal_pose', EVENT)
    pose = PoseStamped()
    pose.pose.position.x, pose.pose.position.y = 0.06, 0.05
    with Client(domain=nodes[0]) as client:
        client.set_parameters('controller', {'law': 'predictive'})
        planned = client.plan({'u_h': 0.0, 'v_h': -0.05}, 2.0, lambda _: None, LONG)
        times = []
        done = client.follow(
            planned.plan, lambda m: times.append(m.time), LONG, lambda: publisher.publish(pose)
        )
        client.set_parameters('controller', {'law': 'lqr'})
    peer.node.destroy_publisher(publisher)
    assert (done.error_code, done.error_string) == (0, '')
    assert times[-1] > planned.plan.times[-1]
    state = dict(zip(done.final_state_names, done.final_state_values, strict=True))
    place = state['u_h'], state['v_h']
    assert place == pytest.approx((0.06, 0.05), abs=5e-3)


def test_a_pose_on_goal_pose_is_gone_to(nodes, peer):
    reset(nodes)
    publisher = peer.node.create_publisher(PoseStamped, 'goal_pose', EVENT)
    pose = PoseStamped()
    pose.pose.position.x, pose.pose.position.y = 0.05, -0.02

    stands = threading.Event()

    def is_there(message):
        place, speed = message.pose.pose.position, message.twist.twist.linear
        off = abs(place.x - 0.05) + abs(place.y + 0.02)
        slow = abs(speed.x) + abs(speed.y)
        (stands.set if slow < 1e-3 else stands.clear)()
        return off < 5e-3 and slow < 5e-3

    until(lambda: publisher.get_subscription_count() > 0)
    publisher.publish(pose)
    # A message may be lost, and a motion end where nodes wait for a processor: it is sent again
    # while the object stands elsewhere. Sent to one that moves, it is a motion in the next test.
    with peer.every(30.0, lambda: stands.is_set() and publisher.publish(pose)):
        peer.collect(Odometry, 'object/odometry', STREAM_READER, timeout=LONG, accept=is_there)
    peer.node.destroy_publisher(publisher)


@pytest.mark.slow  # an answer to a client this young may be dropped on a busy machine
def test_buttons_of_the_viewer_plan_and_execute(nodes):
    """What the buttons call, on the executor of the viewer; their browser is left out."""
    reset(nodes)
    told, context = queue.SimpleQueue(), rclpy.Context()
    rclpy.init(context=context, domain_id=nodes[0])
    node, executor = rclpy.create_node('viewer', context=context), EventsExecutor(context=context)
    sender = GoalSender(node)
    executor.add_node(node)
    turning = threading.Event()
    turning.set()
    thread = threading.Thread(target=spin_while, args=(executor, turning))
    thread.start()
    try:
        until(lambda: sender.is_served)
        sender.plan((0.03, 0.01, 0.0), told.put)
        assert told.get(timeout=LONG) == 'planning ...'
        assert told.get(timeout=LONG).startswith('planned: 2 s')
        sender.execute(told.put)
        assert told.get(timeout=LONG) == 'executing ...'
        assert told.get(timeout=LONG).startswith('reached')
    finally:
        turning.clear()
        thread.join(LONG)
        executor.shutdown(timeout_sec=0.0)
        node.destroy_node()
        rclpy.shutdown(context=context)


def spin_while(executor, turning):
    while turning.is_set():
        executor.spin_once(timeout_sec=0.1)


def until(condition):
    end = Deadline(LONG)
    while not condition():
        assert end.left > 0.0
        time.sleep(0.05)
