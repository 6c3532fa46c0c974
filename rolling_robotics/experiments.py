"""Experiments as data: which nodes each starts, with what, and where they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
import logging
from pathlib import Path
from typing import Any

from rolling_controller.design import LQR, PREDICTIVE
from rolling_controller.robot_laws.regulator import robot_kind
from rolling_dynamics.configuration import find_config, find_scenario
from rolling_dynamics.errors import ParameterError, printable, ScenarioError, suggestion
from rolling_dynamics.plugin import roles
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario_model import load_robot
from rolling_robotics.hardware import EMULATED, REAL, SIMULATED
import yaml


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeEntry:
    """
    One node of an experiment.

    Attributes
    ----------
    name
        Name of the node, and of its section in the parameter file.
    module
        Python module that runs it.
    executable
        Name of its executable in an installed package; by default the module's.
    remaps
        From name to name.
    parameters
        Override the parameter file, whatever launches the node.

    """

    name: str
    module: str
    executable: str = ''
    remaps: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Name the executable."""
        name = self.executable or self.module.rpartition('.')[2]
        object.__setattr__(self, 'executable', name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """
    Set of nodes that are started together.

    Attributes
    ----------
    name
        Name of the experiment and of its launch file.
    text
        Description in a sentence.
    nodes
        The nodes, plant first.
    scenario_file
        Name of a file in ``config``.
    recorded
        Topics that a recording holds.
    params_file, rviz_file
        Names of files in ``config``; by default the experiment's name.
    hardware
        Nodes by type of hardware, where there is a choice; the first type is the default, and
        ``nodes`` are its nodes.
    laws
        Laws of the controller that one may choose from by its parameter ``law``, the usual first,
        without those that the plug-in of its system adds.
    demo
        ``module:attribute`` of its demonstration, a :class:`rolling_robotics.demo.demo.Demo`, or
        of a function from the experiment to one.
    start
        Start of executions of its plan, see :func:`rolling_robotics.demo.demo.plan_demo`.

    """

    name: str
    text: str
    nodes: tuple[NodeEntry, ...]
    scenario_file: str
    recorded: tuple[str, ...]
    params_file: str = ''
    rviz_file: str = ''
    hardware: Mapping[str, tuple[NodeEntry, ...]] = field(default_factory=dict)
    laws: tuple[str, ...] = ()
    demo: str = ''
    start: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Name the files."""
        object.__setattr__(self, 'params_file', self.params_file or f'{self.name}.yaml')
        object.__setattr__(self, 'rviz_file', self.rviz_file or f'{self.name}.rviz')

    def load_demo(self) -> Any:  # noqa: ANN401  imports this module
        """Return its demonstration; raise ParameterError where there is nothing."""
        if not self.demo:
            raise ParameterError(f'{self.name}: this experiment has no demonstration')
        module, _, attribute = self.demo.partition(':')
        found = getattr(import_module(module), attribute)
        return found(self) if callable(found) else found

    def nodes_on(self, hardware: str = '') -> tuple[NodeEntry, ...]:
        """Return the nodes on a kind of hardware, or raise ParameterError naming the kinds."""
        if not hardware:
            return self.nodes
        if hardware not in self.hardware:
            known = ', '.join(self.hardware) or 'not a choice'
            lacks = '' if REAL in self.hardware else '; another needs sensors in its scenario'
            raise ParameterError(f'{self.name}: hardware is {known}{lacks}; got {hardware!r}')
        return self.hardware[hardware]

    def check_law(self, law: str) -> None:
        """Raise ParameterError naming the laws to choose from, if it is not among them."""
        if law in ('', *self.laws):
            return
        more = robot_kind(load_scenario(self.scenario_file).system.name).more
        if law not in more:
            known = ', '.join((*self.laws, *more)) or 'no choice of laws'
            raise ParameterError(f'law: {self.name} has {known}, got {law!r}')

    @property
    def every_node(self) -> tuple[NodeEntry, ...]:
        """The nodes of all kinds of hardware, each once."""
        kinds = self.hardware.values() or (self.nodes,)
        return tuple({entry.name: entry for nodes in kinds for entry in nodes}.values())

    def enclave(self, node: str) -> str:
        """Return the SROS2 enclave of a node, which the policy in ``config/security`` names."""
        return f'/{self.name}/{node}'


OPERATOR = 'operator'  # enclave of the tools by which a person looks and commands

# A simulator is the clock of its namespace, so that two robots can be simulated side by side.
OWN_CLOCK: Mapping[str, str] = {'/clock': 'clock'}

RECORDER = NodeEntry(name='recorder', module='rolling_robotics.nodes.recorder_node')
# Topics for a replay, and for a viewer of the recording.
EXECUTED = (
    'execution/plan',
    'execution/settings',
    'controller/steps',
    'simulator/surfaces',
    'simulator/markers',
)
SIMULATOR = NodeEntry(name='simulator', module='rolling_dynamics.nodes.simulator_node')
PLANNER = NodeEntry(name='planner', module='rolling_planner.nodes.planner_node')
CONTROLLER = NodeEntry(name='controller', module='rolling_controller.nodes.controller_node')
HAND_AND_OBJECT = (
    'hand/odometry',
    'hand/accel_command',
    'object/odometry',
    'object/ground_truth',
    'contact/coordinates',
    'contact/wrench',
    'contact/state',
)


# A controller publishes them in a simulator's place: views find them under one name.
AS_SIMULATED = {f'~/{name}': f'simulator/{name}' for name in ('markers', 'surfaces')}
PLAN_DEMO = 'rolling_robotics.demo.demo:demo'  # executes the plan of the scenario


def of_robot(
    name: str,
    text: str,
    scenario_file: str,
    *recorded: str,
    demo: str = PLAN_DEMO,
    files: str = '',
    measured: bool = True,
    **start: object,
) -> Experiment:
    """
    Return the experiment of a rolling robot: plant, planner and controller.

    Parameters
    ----------
    name, text, scenario_file, demo
        See :class:`Experiment`.
    recorded
        Recorded topics, in addition to those of every robot.
    start
        See :class:`Experiment`.
    files
        Name of the parameter and RViz files where it differs from the experiment's; the scenario
        then overrides the one in the parameter file.
    measured
        Whether such a scenario has sensors, so that the nodes may run by the topics of sensors and
        actuators: of the simulator, or of real hardware, within finite limits.

    """
    given = {'scenario_file': scenario_file} if files else {}
    nodes = tuple(replace(node, parameters=given) for node in (SIMULATOR, PLANNER, CONTROLLER))
    hardware = {SIMULATED: nodes} if files else {}
    if files and measured:
        by_sensors = {**given, 'estimate_state': True}
        alone = {**by_sensors, 'publish_state': True, 'finite_limits': True}
        hardware[EMULATED] = (*nodes[:2], replace(CONTROLLER, parameters=by_sensors))
        driver = replace(CONTROLLER, parameters=alone, remaps=AS_SIMULATED)
        hardware[REAL] = nodes[1], driver
    return Experiment(
        name=name,
        text=text,
        nodes=nodes,
        hardware=hardware,
        params_file=f'{files or name}.yaml',
        scenario_file=scenario_file,
        rviz_file=f'{files or name}.rviz',
        recorded=(
            'robot/state',
            'robot/control',
            'cmd_vel',
            'odom',
            *recorded,
            *EXECUTED,
            'robot_description',
            'plan/object',
            'plan/object_path',
            '/tf',
            '/diagnostics',
        ),
        laws=(LQR, PREDICTIVE),
        demo=demo,
        start=start,
    )


CONTACT = ('joint_states', 'contact/wrench', 'contact/state')


LOG = logging.getLogger(__name__)


def by_name() -> dict[str, Experiment]:
    """Return the experiments of all plug-ins but those that are none or whose name is taken."""
    out: dict[str, Experiment] = {}
    for system, found in roles('experiments'):
        for experiment in found:
            if not isinstance(experiment, Experiment) or experiment.name in out:
                label = printable(getattr(experiment, 'name', experiment))
                why = 'that name is taken' if label in out else 'an Experiment is expected'
                LOG.warning('plug-in %s: experiment %s is left out: %s', system, label, why)
            else:
                out[experiment.name] = experiment
    return out


EXPERIMENTS: Mapping[str, Experiment] = by_name()


def find_experiment(name: str) -> Experiment:
    """
    Return an experiment by its name, or a robot's by its scenario.

    Parameters
    ----------
    name
        Name of an experiment, or a scenario of a rolling robot: a path, or an example.

    Raises
    ------
    ParameterError
        There is neither, or the scenario is not one of a robot; the text names the experiments.

    """
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    try:
        path = find_scenario(name)
    except ScenarioError:
        known = suggestion(name, list(EXPERIMENTS))
        raise ParameterError(f'no experiment {name!r}{known}') from None
    return of_scenario(path)


def of_scenario(path: Path) -> Experiment:
    """Return the experiment of a robot that a scenario describes; raise ParameterError if none."""
    model = load_robot(str(path))
    return of_robot(
        path.stem,
        model.scenario.description or f'A {model.system.name}.',
        str(path),
        *(sensor.topic for sensor in model.scenario.sensors),
        *(actuator.topic for actuator in model.scenario.actuators if actuator.topic),
        files='robot',
        measured=bool(model.scenario.sensors),
    )


def parameters_of(name: str, node: str) -> Mapping[str, Any]:
    """Return the parameters of a node in the file of an experiment, by name."""
    sections = yaml.safe_load(find_config(find_experiment(name).params_file).read_text())
    found: Mapping[str, Any] = sections[f'/**/{node}']['ros__parameters']
    return found
