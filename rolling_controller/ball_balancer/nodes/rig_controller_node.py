"""
Controller of a ball balancer or a labyrinth: a law that answers each frame of the camera.

It takes set points on `goal_pose`, so that tools of RViz and Foxglove place the ball.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
import sys
import time

from geometry_msgs.msg import Point, PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Path
import numpy as np
from rcl_interfaces.msg import ParameterEvent
from rclpy.clock import Clock, ClockType
from rolling_controller.ball_balancer.labyrinth import LabyrinthLaw
from rolling_controller.ball_balancer.laws import law_on_nodes, LEADS, ON_NODES
from rolling_controller.ball_balancer.protocol import PATHS, place_on
from rolling_controller.ball_balancer.rig import FRAME, SupervisedLaw, Watch
from rolling_controller.nodes.controller_parameters import EXECUTION
from rolling_controller.nodes.machine import stamp_check
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.rig_file import rig_file
from rolling_dynamics.errors import quoted
from rolling_dynamics.scenario import load_scenario
from rolling_node_kit.conversions import nanoseconds_to_time, time_to_nanoseconds
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.process import run_node
from rolling_node_kit.qos import COMMAND, EVENT, LATCHED, LOG, SENSOR_DATA
from rolling_node_kit.suite_node import ERROR, Health, OK, SuiteNode, WARN
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

LOOK = 0.05  # s between two looks whether frames still come
TABLE = (
    Parameter(
        name='scenario_file',
        default='',
        read_only=True,
        text='scenario with the numbers of the rig; a path, or a name in config/',
    ),
    Parameter(
        name='law',
        default='lqr',
        choices=tuple(ON_NODES),
        read_only=True,
        text='law of the feedback; exported is the predictive one as compiled C',
    ),
    Parameter(
        name='path',
        default='hold',
        choices=tuple(PATHS),
        text='path of the set point about the newest goal_pose',
    ),
    Parameter(
        name='path_radius', default=0.04, low=0.0, high=1.0, unit='m', text='half its width'
    ),
    Parameter(
        name='path_period', default=6.0, low=0.5, high=600.0, unit='s', text='duration of a round'
    ),
    Parameter(
        name='frame_timeout',
        default=0.5,
        low=0.05,
        high=60.0,
        unit='s',
        text='time without a frame after which the plate is levelled; not with use_sim_time',
    ),
    *(entry for entry in EXECUTION if entry.name == 'stamp_tolerance'),
    Parameter(
        name='world_frame',
        default='odom',
        read_only=True,
        text='frame in which a goal_pose may be given too: that of the ground below a level plate',
    ),
    Parameter(name='frame_prefix', default='', read_only=True, text='prefix of both frames'),
)


class RigControllerNode(SuiteNode):
    """Lifecycle node that runs a law in discrete time, a step a frame."""

    _law: SupervisedLaw | None = None
    _memory: Watch | None = None

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('controller', TABLE)

    def configure(self) -> None:
        """Load the rig, make its law, and create the topics."""
        scenario = load_scenario(self.values['scenario_file'])
        self._file = rig_file(scenario)
        self._system, self._p = self._file.system_and_parameters()
        law = law_on_nodes(self._file, self.values['law'])
        self._law = SupervisedLaw(self._file, law)
        prefix = self.values['frame_prefix']
        self._plate = f'{prefix}plate_link'
        self._ground = f'{prefix}{self.values["world_frame"]}'
        self._servos = self._file.actuator(self._system)
        self._message = JointTrajectory(joint_names=list(self._servos.joints))
        self._commands = self.writer(JointTrajectory, self._servos.topic, COMMAND)
        self._frame_log = self.writer(JointState, '~/frames', LOG)
        self._set_points = self.writer(PoseStamped, 'set_point', LATCHED)
        self.reader(PoseStamped, 'goal_pose', self._take_goal, EVENT)
        self.reader(PoseWithCovarianceStamped, 'vision/object_pose', self._take_frame, SENSOR_DATA)
        timer = self.create_timer(LOOK, self._watch, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.at_cleanup(lambda: self.destroy_timer(timer))
        self._refused, self._check = '', stamp_check(self, self.values)
        if isinstance(law, LabyrinthLaw):
            self._show(law)
        self._begin()
        self.writer(ParameterEvent, '~/settings', LATCHED).publish(self.values.in_force())
        name, rate = self.values['law'], 1 / law.period
        self.get_logger().info(f'{scenario.name}: {name}, {rate:.3g} steps a second')

    def _show(self, law: LabyrinthLaw) -> None:
        """Publish the way that is planned through a labyrinth."""
        way = Path()
        way.header.frame_id = self._plate
        for x, y in law.plan.places(law.plan.times).tolist():
            pose = PoseStamped(header=way.header)
            pose.pose.position = Point(x=x, y=y, z=self._file.ball.radius)
            way.poses.append(pose)
        self.writer(Path, 'plan/object_path', LATCHED).publish(way)

    def activate(self) -> None:
        """Begin with the set point in the middle."""
        self._begin()

    def _begin(self) -> None:
        self._goal, self._since, self._shown = np.zeros(2), math.nan, np.full(2, math.nan)
        self._frames, self._blind, self._fault = 0, 0, ''
        self._came = time.monotonic()
        self._restart()

    def _restart(self) -> None:
        """Let the law start with the next frame."""
        self._memory, self._newest = self._law.start(self._memory), -1

    def deactivate(self) -> None:
        """Level the plate; without a stamp, since no further frame is answered."""
        if self._law is not None:
            self._send(np.zeros(2), 0)

    def cleanup(self) -> None:
        """Forget the rig."""
        self._law = self._memory = None

    # -- inputs -----------------------------------------------------------------------------

    def _take_goal(self, message: PoseStamped) -> None:
        frame, p = message.header.frame_id, message.pose.position
        low, high = self._file.edges
        place = np.array([p.x, p.y])
        if frame not in ('', self._plate, self._ground):
            self._refused = (
                f'goal_pose in frame {quoted(frame)} refused, {self._plate!r} is needed'
            )
        elif not ((low <= place) & (place <= high)).all():  # refuses what is not a number, too
            self._refused = (
                f'goal_pose refused: at ({p.x:.4g}, {p.y:.4g}) m; the ball keeps to the plate '
                f'from ({low[0]:.4g}, {low[1]:.4g}) to ({high[0]:.4g}, {high[1]:.4g}) m'
            )
        else:
            self._goal, self._since = place, math.nan

    def _take_frame(self, message: PoseWithCovarianceStamped) -> None:
        if not self.active:
            return
        frame, stamp = message.header.frame_id, time_to_nanoseconds(message.header.stamp)
        if frame not in ('', self._plate):
            self._refused = (
                f'vision/object_pose in frame {quoted(frame)} refused, {self._plate!r} is needed'
            )
            return
        problem = self._check.problem(stamp)
        if problem:
            self._refused = problem
            return
        if stamp <= self._newest:
            if stamp == self._newest:
                self._commands.publish(self._message)  # it was not heard
            return
        self._came = time.monotonic()
        p, set_point = message.pose.pose.position, self._set_point(stamp)
        self._note(stamp, (p.x, p.y, *set_point.tolist(), float(self._newest < 0)))
        memory, tilt = self._law.step(self._memory, [p.x, p.y, *set_point], stamp * 1e-9)
        self._memory, self._newest = memory, stamp
        if memory.fault and not self._fault:
            self._fault = f'{memory.fault}; the plate is level until the node is activated again'
            self.get_logger().error(self._fault)
        self._frames += 1
        seen = math.isfinite(p.x + p.y)
        self._blind = 0 if seen else self._blind + memory.missed + 1
        self._send(tilt, stamp)

    def _note(self, stamp: int, numbers: Sequence[float]) -> None:
        """Log all on which the answer to a frame depends; for a replay."""
        message = JointState(name=FRAME, position=numbers)
        message.header.stamp, message.header.frame_id = nanoseconds_to_time(stamp), self._plate
        self._frame_log.publish(message)

    def _set_point(self, stamp: int) -> Array:
        """Show the set point at a time where it has changed; return what the law is given."""
        if math.isnan(self._since):
            self._since = stamp * 1e-9
        path, radius, period = (self.values[k] for k in ('path', 'path_radius', 'path_period'))
        time_on = stamp * 1e-9 - self._since
        place = self._goal + place_on(path, radius, period, time_on)
        if not np.array_equal(place, self._shown):
            self._shown = place
            message = PoseStamped()
            message.header.stamp, message.header.frame_id = nanoseconds_to_time(stamp), self._plate
            message.pose.position.x, message.pose.position.y = place.tolist()
            self._set_points.publish(message)
        return self._goal + place_on(path, radius, period, time_on + LEADS[self.values['law']])

    def _watch(self) -> None:
        """Level the plate where no frame came for a while, and begin anew with the next."""
        sim_time = self.get_parameter('use_sim_time').value
        late = time.monotonic() - self._came > self.values['frame_timeout']
        if self.active and late and not sim_time and self._newest >= 0 and not self._fault:
            self._restart()
            self._send(np.zeros(2), 0)

    # -- output -----------------------------------------------------------------------------

    def _send(self, tilt: Array, stamp: int) -> None:
        numbers = self._file.command(self._system, self._p, tilt).tolist()
        self._message.header.stamp = nanoseconds_to_time(stamp)
        self._message.points = [JointTrajectoryPoint(**{self._servos.message: numbers})]
        self._commands.publish(self._message)

    def health(self) -> Health:
        """Return what is followed, and what was refused."""
        if self._law is None:
            return OK, 'not running', {}
        x, y = self._goal.tolist()
        values = {'frames': self._frames, 'set point x [m]': x, 'set point y [m]': y}
        if self._fault:
            return ERROR, self._fault, values
        if self._refused:
            message, self._refused = self._refused, ''
            return WARN, message, values
        if self._newest < 0:
            return WARN, 'no frames: the plate is level', values
        if self._blind:
            return WARN, f'{self._blind} frames without a ball', values
        return OK, 'balancing', values


def main() -> int:
    """Run the node."""
    return run_node(RigControllerNode)


if __name__ == '__main__':
    sys.exit(main())
