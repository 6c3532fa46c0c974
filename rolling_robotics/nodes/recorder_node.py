"""
Recorder: keeps topics as an MCAP recording that the usual ROS tools play.

A process of its own with deep, reliable queues; messages pass through unread, with the time at
which the middleware received them. A thread takes them a hundred times per second: a callback for
each would cost a third of a processor at some thousand messages per second. The file is closed
when the node is stopped, whatever by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
import sys
import time
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.experimental.events_executor import EventsExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rolling_dynamics.errors import described, printable, quoted, RollingError
from rolling_node_kit.overruns import Overruns
from rolling_node_kit.parameters import fixed, OVERRUN
from rolling_node_kit.periodic_loop import PeriodicLoop
from rolling_node_kit.polled_subscription import PolledSubscription
from rolling_node_kit.process import run_node
from rolling_node_kit.suite_node import Health, OK, SuiteNode, WARN
from rolling_robotics.files import unused_folder
from rolling_robotics.recordings.writer import (
    message_class,
    rate_limits,
    Recording,
    Thinning,
    Topic,
)

TAKE_PERIOD = 0.01  # s
STOP_TIMEOUT = 2.0  # for the thread to end [s]
TABLE = (
    fixed('folder', '', 'folder of the recording; a number is appended if it exists'),
    fixed('topics', [''], 'topics to record, relative to the namespace; [""] = every topic'),
    fixed(
        'rate_limits',
        [''],
        'maximum rates of topics, each TOPIC=RATE in Hz; what comes faster is thinned out',
    ),
    fixed('depth', 2000, 'queue depth of each topic', limits=(1, 100_000)),
    fixed('longest_queue', 100_000, 'queue depth of the writer', limits=(10, 10_000_000)),
    fixed(
        'scan_period', 0.2, 'period of the search for new topics', limits=(0.02, 10.0), unit='s'
    ),
    *(entry for entry in OVERRUN if entry.name != 'overrun_abort'),
)


@dataclass(slots=True)
class Taken:
    """
    A topic that is recorded.

    Attributes
    ----------
    name, source
        Its name, and where its messages come from.
    alone
        Whether it never had a second publisher, so that gaps in the sequence are lost messages.
    last
        Number of the newest message in that sequence; 0 before.
    count, lost
        Messages that came, and that did not.
    thinning
        What chooses the messages that are kept; None keeps all.

    """

    name: str
    source: PolledSubscription
    alone: bool
    thinning: Thinning | None = None
    last: int = 0
    count: int = 0
    lost: int = 0

    def note(self, number: int | None) -> None:
        """Take the number of a message in its writer's sequence."""
        self.count += 1
        if number and self.alone and 0 < self.last < number:
            self.lost += number - self.last - 1
        self.last = number or 0


class RecorderNode(SuiteNode):
    """Lifecycle node that records while it is active."""

    def __init__(self) -> None:
        """Declare the parameters; everything else happens in configure."""
        super().__init__('recorder', TABLE)
        self._recording: Recording | None = None
        self._taken: dict[str, Taken] = {}
        self._refused: dict[str, tuple[list[str], str]] = {}  # types and reason by topic
        self._limits: dict[str, float] = {}
        self._loop: PeriodicLoop | None = None
        self._scan_timer: Any = None

    # -- life cycle -------------------------------------------------------------------------

    def configure(self) -> None:
        """Open the recording."""
        if not self.values['folder']:
            raise RollingError('folder is empty; give the folder of the recording')
        given = rate_limits(self.values['rate_limits'])
        self._limits = {self.resolve_topic_name(name): rate for name, rate in given.items()}
        folder = unused_folder(Path(self.values['folder']).expanduser())
        self._recording = Recording(
            folder, ('rolling_interfaces',), longest_queue=self.values['longest_queue']
        )
        self.get_logger().info(f'recording into {folder}')

    def activate(self) -> None:
        """Start to look for topics and to record them."""
        self._taken, self._refused = {}, {}
        self._scan()
        self._scan_timer = self.create_timer(
            self.values['scan_period'], self._scan, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._loop = PeriodicLoop(
            self._take,
            TAKE_PERIOD,
            name='taking',
            on_fault=self._fail,
            overruns=Overruns(self.values),
        )
        self._loop.start()

    def deactivate(self) -> None:
        """Stop to record."""
        if self._scan_timer is not None:
            self._scan_timer.cancel()
            self._scan_timer = None
        if self._loop is not None and self._loop.stop(STOP_TIMEOUT):
            self._loop = None
            self._take()

    def cleanup(self) -> None:
        """Close the recording."""
        if self._loop is not None:
            raise RollingError('the thread that takes the messages has not ended yet')
        for topic in self._taken.values():
            topic.source.destroy()
        recording, self._recording = self._recording, None
        if recording is None:
            return
        recording.close()
        self.get_logger().info(
            f'{recording.written} messages of {len(self._taken)} topics in {recording.folder}, '
            f'{recording.dropped + self._lost()} dropped'
        )

    # -- recording --------------------------------------------------------------------------

    def _wanted(self) -> set[str] | None:
        names = [n for n in self.values['topics'] if n]
        return {self.resolve_topic_name(n) for n in names} if names else None

    def _scan(self) -> None:
        wanted = self._wanted()
        for topic in self._taken.values():
            if topic.alone and self.count_publishers(topic.name) > 1:
                topic.alone, topic.lost = False, 0  # a gap may belong to another publisher
        for name, _ in self.get_topic_names_and_types():
            new = name not in self._taken and '/_action/' not in name
            if not new or (wanted is not None and name not in wanted):
                continue
            publishers = self.get_publishers_info_by_topic(name)
            offered = sorted({p.topic_type for p in publishers})
            if not offered or offered == self._refused.get(name, ([], ''))[0]:
                continue
            try:
                self._record(name, offered, publishers)
            except Exception as error:  # noqa: BLE001 - the others are recorded
                reason = f'{quoted(name)} is not recorded: {printable(error)}'
                self._refused[name] = offered, reason
                self.get_logger().warning(reason)

    def _record(self, name: str, offered: Sequence[str], publishers: Sequence[Any]) -> None:
        kind, class_ = self._first_known(offered)
        publishers = [p for p in publishers if p.topic_type == kind]
        latched = all(
            p.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in publishers
        )
        reliable = all(p.qos_profile.reliability == ReliabilityPolicy.RELIABLE for p in publishers)
        self._recording.add(Topic(name, kind, latched))
        profile = QoSProfile(
            depth=self.values['depth'],
            reliability=(
                ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT
            ),
            durability=(
                DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
            ),
        )
        source = PolledSubscription(self, class_, name, profile, raw=True, overridable_qos=False)
        thinning = Thinning(self._limits[name]) if name in self._limits else None
        self._taken[name] = Taken(name, source, alone=len(publishers) == 1, thinning=thinning)
        self._refused.pop(name, None)

    def _first_known(self, offered: Sequence[str]) -> tuple[str, type]:
        """Return a type that is known here, and its class; anybody may offer another one."""
        reason: Exception = RollingError('it has no type')
        for kind in offered:
            try:
                self._recording.check(kind)
                return kind, message_class(kind)
            except RollingError as error:
                reason = error
        raise reason

    def _take(self) -> None:
        came = []
        for topic in tuple(self._taken.values()):
            for data, info in topic.source.take_with_info(self.values['depth']):
                topic.note(info['publication_sequence_number'])
                stamp = info['received_timestamp'] or time.time_ns()
                if topic.thinning is None or topic.thinning.keeps(stamp):
                    came.append((stamp, topic.name, data))
        for stamp, name, data in sorted(came):
            self._recording.put(name, stamp, data)

    def _fail(self, error: Exception) -> None:
        self.get_logger().error(f'nothing is recorded any more: {printable(described(error))}')

    def _lost(self) -> int:
        return sum(topic.lost for topic in self._taken.values())

    # -- health -----------------------------------------------------------------------------

    @property
    def loop(self) -> PeriodicLoop | None:
        """The loop that takes messages."""
        return self._loop

    def health(self) -> Health:
        """Return the numbers of recorded and lost messages."""
        recording = self._recording
        if recording is None:
            return OK, 'not recording', {}
        values: dict[str, Any] = {
            'topics': len(self._taken),
            'written': recording.written,
            'lost before they came': self._lost(),
            'dropped here': recording.dropped,
            'topics not recorded': len(self._refused),
        }
        if recording.fault:
            return WARN, recording.fault, values
        if self._refused:
            _, values['last not recorded'] = next(reversed(self._refused.values()))
        missed = self._lost() + recording.dropped or (self._refused and self._wanted())
        return (WARN if missed else OK), 'recording', values


def record(folder: Path, topics: Sequence[str], namespace: str = '') -> int:
    """
    Record until a signal, then report the saved messages; return the exit status.

    Parameters
    ----------
    folder
        Folder of the recording.
    topics
        Topics; all if empty.
    namespace
        Namespace of the node, in which relative topics are.

    """
    arguments = ['--ros-args', '-p', f'folder:="{folder}"']
    if topics:
        arguments += ['-p', f'topics:={list(topics)}'.replace("'", '"')]
    if namespace:
        arguments += ['-r', f'__ns:=/{namespace.strip("/")}']
    return run_node(RecorderNode, args=arguments, make_executor=EventsExecutor)


def main() -> int:
    """Run the node."""
    return run_node(RecorderNode, make_executor=EventsExecutor)


if __name__ == '__main__':
    sys.exit(main())
