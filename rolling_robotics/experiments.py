"""
Which nodes an experiment starts, with which configuration: data that two starters read.

``bringup.py`` starts the table as processes; the launch files turn it into actions of launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rolling_dynamics.errors import ParameterError


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
        Name of its executable in an installed package.
    remaps
        From name to name.

    """

    name: str
    module: str
    executable: str
    remaps: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """
    What is started together.

    Attributes
    ----------
    name
        Name of the experiment and of its launch file.
    text
        What it shows, in a sentence.
    nodes
        The nodes, plant first.
    params_file, scenario_file, rviz_file
        Names of files in ``config``.
    recorded
        Topics that a recording holds.
    hardware
        Nodes by kind of hardware, where there is a choice; the first kind is the usual one, and
        ``nodes`` are its nodes.

    """

    name: str
    text: str
    nodes: tuple[NodeEntry, ...]
    params_file: str
    scenario_file: str
    rviz_file: str
    recorded: tuple[str, ...]
    hardware: Mapping[str, tuple[NodeEntry, ...]] = field(default_factory=dict)

    def nodes_on(self, hardware: str = '') -> tuple[NodeEntry, ...]:
        """Return the nodes on a kind of hardware, or raise ParameterError naming the kinds."""
        if not hardware:
            return self.nodes
        if hardware not in self.hardware:
            known = ', '.join(self.hardware) or 'no choice'
            raise ParameterError(f'{self.name}: hardware is {known}; got {hardware!r}')
        return self.hardware[hardware]

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

RECORDER = NodeEntry(
    name='recorder', module='rolling_robotics.nodes.recorder_node', executable='recorder_node'
)
# What a replay needs, and what a viewer of the recording draws.
EXECUTED = (
    'execution/plan',
    'execution/settings',
    'simulator/surfaces',
    'simulator/markers',
)
PLANNER = NodeEntry(
    name='planner', module='rolling_planner.nodes.planner_node', executable='planner_node'
)
HAND_AND_OBJECT = (
    'hand/odometry',
    'hand/accel_command',
    'object/odometry',
    'object/ground_truth',
    'contact/coordinates',
    'contact/wrench',
    'contact/state',
)


def _of_robot(name: str, text: str, scenario_file: str, *recorded: str) -> Experiment:
    """Return the experiment of a rolling robot: plant, planner and controller."""
    return Experiment(
        name=name,
        text=text,
        nodes=(
            NodeEntry(
                name='simulator',
                module='rolling_dynamics.nodes.robot_simulator_node',
                executable='robot_simulator_node',
            ),
            PLANNER,
            NodeEntry(
                name='controller',
                module='rolling_controller.nodes.robot_controller_node',
                executable='robot_controller_node',
            ),
        ),
        params_file=f'{name}.yaml',
        scenario_file=scenario_file,
        rviz_file=f'{name}.rviz',
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
    )


SIMULATED, EMULATED, REAL = 'simulated', 'emulated', 'real'
LABORATORY_CONTROLLER = NodeEntry(
    name='controller',
    module='rolling_controller.nodes.laboratory_controller_node',
    executable='laboratory_controller_node',
)
HYBRID_SIMULATOR = NodeEntry(
    name='simulator',
    module='rolling_dynamics.nodes.hybrid_simulator_node',
    executable='hybrid_simulator_node',
)


def _of_hardware(name: str) -> NodeEntry:
    return NodeEntry(
        name=name, module=f'rolling_hw_interface.nodes.{name}_node', executable=f'{name}_node'
    )


EMULATION = (_of_hardware('emulated_motors'), _of_hardware('emulated_camera'))
INTERFACE = tuple(_of_hardware(n) for n in ('motor_bridge', 'vision_bridge', 'estimator'))


def _in_laboratory(
    name: str, text: str, scenario_file: str, *recorded: str, arm: bool = True
) -> Experiment:
    """Return an experiment of the laboratory; one with an arm runs on hardware too."""
    simulated = (HYBRID_SIMULATOR, LABORATORY_CONTROLLER)
    hardware: dict[str, tuple[NodeEntry, ...]] = {SIMULATED: simulated}
    if arm:
        hardware[EMULATED] = (*EMULATION, *INTERFACE, LABORATORY_CONTROLLER)
        hardware[REAL] = (*INTERFACE, LABORATORY_CONTROLLER)
    return Experiment(
        name=name,
        text=text,
        nodes=simulated,
        hardware=hardware,
        params_file=f'{name}.yaml',
        scenario_file=scenario_file,
        rviz_file=f'{name}.rviz',
        recorded=(
            *HAND_AND_OBJECT,
            'controller/steps',
            'controller/settings',
            'simulator/surfaces',
            'simulator/markers',
            *recorded,
            '/tf',
            '/diagnostics',
        ),
    )


HARDWARE_TOPICS = (
    'robot_joint_command',
    'robot_joint_states',
    'joint_states',
    'camera/markers',
    'vision/object_pose',
    'robot_description',
    'estimator/steps',
    'estimator/settings',
)

CONTACT = ('joint_states', 'contact/wrench', 'contact/state')

EXPERIMENTS: Mapping[str, Experiment] = {
    'ball_on_plate': Experiment(
        name='ball_on_plate',
        text='A ball on a plate is moved and turned by tilting the plate.',
        nodes=(
            NodeEntry(
                name='simulator',
                module='rolling_dynamics.nodes.simulator_node',
                executable='simulator_node',
            ),
            PLANNER,
            NodeEntry(
                name='controller',
                module='rolling_controller.nodes.controller_node',
                executable='controller_node',
            ),
        ),
        params_file='ball_on_plate.yaml',
        scenario_file='ball_on_plate_hard.yaml',
        rviz_file='ball_on_plate.rviz',
        recorded=(
            *HAND_AND_OBJECT,
            *EXECUTED,
            'plan/hand',
            'plan/object',
            'plan/object_path',
            '/tf',
            '/diagnostics',
        ),
    ),
    'point_mass_ball': _of_robot(
        'point_mass_ball',
        'A ball rolls along an S by moving three masses on rails inside.',
        'point_mass_s_path.yaml',
        *CONTACT,
    ),
    'pendulum_sphere': _of_robot(
        'pendulum_sphere',
        'A sphere drives through a course of waypoints and obstacles by swings of its pendulum.',
        'pendulum_course.yaml',
        *CONTACT,
    ),
    'spin_rolling': _of_robot(
        'spin_rolling',
        'A ball on a fingertip rolls and spins to another place and attitude.',
        'spin_rolling_plan.yaml',
    ),
    'damping': _in_laboratory(
        'damping',
        'A hand damps the rocking of an ellipse that lies on its plate.',
        'laboratory_damping.yaml',
        *HARDWARE_TOPICS,
    ),
    'flip_up': _in_laboratory(
        'flip_up',
        'An ellipse that lies flat is rolled upright and balanced there.',
        'laboratory_flip_up.yaml',
        *HARDWARE_TOPICS,
    ),
    'throw_catch': _in_laboratory(
        'throw_catch',
        'An ellipse is thrown, turns over in flight, is caught and balanced.',
        'laboratory_throw_catch.yaml',
        *HARDWARE_TOPICS,
    ),
    'balance_3d': _in_laboratory(
        'balance_3d',
        'An ellipsoid that leans is balanced on its end in space.',
        'balance_ellipsoid.yaml',
        arm=False,
    ),
}


def find_experiment(name: str) -> Experiment:
    """Return an experiment, or raise ParameterError naming those that exist."""
    try:
        return EXPERIMENTS[name]
    except KeyError:
        known = ', '.join(EXPERIMENTS)
        raise ParameterError(f'no experiment {name!r}; there are: {known}') from None
