"""Base of nodes with a loop: a thread of its own, enable and stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
import time
from typing import Any

from rolling_dynamics.errors import SimulationError
from rolling_node_kit.overruns import Overruns
from rolling_node_kit.parameters import fixed, OVERRUN, Parameter
from rolling_node_kit.periodic_loop import PeriodicLoop
from rolling_node_kit.suite_node import SuiteNode

LONGEST_WAIT = 0.02  # between two looks whether the waiting is over [s]
LOCKSTEP_REPEAT = 0.05  # until a state without an answer is published again [s]


class TurnTaking:
    """
    Waits for answers.

    Attributes
    ----------
    answered
        Stamp of the newest state that was answered [ns]; 0 while nobody answers.
    over
        Whether nothing is waited for any more: the node is to stop.

    """

    def __init__(self) -> None:
        """Wait for nobody until a first answer has come."""
        self.answered, self.over = 0, False

    def note(self, stamp: int) -> None:
        """Take an answer to the state of this stamp [ns]."""
        self.answered = stamp

    def wait(
        self,
        stamp: int,
        poll: Callable[[], None],
        pause: Callable[[float], None],
        repeat: Callable[[], None] = lambda: None,
        *,
        timeout: float,
    ) -> None:
        """
        Wait for the answer to a state, if a controller is active.

        Parameters
        ----------
        stamp
            Stamp of the state [ns].
        poll
            Takes received messages, and calls :meth:`note`.
        pause
            Returns when a message came, or after the given number of seconds.
        repeat
            Publishes the state again: readers do not acknowledge states.
        timeout
            Time after which it no longer waits until an answer comes [s].

        """
        begin = time.monotonic()
        end, again = begin + timeout, begin + LOCKSTEP_REPEAT
        while self.answered < stamp:
            poll()
            if not self.answered or self.over or time.monotonic() > end:
                self.answered = 0
                return
            if self.answered >= stamp:
                return
            if time.monotonic() > again:
                again = time.monotonic() + LOCKSTEP_REPEAT
                repeat()
            pause(LONGEST_WAIT)


STOP_TIMEOUT = 0.8  # for the loop to end [s]
LOOK_PERIOD = 0.02  # longest time between two turns, in simulated time [s]
CLOCK_PERIOD = 0.01  # of /clock, in simulated time [s]
RATE = fixed('rate', 1000.0, 'loop rate', limits=(50.0, 2000.0), unit='Hz')
LOOP_TABLE = (RATE, *OVERRUN)


class LoopNode(SuiteNode):
    """
    Lifecycle node with a loop.

    Subclasses override :meth:`set_up`, :meth:`begin`, :meth:`tick` and :meth:`wind_down`.

    Attributes
    ----------
    sim_time
        Whether the nodes take turns in simulated time; known from configure on.
    stamped
        In simulated time the newest stamp that came, which is the time [ns]; 0 before.
    turns
        Who waits for whom in simulated time.

    """

    def __init__(self, name: str, table: Sequence[Parameter], **options: Any) -> None:
        """Declare the parameters; ``options`` go to :class:`SuiteNode`."""
        super().__init__(name, table, **options)
        self._loop: PeriodicLoop | None = None
        self._fault = ''
        self.sim_time, self.stamped = False, 0
        self.turns = TurnTaking()

    # -- for subclasses ---------------------------------------------------------------------

    def set_up(self) -> None:
        """Load, check and create everything."""

    def begin(self, now: int) -> None:
        """Get ready for the first tick; the time is the node's [ns]."""

    def tick(self) -> None:
        """Do one turn."""

    def wait(self, seconds: float) -> None:
        """In simulated time wait for what :meth:`tick` answers, at most this long [s]."""
        time.sleep(seconds)

    def skip(self, seconds: float) -> None:
        """Note that the loop was so late that it gave up this time [s]."""

    def wind_down(self) -> None:
        """Leave everything safe while the loop still runs."""

    def clean_up(self) -> None:
        """Forget what ``set_up`` made."""

    # -- life cycle -------------------------------------------------------------------------

    def configure(self) -> None:
        """Create services and the members of the subclass."""
        self.sim_time = bool(self.get_parameter('use_sim_time').value)
        self.set_up()
        self.serve_switch()

    def activate(self) -> None:
        """Start the loop."""
        self._fault, self.stamped, self.turns.over = '', 0, False
        self.begin(self.now())
        if self.enabled:
            self.alarm = ''
        self._loop = PeriodicLoop(
            self.tick,
            self.period(),
            name='loop',
            on_skip=self.skip,
            on_fault=self._fail,
            overruns=None if self.sim_time else Overruns(self.values),
            on_overrun=self._overrun,
            wait=self.wait if self.sim_time else time.sleep,
        )
        self._loop.start()

    def period(self) -> float:
        """Return the time between two turns of the loop [s], the longest in simulated time."""
        return LOOK_PERIOD if self.sim_time else 1.0 / float(self.values['rate'])

    def deactivate(self) -> None:
        """Leave everything safe, then stop the loop."""
        if self._loop is None:
            return
        if self._loop.running:
            self.wind_down()
        self.turns.over = True
        if not self._loop.stop(STOP_TIMEOUT):
            raise SimulationError('the loop has not ended yet')
        self._loop = None

    def cleanup(self) -> None:
        """Forget what ``set_up`` made, once the loop has ended."""
        if self._loop is not None and not self._loop.stop(STOP_TIMEOUT):
            raise SimulationError('the loop has not ended yet')
        self._loop = None
        self.clean_up()

    def _fail(self, error: Exception) -> None:
        self._fault = f'the loop failed: {type(error).__name__}: {error}'
        self.get_logger().error(self._fault)

    def _overrun(self, text: str) -> None:
        self.enabled, self.alarm = False, text
        self.get_logger().error(f'stopped until ~/enable: {text}')
        self.switch(on=False)

    # -- helpers ----------------------------------------------------------------------------

    def now(self) -> int:
        """Return the time of the node [ns]."""
        return self.stamped if self.sim_time else int(self.get_clock().now().nanoseconds)

    @property
    def loop(self) -> PeriodicLoop | None:
        """The loop of this node."""
        return self._loop

    def due(self, turn: int, rate: str, offset: int = 0) -> bool:
        """
        Return whether something at a lower rate is due in a turn of the loop.

        Parameters
        ----------
        turn
            Number of the turn.
        rate
            Parameter of the lower rate, which is kept on the average; at most once a turn.
        offset
            By how many turns it is due later, so that not everything is due in one.

        """
        own, n = self.values['rate'], turn - offset
        lower = min(self.values[rate], own)
        return math.floor(n * lower / own) > math.floor((n - 1) * lower / own)
