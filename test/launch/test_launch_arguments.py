"""What launch files do with their arguments, beside stand-ins for launch and launch_ros."""

import importlib
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from rolling_dynamics.configuration import find_config
from rolling_dynamics.errors import ParameterError

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
    with pytest.raises(ParameterError, match=r"no file 'nowhere.yaml'"):
        first_action(launching, 'nowhere.yaml')
    launching.Node.assert_not_called()


def test_a_params_file_is_found_by_name(launching):
    context = first_action(launching, 'damping.yaml')
    assert context.launch_configurations == {'params_file': str(find_config('damping.yaml'))}
