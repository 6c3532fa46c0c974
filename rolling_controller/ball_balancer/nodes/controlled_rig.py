"""The controller of a ball balancer: its frames and goals, and the machine that its loop runs."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

from geometry_msgs.msg import Point, PoseStamped
from nav_msgs.msg import Path
import numpy as np
from rolling_controller.ball_balancer.labyrinth import LabyrinthLaw
from rolling_controller.ball_balancer.laws import law_on_nodes, LEADS, ON_NODES
from rolling_controller.ball_balancer.protocol import PATHS, place_on
from rolling_controller.ball_balancer.rig import supervised
from rolling_controller.law import Law
from rolling_controller.motion_watch import Unwatched
from rolling_controller.nodes.control_loop import CODES, Controlled, ControlLoop, Task
from rolling_controller.nodes.controller_parameters import EXECUTION
from rolling_controller.nodes.equipment import LoopEquipment, Machine, stamp_check
from rolling_controller.nodes.step_log import TASK
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.rig_file import rig_file, RigFile
from rolling_dynamics.errors import ParameterError, quoted
from rolling_dynamics.nodes.topics import CommandTopic, SensorReader, TYPES
from rolling_dynamics.scenario import load_scenario
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_node_kit.newest_state import NewestState
from rolling_node_kit.parameters import fixed, Parameter, ParameterTable, SCENARIO
from rolling_node_kit.qos import COMMAND, EVENT, LATCHED, SENSOR_DATA
from rolling_node_kit.suite_node import ERROR, Health, OK, SuiteNode, WARN
from trajectory_msgs.msg import JointTrajectory


class RigMachine(Machine):
    """See :class:`rolling_controller.nodes.equipment.Machine`; commands are outputs of a law."""

    missing = 'no vision/object_pose came yet'

    def __init__(self, node: SuiteNode, file: RigFile, values: ParameterTable) -> None:
        """Create the topics; positions of the ball are not numbers where a frame shows none."""
        self._file, camera = file, file.camera.sensor()
        self._system, self._p = file.system_and_parameters()
        self.measured: NewestState[Array] = NewestState(stamp_check(node, values))
        self._reader = SensorReader(camera, values['frame_prefix'], may_miss=True)
        self._frames = node.polled(TYPES[camera.message], camera.topic, SENSOR_DATA, raw=True)
        self.polled = [self._frames]
        self._command = CommandTopic(self._system, [file.actuator(self._system)])
        self.commands = node.writer(self._command.kind, self._command.name, COMMAND)
        self._sent, self._message = 0, JointTrajectory()

    def poll(self) -> None:
        """Take what came; a frame that comes again is answered again."""
        for data in self._frames.take():
            try:
                stamp, y = self._reader.read(data)
            except ParameterError as error:
                self.measured.refuse(f'{self._frames.topic}: {error}')
                continue
            self.measured.offer(stamp, y[:2])
            self.measured.state()
            if stamp and stamp == self._sent:
                self.commands.publish(self._message)

    def send(self, u: Array, stamp: int) -> None:
        """Send the output of a law for the frame of a stamp [ns]."""
        numbers = self._file.command(self._system, self._p, u)
        self._sent, self._message = stamp, self._command.message(numbers, stamp)
        self.commands.publish(self._message)

    def safe(self, x: Array) -> Array:  # noqa: ARG002
        """Return what levels the plate."""
        return np.zeros(2)


TABLE = (
    SCENARIO,
    fixed(
        'law',
        'lqr',
        'controller; exported is the predictive one as compiled C',
        choices=tuple(ON_NODES),
    ),
    Parameter(
        'path', 'hold', 'path of the set point about the newest goal_pose', choices=tuple(PATHS)
    ),
    Parameter('path_radius', 0.04, 'half its width', limits=(0.0, 1.0), unit='m'),
    Parameter('path_period', 6.0, 'duration of a round', limits=(0.5, 600.0), unit='s'),
    Parameter(
        'frame_timeout',
        0.5,
        'time without a frame after which the plate is levelled; with use_sim_time at least 5 s',
        limits=(0.05, 60.0),
        unit='s',
    ),
    *(entry for entry in EXECUTION if entry.name == 'stamp_tolerance'),
    fixed(
        'world_frame',
        'odom',
        'frame in which a goal_pose may be given too: that of the ground below a level plate',
    ),
    fixed('frame_prefix', '', 'prefix of both frames'),
)


class ControlledRig(Controlled):
    """A ball that servos move, by a law in discrete time, a step a frame."""

    table = TABLE
    stopped = ''
    control: ControlLoop | None = None

    def __init__(self, node: SuiteNode) -> None:
        """Load the rig, make its law, and create the topics."""
        super().__init__(node)
        scenario = load_scenario(self.values['scenario_file'])
        self._file = rig_file(scenario)
        law = law_on_nodes(self._file, self.values['law'])
        self._law, self._memory = supervised(self._file, law), None
        prefix = self.values['frame_prefix']
        self._plate = f'{prefix}plate_link'
        self._ground = f'{prefix}{self.values["world_frame"]}'
        self._machine = RigMachine(node, self._file, self.values)
        self.equipment = LoopEquipment(
            machine=self._machine,
            predictor=Unwatched(),
            watch=Unwatched(),
            start=np.zeros(2),
            values=self.values,
            once=True,
            patient=True,
            by_clock=not node.get_parameter('use_sim_time').value,
            limit='frame_timeout',
            begin=self.begin,
        )
        self._set_points = node.writer(PoseStamped, 'set_point', LATCHED)
        node.reader(PoseStamped, 'goal_pose', self._take_goal, EVENT)
        self._refused = ''
        if isinstance(law, LabyrinthLaw):
            self._show(law)
        self._begin()
        name, rate = self.values['law'], 1 / law.period
        node.get_logger().info(f'{scenario.name}: {name}, {rate:.3g} steps per second')

    @classmethod
    def law_of(cls, values: Mapping[str, Any], _plan: object) -> tuple[Law[Any], Array | None]:
        """Return the law of a recorded run again; see :class:`Controlled`."""
        file = rig_file(load_scenario(values['scenario_file']))
        return supervised(file, law_on_nodes(file, values['law'])), None

    def _show(self, law: LabyrinthLaw) -> None:
        """Publish the way that is planned through a labyrinth."""
        way = Path()
        way.header.frame_id = self._plate
        for x, y in law.plan.places(law.plan.times).tolist():
            pose = PoseStamped(header=way.header)
            pose.pose.position = Point(x=x, y=y, z=self._file.ball.radius)
            way.poses.append(pose)
        self.node.writer(Path, 'plan/object_path', LATCHED).publish(way)

    def _begin(self) -> None:
        self._goal, self._since, self._shown = np.zeros(2), math.nan, np.full(2, math.nan)
        self._frames, self._blind, self._fault = 0, 0, ''

    def activate(self) -> None:
        """Start with the set point in the middle."""
        self._begin()
        self._machine.measured.restart()
        self._runs = True
        self._run()

    def _run(self) -> None:
        """Answer frames from the next one on; the law keeps its memory."""
        goal = self._law.inputs.entries[1].name
        task = Task(
            law=self._law,
            finish=self._finish,
            name='frames',
            about={'task': TASK, 'continues': self._memory is not None},
            measured=self._law.inputs.entries[0].name,
            memory=self._memory,
            signals={goal: self._set_point},
            origin=0,
            waits=False,
            judge=self._judge,
        )
        self.control = ControlLoop(self.node, self.equipment, task)
        self.control.loop.start()

    def _finish(self, _code: int, _reason: str) -> None:
        """Level the plate; where frames did not come, the next one is waited for."""
        self._memory = self.control.answers.memory
        self.equipment.bring_to_rest(self.node)
        if self._runs and not self._fault:
            self._run()

    def deactivate(self) -> None:
        """Level the plate."""
        self._runs = False
        if self.control is not None:
            self.control.end(CODES.NONE, '')

    # -- inputs -----------------------------------------------------------------------------

    def _take_goal(self, message: PoseStamped) -> None:
        frame, p = message.header.frame_id, message.pose.position
        low, high = self._file.edges
        place = np.array([p.x, p.y])
        if frame not in ('', self._plate, self._ground):
            self._refused = (
                f'goal_pose in frame {quoted(frame)} rejected, {self._plate!r} is needed'
            )
        elif not ((low <= place) & (place <= high)).all():  # rejects NaN, too
            self._refused = (
                f'goal_pose rejected: at ({p.x:.4g}, {p.y:.4g}) m; the ball keeps to the plate '
                f'from ({low[0]:.4g}, {low[1]:.4g}) to ({high[0]:.4g}, {high[1]:.4g}) m'
            )
        else:
            self._goal, self._since = place, math.nan

    def _set_point(self) -> Array:
        """Publish the set point where it has changed; return the inputs of the law."""
        (stamp, _), goal = self._machine.measured.state(), self._goal  # another may come meanwhile
        if math.isnan(self._since):
            self._since = stamp * 1e-9
        path, radius, period = (self.values[k] for k in ('path', 'path_radius', 'path_period'))
        time_on = stamp * 1e-9 - self._since
        place = goal + place_on(path, radius, period, time_on)
        if not np.array_equal(place, self._shown):
            self._shown = place
            message = PoseStamped()
            message.header.stamp, message.header.frame_id = nanoseconds_to_time(stamp), self._plate
            message.pose.position.x, message.pose.position.y = place.tolist()
            self._set_points.publish(message)
        lead = LEADS[self.values['law']]
        return goal + place_on(path, radius, period, time_on + lead)

    # -- answers ----------------------------------------------------------------------------

    def _judge(self, _t: float, place: Array, u: Array) -> tuple[int, str, Array]:
        """Report a fault of the frames, after which the law keeps the plate level."""
        memory = self.control.answers.memory
        if memory.fault and not self._fault:
            self._fault = f'{memory.fault}; the plate is level until the node is activated again'
            self.node.get_logger().error(self._fault)
        self._frames += 1
        visible = math.isfinite(place.sum())
        self._blind = 0 if visible else self._blind + memory.missed + 1
        return 0, '', u

    def health(self) -> Health:
        """Return the set point that is followed, and the rejected ones."""
        x, y = self._goal.tolist()
        values = {'frames': self._frames, 'set point x [m]': x, 'set point y [m]': y}
        if self._fault:
            return ERROR, self._fault, values
        if refused := self._refused:
            self._refused = ''
            return WARN, refused, values
        if self.control is None or self.control.started is None:
            return WARN, 'no frames: the plate is level', values
        if self._blind:
            return WARN, f'{self._blind} frames without a ball', values
        return OK, 'balancing', values


def controlled(_given: Mapping[str, Any]) -> type[Controlled]:
    """Return the machine that a controller runs for a rig."""
    return ControlledRig
