"""Robot controller: executes plans of the rolling robots, and drives them by cmd_vel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import time
from typing import Any

from geometry_msgs.msg import Twist, TwistStamped
import numpy as np
from rolling_controller.design import LQR, PREDICTIVE, robot_following
from rolling_controller.law import Following, Law, OpenLoop
from rolling_controller.nodes.control_loop import CODES
from rolling_controller.nodes.controller_parameters import EXECUTION, option_parameter
from rolling_controller.nodes.execution import Driving, MOVED, Standing, Wanted
from rolling_controller.nodes.execution_node import Equipped, ExecutionNode
from rolling_controller.nodes.robot_machine import RobotMachine
from rolling_controller.robot_laws import robot_kind, RobotKind
from rolling_dynamics.errors import ParameterError, quoted
from rolling_dynamics.scenario_model import load_robot
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.conversions import finite
from rolling_node_kit.parameters import Parameter, ParameterTable
from rolling_node_kit.periodic_loop import PeriodicLoop
from rolling_node_kit.qos import COMMAND
from rolling_node_kit.suite_node import ERROR, Health, OK, WARN
from rolling_planner.plan import Plan

TABLE = (
    *EXECUTION,
    Parameter(
        'command_timeout',
        0.5,
        'age of a cmd_vel beyond which the robot is stopped',
        limits=(0.01, 60.0),
        unit='s',
    ),
    Parameter(
        'law',
        LQR,
        'feedback along a plan: that of the kind of robot, or predictive control within the '
        'limits of controls and contact, which needs daqp; from the next goal on',
        choices=(LQR, PREDICTIVE),
    ),
    Parameter(
        'estimate_state',
        False,
        'whether the state is estimated from the sensors of the scenario; else that of '
        'robot/state',
        read_only=True,
    ),
    Parameter(
        'hold_at_start',
        False,
        'whether a robot that falls is held from its first state on, before any plan; from the '
        'next activation on',
    ),
    Parameter('frame_prefix', '', 'prefix of the frame base_link', read_only=True),
    Parameter(
        'enable_stamped_cmd_vel',
        True,
        'whether cmd_vel is a TwistStamped; else a Twist',
        read_only=True,
    ),
)


def robot_parameters(kind: RobotKind) -> tuple[Parameter, ...]:
    """Return the parameters of the laws of a kind of robot."""
    return tuple(option_parameter(option, kind.group) for option in kind.options)


REFUSALS = 1.0  # s between two lines of the log about velocities that move nothing
# what an execution ended by, as a robot names the faults at which it is to be held
FAULTS = {CODES.CANCELLED: 'cancelled', CODES.NOT_CONVERGED: 'missed'}


class Options(Mapping[str, float]):
    """The options of a kind of robot, as the parameters of the node stand at the moment."""

    def __init__(self, values: ParameterTable | Mapping[str, Any], kind: RobotKind) -> None:
        """Read these parameters."""
        self._values, self._group = values, kind.group
        self._names = [option.name for option in kind.options]

    def __getitem__(self, name: str) -> float:
        """Return the present value."""
        if name not in self._names:
            raise KeyError(name)
        return float(self._values[f'{self._group}.{name}'])

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._names)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._names)


class RobotControllerNode(ExecutionNode):
    """Lifecycle node with the action server ``execute_plan`` and the topic ``cmd_vel``."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('controller', TABLE)
        self._machine: RobotMachine
        self._driving: Driving | None = None
        self._refused = ''

    def equip(self) -> Equipped:
        """Load the scenario and create the topics of the robot."""
        self._model = model = load_robot(self.values['scenario_file'])
        kind = robot_kind(model.system.name)
        self.values.add(robot_parameters(kind))
        self._robot = kind.make(model.scenario, Options(self.values, kind))
        self._machine = RobotMachine(self, model, self.values)
        if self.values['enable_stamped_cmd_vel']:
            self.reader(TwistStamped, 'cmd_vel', self._take_stamped_velocity, COMMAND)
        else:
            self.reader(Twist, 'cmd_vel', self._take_velocity, COMMAND)
        return Equipped(model, self._machine, self._robot.uncounted, self._machine.watch)

    def warm_up(self) -> None:
        """Compile the laws."""
        self._robot.warm_up()

    def design(self, plan: Plan, interrupted: Callable[[], bool]) -> Following:
        """Return the feedback along a plan, or the plan played back."""
        if self.values['open_loop']:
            return Following(OpenLoop(self.system, plan), plan.times, plan.states)
        return robot_following(
            self._robot,
            self._model,
            plan,
            interrupted,
            law=self.values['law'],
            beside=not self.get_parameter('use_sim_time').value,
            safe=self._machine.safe,
        )

    def activate(self) -> None:
        """Start again with what is measured from now on."""
        self._machine.measured.restart()
        super().activate()
        if self.values['hold_at_start']:
            self._look = self._stand
            self._looking.reset()

    def _stand(self) -> None:
        """Hold the robot where its first state is, if it falls there."""
        self._machine.poll()
        measured = self._machine.measured
        now = measured.state()
        if now is None or measured.age > self._equipment.timeout:
            return
        self._looking.cancel()
        law = None if self.executing or self._driving else self._robot.stand(now[1])
        if law is not None:
            self._hold(law)

    def deactivate(self) -> None:
        """End what is at work, the robot safe."""
        self._looking.cancel()
        self._stop_driving()
        super().deactivate()

    # -- standing ---------------------------------------------------------------------------

    @property
    def holding(self) -> bool:
        """Whether a loop holds the robot where it stands."""
        driving = self._driving
        return driving is not None and driving.holds and not driving.ended

    def make_way(self) -> None:
        """Stop driving; one that is held goes on to be held."""
        if self._driving is not None and self.holding:
            self._driving.wanted = Wanted()
        else:
            self._stop_driving()

    def standing(self) -> Standing:
        """Hand the robot over, without a safe command in between if it is held."""
        before = self._driving.law if self._driving is not None and self.holding else None
        self._stop_driving(safe=before is None)
        return Standing(before, self._held_after, self._hold)

    def _held_after(self, code: int) -> Law[Any] | None:
        """Return what holds the robot after an execution, None for the safe command."""
        measured = self._machine.measured
        if FAULTS.get(code) not in self._machine.holds_at and not measured.replaced:
            return None
        measured.fault = ''
        return self._robot.stand(self._equipment.present)

    def _hold(self, law: Law[Any]) -> None:
        self._driving = Driving(self, self._equipment, law, held=self._hold_again)

    def _hold_again(self, reason: str) -> bool:
        """Hold a robot where a restart of the plant put it, or by the sensors that are left."""
        measured = self._machine.measured
        if reason != MOVED and not measured.replaced:
            return False
        measured.fault = ''
        law = self._robot.stand(self._equipment.present)
        if law is not None:
            self.get_logger().warning(f'{reason}; it is held there')
            self._hold(law)
        return law is not None

    def _stop_driving(self, *, safe: bool = True) -> None:
        driving, self._driving = self._driving, None
        if driving is not None:
            driving.stop(safe=safe)

    def stop(self) -> None:
        """End what moves or holds the robot, by its safe control."""
        super().stop()
        self._stop_driving()

    # -- driving ----------------------------------------------------------------------------

    def _take_contact(self, message: RollingContact) -> None:
        super()._take_contact(message)
        if self._driving is not None:
            self._driving.control.contact_mode = message.mode

    def _take_stamped_velocity(self, message: TwistStamped) -> None:
        frame, given = f'{self.values["frame_prefix"]}base_link', message.header.frame_id
        if given in ('', frame):
            self._take_velocity(message.twist)
        else:
            self._refuse(f'cmd_vel in frame {quoted(given)} refused, {frame!r} is needed')

    def _take_velocity(self, twist: Twist) -> None:
        if not finite(twist.linear, twist.angular):
            self._refuse('cmd_vel refused: it is not finite')
        elif not self.active:
            self._refuse('cmd_vel ignored: the node is not active')
        elif self.executing:
            self._refuse('cmd_vel ignored: a plan is executed')
        else:
            velocity = np.array([twist.linear.x, twist.linear.y, twist.angular.z])
            self._want(Wanted(velocity, time.monotonic()))

    def _refuse(self, text: str) -> None:
        """Report why a velocity moves nothing, in diagnostics and, once a second, in the log."""
        self._refused = text
        self.get_logger().warning(text, throttle_duration_sec=REFUSALS)

    def _want(self, wanted: Wanted) -> None:
        driving = self._driving
        if driving is not None and not driving.ended and not (driving.holds and wanted.moves):
            driving.wanted = wanted
            return
        equipment, machine = self._equipment, self._machine
        machine.poll()
        now = machine.measured.state()
        if now is None or machine.measured.age > equipment.timeout:
            self._refuse(f'cmd_vel refused: {equipment.stale_text()}')
            return
        try:
            law = self._robot.drive(now[1], machine.yaw)
        except ParameterError as error:
            self._refuse(f'cmd_vel refused: {error}')
            return
        self._stop_driving(safe=False)  # a hold hands over without a safe command in between
        self.alarm = ''
        self._driving = Driving(self, equipment, law, wanted, self._hold_again)

    @property
    def loop(self) -> PeriodicLoop | None:
        """The loop of the execution, or of driving."""
        driving = self._driving
        if driving is not None and not driving.ended:
            return driving.control.loop
        return super().loop

    def health(self) -> Health:
        """Return progress, and what was refused."""
        level, text, values = super().health()
        driving = self._driving
        if driving is not None:
            values['driving'] = not driving.ended
            if self.holding and not driving.moves:
                text = 'holding' if level == OK else text
                values['not held'] = '; '.join(driving.law.uncontrollable) or 'nothing'
            if driving.ended:
                level, text = ERROR, f'driving ended: {driving.ended}'
        if self._refused:
            level, text, self._refused = max(level, WARN), self._refused, ''
        return level, text, values
