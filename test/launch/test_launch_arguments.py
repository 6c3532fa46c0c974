"""What launch files do with their arguments, beside stand-ins for launch and launch_ros."""

import contextlib
import importlib.util
from pathlib import Path
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from rolling_dynamics.configuration import find_config, find_scenario
from rolling_dynamics.errors import ParameterError

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = ['', '.actions', '.conditions', '.event_handlers', '.events', '.substitutions']
LAUNCH_ROS = ['', '.actions', '.parameter_descriptions']


class LaunchConfiguration:
    """A launch argument."""

    def __init__(self, name):
        self.name = name

    def perform(self, context):
        return context.launch_configurations[self.name]


@pytest.fixture
def launching(monkeypatch):
    for package, modules in (('launch', LAUNCH), ('launch_ros', LAUNCH_ROS)):
        for module in modules:
            monkeypatch.setitem(sys.modules, package + module, MagicMock())
    sys.modules['launch.substitutions'].LaunchConfiguration = LaunchConfiguration
    name = 'rolling_robotics.nodes.launching'
    monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module(name)
    sys.modules.pop(name)


def first_action(launching, params_file):
    """Run what the launch file does first, and return its context."""
    launching.launch_description('ball_on_plate')
    context = SimpleNamespace(launch_configurations={'params_file': params_file})
    launching.OpaqueFunction.call_args_list[0].kwargs['function'](context)
    return context


def test_a_missing_params_file_is_an_error_before_any_node_starts(launching):
    with pytest.raises(ParameterError, match=r"^no file '/no/where.yaml'$"):
        find_config('/no/where.yaml')
    with pytest.raises(ParameterError, match=r"no file 'nowhere.yaml', neither .* in /.*config"):
        first_action(launching, 'nowhere.yaml')
    launching.Node.assert_not_called()


def test_a_params_file_is_found_by_name(launching):
    context = first_action(launching, 'damping.yaml')
    assert context.launch_configurations == {'params_file': str(find_config('damping.yaml'))}


def test_bridges_and_estimator_start_alone(launching):
    file = ROOT / 'launch' / 'hardware_interface.launch.py'
    spec = importlib.util.spec_from_file_location('launch_file', file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.generate_launch_description()
    context = SimpleNamespace(launch_configurations={'frame_prefix': ''})
    for call in launching.OpaqueFunction.call_args_list[2:3]:
        call.kwargs['function'](context)
    started = [call.kwargs['name'] for call in launching.Node.call_args_list]
    assert started == ['motor_bridge', 'vision_bridge', 'estimator']
    arguments = [call.args[0] for call in launching.DeclareLaunchArgument.call_args_list]
    assert 'params_file' in arguments
    assert 'hardware' not in arguments


@pytest.mark.parametrize(
    ('hardware', 'law', 'names'),
    [
        ('simulated', '', ['simulator', 'planner', 'controller']),
        ('emulated', 'predictive', ['simulator', 'planner', 'controller']),
        ('real', '', ['planner', 'controller']),
    ],
)
def test_one_launch_file_starts_the_robot_of_any_scenario(launching, hardware, law, names):
    """
    On its hardware there is no simulator, and the controller asks for finite limits.

    A law that is chosen overrides the file of parameters; one that is not leaves it alone.
    """
    file = ROOT / 'launch' / 'system.launch.py'
    spec = importlib.util.spec_from_file_location('launch_file', file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.generate_launch_description()
    choices = {c.args[0]: c.kwargs for c in launching.DeclareLaunchArgument.call_args_list}
    assert choices['hardware']['choices'] == ['simulated', 'emulated', 'real']
    given = {'frame_prefix': '', 'params_file': 'robot.yaml', 'scenario': 'two_wheeler'}
    given |= {'hardware': hardware, 'law': law}
    context = SimpleNamespace(launch_configurations=given)
    for call in launching.OpaqueFunction.call_args_list:
        if 'condition' not in call.kwargs:
            with contextlib.suppress(KeyError):  # of the recorder: there is no argument `record`
                call.kwargs['function'](context)
    nodes = {call.kwargs['name']: call.kwargs for call in launching.Node.call_args_list}
    assert list(nodes) == names
    given = {'scenario_file': str(find_scenario('two_wheeler'))}
    by_sensors = {'estimate_state': True}
    driven = {
        'simulated': {},
        'emulated': by_sensors,
        'real': {**by_sensors, 'publish_state': True, 'finite_limits': True},
    }[hardware]
    assert {**given, **driven} in nodes['controller']['parameters']
    assert all(given in nodes[name]['parameters'] for name in names if name != 'controller')
    taken = [name for name in names if {'law': law} in nodes[name]['parameters']]
    assert taken == ['controller'] * bool(law)
    context.launch_configurations['law'] = 'pid'
    with pytest.raises(ParameterError, match="law: two_wheeler has lqr, predictive, got 'pid'"):
        launching._nodes(context, launching.of_scenario(find_scenario('two_wheeler')))


@pytest.mark.parametrize(
    ('namespace', 'prefix'), [('', ''), ('left', 'left/'), ('/left', 'left/'), ('a/b', 'a/b/')]
)
def test_frames_begin_with_the_namespace_by_default(launching, namespace, prefix):
    launching.launch_description('ball_on_plate')
    declared = {c.args[0]: c.kwargs for c in launching.DeclareLaunchArgument.call_args_list}
    given = SimpleNamespace(launch_configurations={'namespace': namespace})
    parts = declared['frame_prefix']['default_value']
    text = ''.join(p if isinstance(p, str) else p.perform(given) for p in parts)
    context = SimpleNamespace(launch_configurations={'frame_prefix': text})
    assert launching._prefix(context) == prefix


def test_a_scenario_of_an_object_on_a_hand_is_refused(launching):
    with pytest.raises(ParameterError, match='is an object on a hand, not a rolling robot'):
        launching.of_scenario(find_scenario('ball_on_plate_hard'))
