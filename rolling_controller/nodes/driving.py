"""Holding and driving of a machine between its plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import threading
import time
from typing import Any, NamedTuple

from geometry_msgs.msg import Twist, TwistStamped
import numpy as np
from rolling_controller.law import GoingOn, Law, VELOCITY
from rolling_controller.nodes.control_loop import CODES, ControlLoop, Task
from rolling_controller.nodes.equipment import Equipment
from rolling_controller.nodes.execution import Hold, Standing
from rolling_controller.nodes.step_log import DRIVE, HOLD
from rolling_controller.robot_laws.regulator import RegulatedRobot
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError, quoted
from rolling_node_kit.conversions import finite
from rolling_node_kit.qos import COMMAND
from rolling_node_kit.suite_node import ERROR, Health, OK, SuiteNode, WARN

STILL = np.zeros(3)
MOVED = 'the machine was put somewhere else'


class Wanted(NamedTuple):
    """Commanded velocity (forward, left, turn), and when it came, by a steady clock [s]."""

    velocity: Array = STILL
    since: float = 0.0

    @property
    def moves(self) -> bool:
        """True if it is a command to move."""
        return bool(self.velocity.any())


class Driving:
    """
    Loop that keeps the last commanded velocity.

    A command older than ``command_timeout`` counts as zero velocity.

    Attributes
    ----------
    control
        The loop of the drive.
    law
        The law; one that takes no velocity holds the machine at its position.
    holds, name
        Whether it is such a law, and a word for its task.
    keeps
        Whether its law holds the machine at rest too: without it the machine would fall.
    ended
        Reason why it ended by itself, or the empty string.
    safe
        Whether its last command is the safe one.

    """

    def __init__(
        self,
        node: SuiteNode,
        equipment: Equipment,
        law: Law[Any],
        wanted: Wanted | None = None,
        held: Callable[[Driving, str], bool] = lambda _driving, _reason: False,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """
        Start to drive, or to hold.

        ``held`` is called with a reason to continue by a hold; ``about`` see :class:`Task`.
        """
        self._node, self._equipment, self.law = node, equipment, law
        self._held, self._before = held, equipment.present
        self.holds, self.ended = VELOCITY not in law.inputs, ''
        self.keeps = self.holds or hasattr(law, 'hold')
        self.name = 'holding' if self.holds else 'driving'
        self.wanted, self.safe = wanted or Wanted(), True
        equipment.tracker.forget()
        task = Task(
            law=law,
            finish=self._finish,
            name=self.name,
            about=about or {},
            limits=equipment.tracker.limits,
            signals={VELOCITY: lambda: self.velocity},
            origin=0,
            waits=False,
            judge=self._judge,
        )
        self.control = ControlLoop(node, equipment, task)
        self.control.loop.start()

    @property
    def velocity(self) -> Array:
        """Commanded velocity, zero where the command is too old."""
        wanted, timeout = self.wanted, self._equipment.values.get('command_timeout', 0.0)
        return wanted.velocity if time.monotonic() - wanted.since <= timeout else STILL

    def stop(self) -> None:
        """Stop, and wait until its loop has ended."""
        self.control.end(CODES.NONE, '')

    @property
    def moves(self) -> bool:
        """True if the machine is to move."""
        return bool(self.velocity.any())

    def _finish(self, _code: int, reason: str) -> None:
        if reason and self._held(self, reason):
            return
        self.ended = reason
        if reason or self.safe:
            self._equipment.bring_to_rest(self._node)
        text = f'{self.name} ended: {reason}'
        if reason == MOVED:  # by a user, as at the start of each trial
            self._node.get_logger().info(text)
        elif reason:
            self._node.get_logger().error(text)

    def _judge(self, t: float, x: Array, u: Array) -> tuple[int, str, Array]:
        """Return why the machine cannot be held any more."""
        u = self._equipment.watch.limited(u)
        before, self._before = self._before, self.control.measured
        if self.keeps and self._equipment.tracker.jumped(self._before, before):
            return CODES.NONE, MOVED, u
        lost = self._equipment.tracker.lost(t, x, u) if self.keeps else ''
        return CODES.CONTACT_LOST, lost and f'it cannot be held any more: {lost}', u


PARTS = 'linear.x', 'linear.y', 'angular.z', 'linear.z', 'angular.x', 'angular.y'
REFUSALS = 1.0  # s between two lines of the log about velocities that move nothing
# endings of an execution, by the names that a machine has for those after which it is held
FAULTS = {CODES.CANCELLED: 'cancelled', CODES.NOT_CONVERGED: 'missed'}


class BetweenPlans:
    """
    Hold of a machine at the end of a plan or where it was placed, and drive by ``cmd_vel``.

    A hold continues until a new plan, a nonzero velocity, ``~/stop`` or a fault.

    Attributes
    ----------
    driving
        The present loop, or one that has ended by itself; None without one.

    """

    def __init__(self, node: SuiteNode, equipment: Equipment, laws: RegulatedRobot) -> None:
        """Take machine and laws; velocities are not heard before :meth:`listen`."""
        self._node, self._equipment, self._laws = node, equipment, laws
        self.driving: Driving | None = None
        self._turn = threading.RLock()  # one loop at a time has the machine
        self._refused = ''
        self._executing: Callable[[], bool] = lambda: False

    # -- holding ----------------------------------------------------------------------------

    @property
    def holding(self) -> bool:
        """True while a loop holds the machine where it is, or where velocities lead it."""
        driving = self.driving
        return driving is not None and driving.keeps and not driving.ended

    def hold(self, hold: Hold, wanted: Wanted | None = None) -> None:
        """Hold the machine by a law from now on, or drive it by one that takes a velocity."""
        given = self._node, self._equipment, hold.law, wanted, self._hold_again
        with self._turn:
            self.driving = Driving(*given, {'task': HOLD, **hold.about})

    def _near(self, x: Array) -> Hold | None:
        """Return the hold near a state; None where nothing can be held."""
        law = self._laws.stand(x)
        return None if law is None else Hold(law, {'state': x.tolist()})

    def stand(self) -> bool:
        """Hold the machine where its first state is, if it can be; return whether one came."""
        measured = self._equipment.machine.measured
        self._equipment.machine.poll()
        now = measured.state()
        if now is None or measured.age > self._equipment.timeout:
            return False
        hold = None if self.driving else self._near(now[1])
        if hold is not None:
            self.hold(hold)
        return True

    def make_way(self) -> None:
        """Stop driving; hold a machine that would fall, and keep holding one that is held."""
        driving, now = self.driving, self._equipment.machine.measured.newest
        if driving is None or not (self.holding and driving.holds):
            hold = self._near(now[1]) if self.holding and now else None
            self.stop(safe=hold is None)
            if hold is not None:
                self.hold(hold)

    def standing(self) -> Standing:
        """Hand the machine over, without a safe command in between if it is held."""
        with self._turn:
            holds = self.holding
            driving, before = self._release(safe=not holds), None
        if driving is not None:
            driving.stop()
            if holds:
                before = GoingOn(driving.law, driving.control.answers.memory, 0.0)
        return Standing(before, self._held_after, self.hold)

    def stop(self, *, safe: bool = True) -> None:
        """Stop; the last command is the safe one, unless another loop continues."""
        driving = self._release(safe=safe)
        if driving is not None:
            driving.stop()

    def _release(self, *, safe: bool) -> Driving | None:
        """Return the loop to stop; from now on it cannot hold the machine again."""
        with self._turn:
            driving, self.driving = self.driving, None
            if driving is not None:
                driving.safe = safe
        return driving

    def _held_after(self, code: int) -> Hold | None:
        """Return what holds the machine after an execution, None for the safe command."""
        measured = self._equipment.machine.measured
        if FAULTS.get(code) not in self._equipment.machine.holds_at and not measured.replaced:
            return None
        measured.fault = ''
        return self._near(self._equipment.present)

    def _hold_again(self, driving: Driving, reason: str) -> bool:
        """Hold a machine where a restart of the plant put it, or by the sensors that are left."""
        measured = self._equipment.machine.measured
        if reason != MOVED and not measured.replaced:
            return False
        with self._turn:  # who stops the hold waits, and finds the new one
            if self.driving is not driving:  # it was stopped first
                return not driving.safe
            measured.fault = ''
            hold = self._near(self._equipment.present)
            if hold is not None:
                say, log = f'{reason}; it is held there', self._node.get_logger()
                if reason == MOVED:
                    log.info(say)
                else:
                    log.warning(say)
                self.hold(hold)
        return hold is not None

    # -- driving ----------------------------------------------------------------------------

    def listen(self, executing: Callable[[], bool]) -> None:
        """Take velocities while no plan is executed."""
        self._executing = executing
        if self._node.values['enable_stamped_cmd_vel']:
            self._node.reader(TwistStamped, 'cmd_vel', self._take_stamped, COMMAND)
        else:
            self._node.reader(Twist, 'cmd_vel', self._take, COMMAND)

    def _take_stamped(self, message: TwistStamped) -> None:
        frame = f'{self._node.values["frame_prefix"]}base_link'
        given = message.header.frame_id
        if given in ('', frame):
            self._take(message.twist)
        else:
            self._refuse(f'cmd_vel in frame {quoted(given)} rejected, {frame!r} is needed')

    def _take(self, twist: Twist) -> None:
        if not finite(twist.linear, twist.angular):
            self._refuse('cmd_vel rejected: it is not finite')
        elif not self._node.active:
            self._refuse('cmd_vel ignored: the node is not active')
        elif self._executing():
            self._refuse('cmd_vel ignored: a plan is executed')
        else:
            velocity = np.array([twist.linear.x, twist.linear.y, twist.angular.z])
            self._want(Wanted(velocity, time.monotonic()))
            law = self.driving.law if self.driving else None
            possible = [*getattr(law, 'possible', np.ones(3)), 0, 0, 0]
            others = twist.linear.z, twist.angular.x, twist.angular.y
            given = zip(PARTS, (*velocity, *others), possible, strict=True)
            if idle := [name for name, value, moves in given if value and not moves]:
                self._refuse(f'cmd_vel: {", ".join(idle)} moves nothing: the robot cannot do that')

    def _refuse(self, text: str) -> None:
        """Report why a velocity moves nothing, in diagnostics and, once a second, in the log."""
        self._refused = text
        self._node.get_logger().warning(text, throttle_duration_sec=REFUSALS)

    def _want(self, wanted: Wanted) -> None:
        driving = self.driving
        if driving is not None and not driving.ended and not (driving.holds and wanted.moves):
            driving.wanted = wanted
            return
        equipment, machine = self._equipment, self._equipment.machine
        if not self.holding:  # else its loop takes the states
            machine.poll()
            machine.measured.state()
        now = machine.measured.newest
        if now is None or machine.measured.age > equipment.timeout:
            self._refuse(f'cmd_vel rejected: {equipment.stale_text()}')
            return
        yaw = machine.yaw(now[1])
        try:
            law = self._laws.drive(now[1], yaw)
        except ParameterError as error:
            self._refuse(f'cmd_vel rejected: {error}')
            return
        self.stop(safe=False)  # a hold hands over without a safe command in between
        self._node.alarm = ''
        about = {'task': DRIVE, 'state': now[1].tolist(), 'yaw': yaw}
        self.hold(Hold(law, about), wanted)

    # -- health -----------------------------------------------------------------------------

    def health(self, level: bytes, text: str, values: dict[str, Any]) -> Health:
        """Return diagnostic values with those of holds, drives and rejected commands added."""
        driving = self.driving
        if driving is not None:
            values['driving'] = not driving.ended
            if level == OK and not driving.ended and (driving.moves or driving.keeps):
                text = 'driving' if driving.moves else 'holding'
            if self.holding:
                values['not held'] = '; '.join(getattr(driving.law, 'uncontrollable', ()))
            if driving.ended not in ('', MOVED):
                level, text = ERROR, f'{driving.name} ended: {driving.ended}'
        if self._refused:
            level, text, self._refused = max(level, WARN), self._refused, ''
        return level, text, values
