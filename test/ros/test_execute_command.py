"""`rolling execute` before nodes that run: a goal, the newest plan again, a plan from a file."""

import subprocess
import sys

import pytest
from rolling_robotics.bringup import Bringup, private_domain
from rolling_robotics.cli import main
from rolling_robotics.experiments import find_experiment
from rolling_robotics.nodes.demo_client import DemoClient

pytestmark = pytest.mark.ros
TURN = ['u_h=0', 'v_h=-0.033', 'q_HO_w=0.7071', 'q_HO_x=0.7071', 'q_HO_y=0', 'q_HO_z=0']
LONG = 120.0
PATIENT = {'simulator': {'lockstep_timeout': 30.0}, 'controller': {'state_timeout': 5.0}}


@pytest.fixture(scope='module')
def nodes(tmp_path_factory):
    """Plant, planner and controller of a ball on a plate; yields their domain and environment."""
    with private_domain() as (domain, environment):
        bringup = Bringup(
            experiment=find_experiment('ball_on_plate'),
            environment=environment,
            use_sim_time=True,
            overrides={
                'simulator': {'lockstep_timeout': 30.0},
                'controller': {'state_timeout': 5.0},
            },
            log_folder=tmp_path_factory.mktemp('logs'),
        )
        with bringup:
            with DemoClient(domain=domain, check=bringup.check) as client:
                client.wait_until_ready(LONG)
            yield domain, environment


@pytest.fixture
def execute(nodes):
    """Return a call of `rolling execute`; returns status, output and errors."""

    def call(*options):
        done = subprocess.run(
            [sys.executable, '-m', 'rolling_robotics.cli', 'execute', *options],
            env=dict(nodes[1]),
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )
        assert 'Traceback' not in done.stderr
        return done.returncode, done.stdout, done.stderr

    return call


def reset(nodes):
    with DemoClient(domain=nodes[0]) as client:
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
        (['--goal', 'u_h'], 'NAME=VALUE'),
        (['--goal', 'u_h=nan'], 'NAME=VALUE'),
        (['--goal', 'u_h=1', 'u_h=2'], 'twice'),
        (['--horizon', '2'], 'goes with --goal'),
        (['plan.json', '--goal', 'u_h=1'], 'not both'),
        (['--timeout', '-1'], 'positive'),
        (['missing.json'], 'missing.json'),
    ],
)
def test_what_makes_no_sense_is_refused(options, text, capsys):
    assert main(['execute', *options]) == 2
    assert text in capsys.readouterr().err
