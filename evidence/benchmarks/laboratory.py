"""The laboratory: successes, damping, faults, and the timing of its loops."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
import time
from typing import Any, NamedTuple

from evidence.benchmarks.row import Row
import numpy as np
from numpy.typing import NDArray
from rolling_controller.answers import Answers
from rolling_controller.motion_watch import Unwatched
from rolling_dynamics.arrays import Array
from rolling_dynamics.hybrid_contact.from_contact_system import ObservedState
from rolling_robotics.trials.chain import HardwareInterface, Imperfections, STATED_SCALE
from rolling_robotics.trials.fault_table import FAULTS, inject_fault
from rolling_robotics.trials.run import build, CRITERIA, run_many, setting
from rolling_robotics.trials.trial import Record

PERIOD = 1e-3  # s
STATE, COMMAND = 27, 4  # numbers in shared memory: a count, then hand and object, or the control
PUNCTUAL = 2e-4  # s: a thread that wakes so late was held up by the machine
PRIORITY = 60  # among real-time threads
GIVE_UP = 0.05  # s: a thread that is later skips ahead
PATIENCE = 120.0  # s, for all to get ready


class Timing(NamedTuple):
    """
    One loop, turn by turn.

    Attributes
    ----------
    deadlines
        Of the monotonic clock [s], shape (k,).
    jitter
        Wake-up minus deadline [s], shape (k,).
    work
        Duration of what was done [s], shape (k,).
    duration
        From the first wake-up to the last [s].

    """

    deadlines: Array
    jitter: Array
    work: Array
    duration: float

    @property
    def rate(self) -> float:
        """Turns per second [Hz]."""
        return (len(self.jitter) - 1) / self.duration

    @property
    def late(self) -> NDArray[np.bool_]:
        """True for turns that ended after the next deadline, shape (k,)."""
        return np.asarray(self.jitter + self.work > PERIOD)

    @property
    def missed(self) -> float:
        """Fraction of the turns that ended after the next deadline."""
        return float(np.mean(self.late))

    def missed_beside(self, other: Timing) -> float:
        """Return the fraction of the turns that were late while another loop woke in time."""
        slow = other.jitter > PUNCTUAL
        starts = other.deadlines[slow] - PERIOD
        ends = other.deadlines[slow] + other.jitter[slow] + PERIOD
        misses = self.deadlines[self.late]
        done = misses + (self.jitter + self.work)[self.late]
        nearest = np.searchsorted(ends, misses)  # first slow wake-up that had not ended by then
        met = np.append(starts, np.inf)[nearest] < done
        return float(np.count_nonzero(~met) / self.late.size)


class LoopTiming(NamedTuple):
    """
    Timing of a loop: jitter, work and duration.

    Attributes
    ----------
    loop, floor
        The two.
    angle
        Turn of the object from upright in the end [rad].
    in_real_time
        Whether both had a real-time priority.

    """

    loop: Timing
    floor: Timing
    angle: float
    in_real_time: bool


def measure(seconds: float) -> LoopTiming:
    """
    Run loop, plant and floor.

    Parameters
    ----------
    seconds
        For so long [s].

    """
    context = get_context('spawn')
    jobs = [_controller, _plant, _floor]
    meeting = _Meeting(
        seconds=seconds,
        state=context.RawArray('d', STATE),
        command=context.RawArray('d', COMMAND),
        started=context.Barrier(len(jobs)),
        answers=context.Queue(),
    )
    processes = [context.Process(target=job, args=(meeting,), daemon=True) for job in jobs]
    for process in processes:
        process.start()
    found = dict(meeting.answers.get(timeout=PATIENCE + seconds) for _ in range(4))
    for process in processes:
        process.join(PATIENCE)
    return LoopTiming(**found)


class _Meeting(NamedTuple):
    """Objects that the processes have in common."""

    seconds: float
    state: Any
    command: Any
    started: Any
    answers: Any

    def begin(self) -> bool:
        """Ask for the priority, wait for the others, and return whether it was given."""
        from rolling_node_kit.signals import take_priority  # noqa: PLC0415  needs no ROS

        given = take_priority(PRIORITY)
        self.started.wait(PATIENCE)
        return given

    def views(self) -> tuple[Array, Array]:
        """Return state and command as arrays."""
        return np.frombuffer(self.state), np.frombuffer(self.command)


def _timing(noted: array[float]) -> Timing:
    """Return the timing of turns, from deadline, wake-up and end of each."""
    deadlines, woken, done = np.reshape(noted, (-1, 3)).T
    return Timing(deadlines, woken - deadlines, done - woken, float(woken[-1] - woken[0]))


def _put(shared: Array, values: Array) -> None:
    """Write, with a count that is odd meanwhile."""
    shared[0] += 1
    shared[1:] = values
    shared[0] += 1


def _get(shared: Array, out: Array) -> bool:
    """Read what is whole; return whether it was."""
    count = shared[0]
    out[:] = shared[1:]
    return bool(count == shared[0] and count % 2 == 0 and count > 0)


def _turn(meeting: _Meeting, turn: Callable[[float], None]) -> Timing:
    """Call a function of time at 1 kHz in the suite's loop."""
    from rolling_node_kit.periodic_loop import PeriodicLoop  # noqa: PLC0415  needs no ROS

    seconds, monotonic, noted = meeting.seconds, time.monotonic, array('d')
    meeting.begin()
    begin = monotonic()

    def tick() -> bool:
        woken = monotonic()
        turn(woken - begin)
        noted.extend((loop.deadline, woken, monotonic()))
        return woken - begin < seconds

    loop = PeriodicLoop(tick, PERIOD)
    loop.start()
    while loop.running:
        time.sleep(0.1)
    return _timing(noted)


def _controller(meeting: _Meeting) -> None:
    experiment = build('flip_up')
    law, laboratory = experiment.laws['closed_loop'](), experiment.laboratory
    observed = ObservedState(*laboratory.model())
    (out, into), state = meeting.views(), np.zeros(STATE - 1)
    answers = Answers(law, Unwatched(), Unwatched())

    def turn(t: float) -> None:
        if _get(out, state):
            x = observed.state(state[:13], state[13:])[0]
            _put(into, answers.command(round(t * 1e9), x))

    meeting.answers.put(('loop', _turn(meeting, turn)))


def _plant(meeting: _Meeting) -> None:
    known, exact = setting('flip_up'), Imperfections(shift=0.0, turn=0.0, transport=0)
    chain = HardwareInterface(known['laboratory'], known['start'], exact, 0)
    chain.machine.release()
    chain.killed.add('estimator')  # arm and object alone
    (into, out), control = meeting.views(), np.zeros(COMMAND - 1)

    def turn(_: float) -> None:
        known = _get(out, control)
        chain.sense()
        chain.act(control if known else None)
        _put(into, np.concatenate([chain.view.hand, chain.view.object_]))

    _turn(meeting, turn)
    x = chain.truth
    meeting.answers.put(('angle', float(x[0] + x[3])))


def _floor(meeting: _Meeting) -> None:
    seconds, monotonic, noted = meeting.seconds, time.monotonic, array('d')
    in_real_time = meeting.begin()
    begin = deadline = monotonic()
    while deadline < begin + seconds:
        woken = monotonic()
        noted.extend((deadline, woken, woken))
        deadline += PERIOD
        behind = monotonic() - deadline
        if behind > GIVE_UP:  # as the suite's loop does
            deadline += PERIOD * int(behind / PERIOD)
        elif behind < 0:
            time.sleep(-behind)
    meeting.answers.put(('floor', _timing(noted)))
    meeting.answers.put(('in_real_time', in_real_time))


TRIALS = range(2000, 2100)  # seeds on which nothing was tuned
SECONDS = 60.0  # of the loop
DAMPED = range(2000, 2006)


def rows() -> Iterator[Row]:
    """Yield the figures."""
    yield from _flip_up()
    yield from _throw_catch()
    yield from _damping()
    yield from _faults()
    yield from _loop()


def _successes(name: str, trials: Sequence[Record], goal: str) -> Row:
    slips = sum(any(e == 'slip' for _, e in trial.events) for trial in trials)
    limited = sum(trial.values['limited'] > 0 for trial in trials)
    failures = [f'{trial.seed}: {trial.ended}' for trial in trials if trial.ended]
    return Row(
        name=name,
        value=float(len(trials) - len(failures)),
        unit=f'of {len(trials)}',
        goal=goal,
        reference=f'with slip {slips}, with a joint at a limit {limited}'
        + (f'; first failure {failures[0]}' if failures else ''),
    )


def _flip_up() -> Iterator[Row]:
    laws = {
        'open_loop': ('replay', ''),
        'replay_balance': ('replay, then balance', 'at most 49'),
        'closed_loop': ('feedback, then balance', f'at least {len(TRIALS)}'),
    }
    trials = list(run_many('flip_up', laws, TRIALS, Imperfections().scaled(STATED_SCALE)))
    for law, (name, goal) in laws.items():
        own = [trial for trial in trials if trial.law == law]
        yield _successes(f'flip-up: {name}', own, goal)


def _throw_catch() -> Iterator[Row]:
    trials = list(run_many('throw_catch', ['closed_loop'], TRIALS))
    yield _successes('throw and catch', trials, f'at least {0.95 * len(TRIALS):g}')


def _damping() -> Iterator[Row]:
    damped, free = (
        np.array(
            [
                CRITERIA['damping'].outcome(t).time
                for t in run_many('damping', [law], DAMPED, to_the_end=True, duration=duration)
            ]
        )
        for law, duration in (('closed_loop', 5.0), ('open_loop', 30.0))
    )
    yield Row(
        name='rocking: time to rest alone over that under control, least',
        value=float((free / damped).min()),
        goal='at least 5',
        reference=f'{np.median(free):.3g} s alone, {np.median(damped):.3g} s under control, '
        f'to a tenth; {len(DAMPED)} trials each',
    )


def _faults() -> Iterator[Row]:
    for fault in FAULTS:
        row = inject_fault(fault)
        faster = row.speed_after / row.speed_before
        yield Row(
            name=f'{row.name}: {"hand at rest after" if fault.stops else "borne"}',
            value=row.rest if fault.stops else faster,
            unit='s' if fault.stops else 'times the commanded speed',
            goal='at most 0.5' if fault.stops else f'at most {fault.faster}',
            reference=f'{row.reaction or "nothing reported"} after {1e3 * row.noticed:.0f} ms; '
            f'{faster:.2f} times the speed, {1e3 * row.way:.0f} mm',
        )


def _loop() -> Iterator[Row]:
    found = measure(SECONDS)
    loop, floor = found.loop, found.floor
    yield Row(
        name='loop of 1 kHz: turns per second',
        value=loop.rate,
        unit='Hz',
        goal='at least 999',
        reference=f'bare thread {floor.rate:.1f}, '
        f'both {"in real time" if found.in_real_time else "of ordinary priority"}; '
        f'object {found.angle:+.3f} rad from upright',
    )
    yield Row(
        name='loop of 1 kHz: deadlines missed above the floor',
        value=100 * (loop.missed - floor.missed),
        unit='%',
        goal='at most 0.1',
        reference=f'{100 * loop.missed:.3g} % of {len(loop.jitter)}, '
        f'bare thread {100 * floor.missed:.3g} %',
    )
    name = 'loop of 1 kHz: deadlines missed while the bare thread woke in time'
    against = 'within 0.2 ms, from a period before to a period after'
    yield Row(name, 100 * loop.missed_beside(floor), '%', reference=against)
    late, bare = (1e6 * float(np.quantile(t.jitter, 0.99)) for t in (loop, floor))
    name = 'loop of 1 kHz: jitter above the floor, 99 of 100'
    against = f'{late:.0f} us, bare thread {bare:.0f} us'
    yield Row(name, late - bare, 'us', 'at most 300', against)
    yield Row(
        name="loop of 1 kHz: controller's own work",
        value=1e6 * float(np.median(loop.work)),
        unit='us',
        goal='at most 50',
        reference=f'median; mean {1e6 * loop.work.mean():.1f}, '
        f'99 of 100 {1e6 * float(np.quantile(loop.work, 0.99)):.1f} us',
    )
