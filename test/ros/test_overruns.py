"""Loops of the nodes that miss their deadlines, since the process stands still for a while."""

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import pytest
from rolling_node_kit.qos import EVENT
from std_srvs.srv import SetBool

LIMITS = {
    'overrun_window': 2.0,
    'overrun_warn': 0.25,  # a busy machine misses some
    'overrun_error': 0.3,
    'diagnostics_period': 0.1,
}
HARDWARE, DYNAMICS = 'rolling_hw_interface.nodes', 'rolling_dynamics.nodes'
FLAT = {'scenario_file': 'laboratory_flat.yaml'}
SLOW = {'rate': 50.0}  # on a busy machine too
NODES = {
    'simulator': (DYNAMICS, {'scenario_file': 'ball_on_plate_hard.yaml', **SLOW}),
    'hybrid_simulator': (
        DYNAMICS,
        {'scenario_file': 'laboratory_damping.yaml', 'motion': 'all_modes', **SLOW},
    ),
    'robot_simulator': (DYNAMICS, {'scenario_file': 'pendulum_turn.yaml', **SLOW}),
    'motor_bridge': (HARDWARE, SLOW),
    'emulated_motors': (DYNAMICS, {**FLAT, **SLOW, 'motion': 'on_arm'}),
    'estimator': (HARDWARE, {**FLAT, **SLOW}),
    'recorder': ('rolling_robotics.nodes', {}),
}
FAST = {'motor_bridge', 'simulator'}
ENDED = sorted(set(NODES) - {'recorder'})


def status_of(peer, name, accept):
    def found(message):
        status = message.status[0]
        return status.name == name and accept(status)

    return peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=found)[0].status[0]


def start(run_process, name, node, tmp_path):
    package, params = NODES[node]
    more = {'folder': tmp_path / 'bag'} if node == 'recorder' else {}
    executable = 'simulator' if package == DYNAMICS else node
    return run_process(
        f'{package}.{executable}_node',
        params={**params, **more, **LIMITS},
        arguments=('--ros-args', '-r', f'__node:={name}', '--'),
    )


def punctual(status):
    values = {v.key: v.value for v in status.values}
    return 'ticks' in values and 'missed' not in status.message


@pytest.mark.parametrize(
    'node', [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in NODES]
)
def test_missed_deadlines_are_told_and_may_end_the_work(
    peer, run_process, tmp_path, node, fault_row
):
    """An error in the diagnostics, and where it is asked for an end; one node does for both."""
    name = f'{node}_late'
    process = start(run_process, name, node, tmp_path)
    status_of(peer, name, punctual)
    told = fault_row(f'the process of the {node} is stopped for 1 s')
    process.stand_still()
    error = DiagnosticStatus.ERROR  # on a busy machine there are warnings before
    status = status_of(peer, name, lambda s: s.level == error and 'missed' in s.message)
    told(f'an error on /diagnostics: {status.message}')
    assert 'overrun_error is 30%' in status.message
    status_of(peer, name, punctual)  # what lies before the window is forgotten
    if node in ENDED:
        peer.set_parameters(name, overrun_abort=0.4)
        told = fault_row(f'the same, and overrun_abort of the {node} is 40 %')
        process.stand_still()
        process.wait_for('until ~/enable: ')
        told('it stops its work until ~/enable')
        status = status_of(peer, name, lambda s: 'overrun_abort is 40%' in s.message)
        assert status.level == DiagnosticStatus.ERROR
        assert peer.call(SetBool, f'{name}/enable', SetBool.Request(data=True)).success
        status_of(peer, name, lambda s: 'overrun_abort' not in s.message)
    assert process.stop() == 0
    assert 'Traceback' not in process.text
