"""A node whose loop keeps time says that it compiles, and is active when it has."""

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
import pytest
from rolling_dynamics.compiled import compiler
from rolling_node_kit.qos import EVENT

SCENARIO = 'ball_on_plate_hard.yaml'
LONG = 60.0  # for what compiles [s]

pytestmark = pytest.mark.skipif(compiler() is None, reason='no C compiler')


@pytest.fixture
def gate(tmp_path):
    """Return a file without which the compiler waits."""
    return tmp_path / 'gate'


@pytest.fixture
def start(run_process, ros_environment, gate, tmp_path, monkeypatch):
    """Start a node whose functions are compiled behind, into an empty cache."""
    script = tmp_path / 'compiler'
    script.write_text(
        f'#!/bin/sh\nwhile [ ! -e {gate} ]; do sleep 0.05; done; {compiler()} "$@"\n'
    )
    script.chmod(0o700)
    for name, value in {
        'CC': str(script),
        'ROLLING_CACHE_DIR': str(tmp_path / 'cache'),
        'ROLLING_COMPILE': 'behind',
    }.items():
        monkeypatch.setitem(ros_environment, name, value)

    def run(module, **params):
        values = {'scenario_file': SCENARIO, 'diagnostics_period': 0.1, **params}
        made.append(run_process(module, params=values))
        return made[-1]

    made = []
    yield run
    gate.touch()  # what compiles ends
    for node in made:
        node.stop()


def state(peer, node):
    return peer.call(GetState, f'{node}/get_state', GetState.Request()).current_state.id


def told(peer, text):
    def accept(message):
        return message.status[0].message.startswith(text)

    return peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=accept, timeout=LONG)[0]


@pytest.mark.parametrize('name', ['simulator', pytest.param('controller', marks=pytest.mark.slow)])
def test_node_says_that_it_compiles_and_becomes_active(peer, start, gate, name):
    package = {'simulator': 'rolling_dynamics', 'controller': 'rolling_controller'}[name]
    start(f'{package}.nodes.{name}_node')
    told(peer, 'inactive; compiling')
    assert state(peer, name) == State.PRIMARY_STATE_INACTIVE  # and it answers
    gate.touch()
    told(peer, {'simulator': 'rolling', 'controller': 'waiting'}[name])
    assert state(peer, name) == State.PRIMARY_STATE_ACTIVE


@pytest.mark.slow
def test_transition_asked_for_by_others_waits(peer, start, gate):
    node = start('rolling_dynamics.nodes.simulator_node', autostart=False)
    client = peer.node.create_client(ChangeState, 'simulator/change_state')
    assert client.wait_for_service(timeout_sec=LONG)

    def change(transition):
        request = ChangeState.Request(transition=Transition(id=transition))
        return peer.in_turn(client.call_async, request)

    # the answers find their way from here on: a transition cannot be asked for twice
    unknown = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_DEACTIVATE))
    assert not peer.answered(client.call_async, unknown, timeout=LONG).success
    assert peer.wait(change(Transition.TRANSITION_CONFIGURE), LONG).success
    answer = change(Transition.TRANSITION_ACTIVATE)
    told(peer, 'activating; compiling')
    assert not answer.done()
    gate.touch()
    assert peer.wait(answer, LONG).success
    assert state(peer, 'simulator') == State.PRIMARY_STATE_ACTIVE
    assert node.popen.poll() is None
