"""
Simulator: a contact system in place of the hardware.

It takes accelerations of the hand and publishes what sensors would: states, contact, frames.
"""

from __future__ import annotations

import sys
import threading
import time

from geometry_msgs.msg import AccelStamped
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import RollingError, SimulationError
from rolling_dynamics.nodes.conversions import (
    accel_to_control,
    finite,
    nanoseconds_to_time,
    time_to_nanoseconds,
)
from rolling_dynamics.nodes.model import load_model, Model
from rolling_dynamics.nodes.parameters import Parameter
from rolling_dynamics.nodes.periodic_loop import PeriodicLoop
from rolling_dynamics.nodes.plant import Observation, Plant
from rolling_dynamics.nodes.plant_topics import PlantTopics
from rolling_dynamics.nodes.polled_subscription import PolledSubscription
from rolling_dynamics.nodes.process import run_node
from rolling_dynamics.nodes.qos import COMMAND, STREAM_WRITER
from rolling_dynamics.nodes.suite_node import ERROR, Health, OK, SuiteNode, WARN
from rolling_dynamics.simulation import Stepper
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger

STOP_TIMEOUT = 0.8  # for the loop of the plant to end [s]
LOCKSTEP_TIMEOUT = 0.1  # longest wait for a command in simulated time [s]
LOCKSTEP_POLL = 2e-4  # [s]

TABLE = (
    Parameter(
        name='scenario_file',
        default='',
        read_only=True,
        text='scenario with bodies, surfaces, friction and start; a path, or a name in config/',
    ),
    Parameter(
        name='rate',
        default=1000.0,
        low=50.0,
        high=2000.0,
        unit='Hz',
        read_only=True,
        text='steps a second, and messages a second of the states',
    ),
    Parameter(
        name='contact_rate',
        default=100.0,
        low=1.0,
        high=1000.0,
        unit='Hz',
        read_only=True,
        text='messages a second of contact coordinates, wrench and ground truth',
    ),
    Parameter(
        name='tf_rate',
        default=50.0,
        low=1.0,
        high=100.0,
        unit='Hz',
        read_only=True,
        text='messages a second of the frames',
    ),
    Parameter(
        name='marker_rate',
        default=20.0,
        low=1.0,
        high=60.0,
        unit='Hz',
        read_only=True,
        text='messages a second of markers and contact state',
    ),
    Parameter(
        name='rate_factor',
        default=1.0,
        low=0.01,
        high=100.0,
        text='simulated seconds in a second; only with use_sim_time',
    ),
    Parameter(
        name='command_timeout',
        default=0.05,
        low=0.002,
        high=5.0,
        unit='s',
        text='age of a command beyond which the hand is braked',
    ),
    Parameter(
        name='brake_time',
        default=0.1,
        low=0.01,
        high=5.0,
        unit='s',
        read_only=True,
        text='time constant with which an uncommanded hand comes to rest',
    ),
    Parameter(
        name='perturbation_position',
        default=[0.0, 0.0],
        length=2,
        low=-10.0,
        high=10.0,
        unit='m',
        text='shift of the contact point on the hand at ~/reset, in its chart',
    ),
    Parameter(
        name='perturbation_rotation',
        default=[0.0, 0.0, 0.0],
        length=3,
        low=-3.2,
        high=3.2,
        unit='rad',
        text='turn of the object about its own axes at ~/reset',
    ),
    Parameter(
        name='publish_estimate',
        default=True,
        read_only=True,
        text='publish object/odometry too; off beside an estimator',
    ),
    Parameter(name='world_frame', default='world', read_only=True, text='name of the world frame'),
    Parameter(
        name='frame_prefix',
        default='',
        read_only=True,
        text='put before every other frame, so that two robots do not collide',
    ),
)


class SimulatorNode(SuiteNode):
    """Lifecycle node that steps the plant in a thread of its own."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('simulator', TABLE)
        self._lock = threading.Lock()
        self._loop: PeriodicLoop | None = None
        self._topics: PlantTopics | None = None
        self._plant: Plant | None = None
        self._enabled = True
        self._refused = ''
        self._command: tuple[float, NDArray[np.float64]] | None = None
        self._stale = 0
        self._answered = 0
        self._interfaces: list = []
        self._commands: PolledSubscription | None = None

    # -- life cycle -------------------------------------------------------------------------

    def configure(self) -> None:
        """Load the scenario and create topics and services."""
        model = load_model(self.values['scenario_file'])
        self._dt = 1.0 / self.values['rate']
        self._plant = self._make_plant(model)
        self._topics = PlantTopics(
            self,
            model.system,
            model.mu,
            model.mu_spin,
            world=self.values['world_frame'],
            prefix=self.values['frame_prefix'],
            estimate=self.values['publish_estimate'],
        )
        self._sim_time = self.get_parameter('use_sim_time').value
        self._clock_publisher = (
            self.create_publisher(Clock, '/clock', STREAM_WRITER) if self._sim_time else None
        )
        self._commands = PolledSubscription(self, AccelStamped, 'hand/accel_command', COMMAND)
        self._interfaces = [
            (self.destroy_service, self.create_service(Trigger, '~/reset', self._reset)),
            (self.destroy_service, self.create_service(SetBool, '~/enable', self._enable)),
            (self.destroy_service, self.create_service(Trigger, '~/stop', self._stop)),
        ]
        self.get_logger().info(f'{model.title}: {self.values["rate"]:g} steps a second')

    def _make_plant(self, model: Model) -> Plant:
        stepper = Stepper(model.system, model.params)
        plant = Plant(
            model.system,
            model.params,
            model.start,
            stepper.step,
            brake_time=self.values['brake_time'],
            limits=model.control_limits,
        )
        plant.reset()
        return plant

    def activate(self) -> None:
        """Start to step."""
        self._ticks = 0
        self._epoch = 0 if self._sim_time else self.get_clock().now().nanoseconds
        factor = self.values['rate_factor'] if self._sim_time else 1.0
        self._every = {
            'contact': self._decimation('contact_rate'),
            'tf': self._decimation('tf_rate'),
            'marker': self._decimation('marker_rate'),
        }
        self._loop = PeriodicLoop(
            self._tick, self._dt / factor, name='plant', on_skip=self._skip, on_fault=self._fail
        )
        self._loop.start()

    def _decimation(self, name: str) -> int:
        return max(1, round(self.values['rate'] / self.values[name]))

    def deactivate(self) -> None:
        """Stop to step; the hand stands still."""
        if self._loop is not None:
            if not self._loop.stop(STOP_TIMEOUT):
                raise SimulationError('the loop of the plant has not ended yet')
            self._loop = None
        self._command = None

    def cleanup(self) -> None:
        """Forget the scenario."""
        if self._loop is not None:  # it would publish on what is destroyed here
            raise SimulationError('the loop of the plant has not ended yet')
        for destroy, entity in self._interfaces:
            destroy(entity)
        self._interfaces = []
        if self._commands is not None:
            self._commands.destroy()
            self._commands = None
        if self._topics is not None:
            self._topics.destroy()
            self._topics = None
        self._plant = None

    # -- stepping ---------------------------------------------------------------------------

    def _tick(self) -> None:
        with self._lock:
            self._plant.step(self._control(), self._dt)
            seen, fault = self._plant.observe(), self._plant.fault
        self._ticks += 1
        now = self._epoch + round(self._ticks * self._dt * 1e9)
        if self._clock_publisher is not None:
            self._clock_publisher.publish(Clock(clock=nanoseconds_to_time(now)))
        self._topics.state(seen, now)
        if self._sim_time:
            self._await_command(now)
        self._publish_slowly(seen, now, fault)

    def _publish_slowly(self, seen: Observation, now: int, fault: str) -> None:
        """Publish what is due at a lower rate, each kind in a tick of its own."""
        topics, every, ticks = self._topics, self._every, self._ticks
        if ticks % every['contact'] == 0:
            topics.contact(seen, nanoseconds_to_time(now))
        if ticks % every['tf'] == 1 % every['tf']:
            topics.frames(seen, nanoseconds_to_time(now))
        if ticks % every['marker'] == 2 % every['marker']:
            stamp = nanoseconds_to_time(now)
            topics.markers(seen, stamp)
            topics.contact_state(seen, stamp, fault)

    def _await_command(self, now: int) -> None:
        """In simulated time, wait for the answer to this state while a controller is at work."""
        end = time.monotonic() + LOCKSTEP_TIMEOUT
        while self._answered < now:
            self._poll()
            if not self._answered or time.monotonic() > end:
                self._answered = 0  # nobody answers: go on alone until a command comes
                return
            time.sleep(LOCKSTEP_POLL)

    def _poll(self) -> None:
        for message in self._commands.take():
            self._take_command(message)

    def _control(self) -> NDArray[np.float64]:
        self._poll()
        command = self._command
        if command is not None and self._enabled:
            taken, u = command
            if time.monotonic() - taken <= self.values['command_timeout']:
                return u
            self._stale += 1
            self._command = None
        return self._plant.brake()

    def _skip(self, seconds: float) -> None:
        self._epoch += 0 if self._sim_time else round(seconds * 1e9)

    def _fail(self, error: Exception) -> None:
        with self._lock:
            self._plant.fault = f'stepping failed: {error}'
        self.get_logger().error(self._plant.fault)

    # -- inputs -----------------------------------------------------------------------------

    def _take_command(self, message: AccelStamped) -> None:
        frame = f'{self.values["frame_prefix"]}hand'
        if message.header.frame_id not in ('', frame):
            self._refused = (
                f'command in frame {message.header.frame_id!r} refused, {frame!r} is needed'
            )
        elif not finite(message.accel.linear, message.accel.angular):
            self._refused = 'command refused: it is not finite'
        else:
            self._command = (time.monotonic(), accel_to_control(message.accel))
            self._answered = time_to_nanoseconds(message.header.stamp)

    def _reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        position = list(self.values['perturbation_position'])
        rotation = list(self.values['perturbation_rotation'])
        try:
            with self._lock:
                self._plant.reset(position=position, rotation=rotation)
                self._command = None
        except RollingError as error:
            response.success, response.message = False, str(error)
            return response
        self._topics.forget()
        self._stale, self._refused = 0, ''
        response.success = True
        response.message = f'at the start, shifted by {position} m and turned by {rotation} rad'
        return response

    def _enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._enabled = request.data
        if not request.data:
            self._command = None
        response.success = True
        response.message = 'commands are taken' if request.data else 'commands are not taken'
        return response

    def _stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._enabled, self._command = False, None
        response.success = True
        response.message = 'the hand is braked; ~/enable takes commands again'
        return response

    # -- health -----------------------------------------------------------------------------

    def health(self) -> Health:
        """Return contact, commands and punctuality."""
        if self._plant is None or self._loop is None:
            return OK, 'not running', {}
        record = self._loop.read_punctuality()
        values = {
            'time [s]': self._plant.time,
            'enabled': self._enabled,
            'ticks': record.ticks,
            'misses': record.misses,
            'skipped': record.skipped,
            'worst jitter [s]': record.worst_jitter,
            'mean work [s]': record.mean_work,
            'stale commands': self._stale,
        }
        if self._plant.fault:
            return ERROR, self._plant.fault, values
        if self._refused:
            message, self._refused = self._refused, ''
            return WARN, message, values
        if not self._enabled:
            return WARN, 'stopped: commands are not taken', values
        return OK, 'rolling', values


def main() -> int:
    """Run the node."""
    return run_node(SimulatorNode)


if __name__ == '__main__':
    sys.exit(main())
