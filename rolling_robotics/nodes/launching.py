"""The table of experiments as actions of launch; needs launch and launch_ros."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from launch.actions import DeclareLaunchArgument, EmitEvent, OpaqueFunction, RegisterEventHandler
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from rolling_dynamics.configuration import find_config, find_scenario, PACKAGE
from rolling_robotics.experiments import (
    Experiment,
    find_experiment,
    NodeEntry,
    of_robot,
    of_scenario,
    OWN_CLOCK,
    RECORDER,
)
from rolling_robotics.rviz_view import view_file

from launch import LaunchContext, LaunchDescription

HARDWARE_TEXT = (
    'what is behind the topics: the true state of a simulated machine; its sensors, arm, motors '
    'and camera emulated; or real ones; nothing else is changed'
)


def _arguments(experiment: Experiment) -> list[DeclareLaunchArgument]:
    kinds, chosen = list(experiment.hardware), []
    if kinds:
        choice = {'default_value': kinds[0], 'choices': kinds, 'description': HARDWARE_TEXT}
        chosen.append(DeclareLaunchArgument('hardware', **choice))
    if experiment.laws:
        text = f'{", ".join(experiment.laws)}, or a controller that the plug-in adds; if empty, '
        text += 'that of params_file'
        chosen.append(DeclareLaunchArgument('law', default_value='', description=text))
    return [
        *chosen,
        DeclareLaunchArgument(
            'namespace', default_value='', description='namespace of every node'
        ),
        DeclareLaunchArgument(
            'use_sim_time',
            default_value='false',
            choices=['true', 'false'],
            description='plant and controller take turns, on the time of /clock',
        ),
        DeclareLaunchArgument(
            'params_file',
            default_value=str(find_config(experiment.params_file)),
            description='parameters of the nodes: a path, or the name of a file in config',
        ),
        DeclareLaunchArgument(
            'frame_prefix',
            default_value=[LaunchConfiguration('namespace'), '/'],
            description='put before every frame but the world, as "left/"; by default the '
            'namespace; without one, and if empty, the prefix of params_file',
        ),
        DeclareLaunchArgument(
            'rviz', default_value='false', choices=['true', 'false'], description='start RViz too'
        ),
        DeclareLaunchArgument(
            'record',
            default_value='',
            description='folder of an MCAP recording to make; empty for none',
        ),
    ]


def _node(
    experiment: Experiment, entry: NodeEntry, extra: Sequence[Mapping[str, object]] = ()
) -> Node:
    return Node(
        package=PACKAGE,
        executable=entry.executable,
        name=entry.name,
        namespace=LaunchConfiguration('namespace'),
        output='screen',
        arguments=['--ros-args', '--enclave', experiment.enclave(entry.name)],
        remappings=list({**OWN_CLOCK, **entry.remaps}.items()),
        parameters=[
            LaunchConfiguration('params_file'),
            {'use_sim_time': LaunchConfiguration('use_sim_time')},
            *extra,
            *([dict(entry.parameters)] if entry.parameters else ()),
        ],
    )


def _find_parameters(context: LaunchContext) -> None:
    """Find ``params_file``, a path or a name; launch ends with one error if there is none."""
    given = LaunchConfiguration('params_file').perform(context)
    context.launch_configurations['params_file'] = str(find_config(given))


def _recorder(context: LaunchContext, experiment: Experiment) -> list[Node]:
    folder = LaunchConfiguration('record').perform(context)
    if not folder:
        return []
    return [_node(experiment, RECORDER, [{'folder': folder, 'topics': list(experiment.recorded)}])]


def _prefix(context: LaunchContext) -> str:
    return LaunchConfiguration('frame_prefix').perform(context).lstrip('/')


def _rviz(context: LaunchContext, rviz_file: str) -> list[Node]:
    view = view_file(find_config(rviz_file), _prefix(context))
    return [
        Node(
            package='rviz2',
            executable='rviz2',
            name='rviz2',
            namespace=LaunchConfiguration('namespace'),
            arguments=['-d', str(view)],
            remappings=list(OWN_CLOCK.items()),
            parameters=[{'use_sim_time': LaunchConfiguration('use_sim_time')}],
        )
    ]


def launch_description(name: str, *, only: Sequence[str] = ()) -> LaunchDescription:
    """
    Return what launches an experiment.

    Parameters
    ----------
    name
        Name of the experiment.
    only
        Names of its nodes that are started, on whatever hardware; empty for all.

    Returns
    -------
    LaunchDescription
        Arguments ``namespace``, ``frame_prefix``, ``use_sim_time``, ``params_file``, ``rviz`` and
        ``record``, in the laboratory ``hardware`` too; the nodes of the table; everything ends
        when one of them does.

    """
    experiment = find_experiment(name)
    if only:
        chosen = tuple(entry for entry in experiment.every_node if entry.name in only)
        experiment = replace(experiment, nodes=chosen, hardware={}, laws=())
    return LaunchDescription(
        [*_arguments(experiment), *_started(lambda _: experiment, experiment.rviz_file)]
    )


def scenario_description() -> LaunchDescription:
    """Return what launches the robot of a scenario, by the argument ``scenario``."""

    def described(context: LaunchContext) -> Experiment:
        return of_scenario(find_scenario(LaunchConfiguration('scenario').perform(context)))

    of_any = of_robot('robot', '', '', files='robot')
    scenario = DeclareLaunchArgument(
        'scenario', description='scenario of a rolling robot: a path, or the name of an example'
    )
    return LaunchDescription(
        [scenario, *_arguments(of_any), *_started(described, of_any.rviz_file)]
    )


def _started(
    described: Callable[[LaunchContext], Experiment], rviz_file: str
) -> list[OpaqueFunction]:
    """Return what starts the nodes of the experiment that a context describes."""
    return [
        OpaqueFunction(function=_find_parameters),
        OpaqueFunction(function=lambda context: _recorder(context, described(context))),
        OpaqueFunction(function=lambda context: _nodes(context, described(context))),
        OpaqueFunction(
            function=lambda context: _rviz(context, rviz_file),
            condition=IfCondition(LaunchConfiguration('rviz')),
        ),
    ]


def _nodes(context: LaunchContext, experiment: Experiment) -> list[Node | RegisterEventHandler]:
    """Return the nodes, and that everything ends when one of them does."""
    hardware = LaunchConfiguration('hardware').perform(context) if experiment.hardware else ''
    entries = experiment.nodes_on(hardware)
    prefix = _prefix(context)
    named = [{'frame_prefix': ParameterValue(prefix, value_type=str)}] if prefix else []
    law = LaunchConfiguration('law').perform(context) if experiment.laws else ''
    experiment.check_law(law)
    chosen = [{'law': law}] if law else []
    nodes = [
        _node(experiment, entry, [*named, *(chosen if entry.name == 'controller' else ())])
        for entry in entries
    ]
    ends = [
        RegisterEventHandler(
            OnProcessExit(
                target_action=node,
                on_exit=[EmitEvent(event=Shutdown(reason=f'{entry.name} has ended'))],
            )
        )
        for node, entry in zip(nodes, entries, strict=True)
    ]
    return [*nodes, *ends]
