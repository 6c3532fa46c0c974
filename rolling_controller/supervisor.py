"""
Supervisor of plausibility: measured motion against predicted motion, as a pure step.

Innovations are tested by their sum of normalised squares over a window, against chi-squared. A
first disagreement reopens the estimate, with a limited command: the object may have been pushed. A
second one, before the motion agreed for a while, is a fault.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cache
import math
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from scipy.special import chdtri

OPENING = 0.05  # s, in which a restarted estimator finds a velocity
CHANCE = 1e-8  # of a false alarm in a window
RATE_WINDOW = 1.0  # s, over which samples are counted
FEWEST = 0.25  # of the samples that the period gives in that time
MANY, DENSEST = 4, 0.6  # intervals in a row, and the least that they may last, over the period


@dataclass(frozen=True, kw_only=True)
class Source:
    """
    Declaration of a source of measurements.

    Attributes
    ----------
    name
        Name of the measurement, for messages.
    period
        Time between two samples [s]; not checked where None.
    noise, resolution
        Standard deviation and step of the measured numbers, in their units. Repeated samples are
        not evidence where the noise is zero.
    low, high
        Minimum and maximum position, in the units of the sample's ``position``.
    window
        Time over which innovations are summed [s].
    agreement
        Time after which a reopened motion counts as followed again [s].
    opening
        Time after a first disagreement in which another one belongs to it [s]: an estimator may
        restart.

    """

    name: str
    period: float | None = None
    noise: float = 0.0
    resolution: float = 1e-12
    low: Array = field(default_factory=lambda: np.full(1, -math.inf))
    high: Array = field(default_factory=lambda: np.full(1, math.inf))
    window: float = 0.1
    agreement: float = 1.0
    opening: float = 0.0


class Sample(NamedTuple):
    """
    One measurement and its expectation.

    Attributes
    ----------
    innovation, covariance
        Measured minus predicted, shape (n,), and its covariance (n, n), or the variances (n,).
        Innovations must be white, as a filter's are.
    content
        All measured numbers; NaN where nothing was measured.
    position
        Values that have to lie between ``low`` and ``high``.

    """

    innovation: Array
    covariance: Array
    content: Array
    position: Array = np.zeros(1)


class Memory(NamedTuple):
    """
    Memory of the supervisor after a sample.

    Attributes
    ----------
    squares
        Time [s], sum of normalised squares, and degrees of freedom of each sample in the window.
    times
        Of the samples that are counted [s].
    content, equal
        Newest numbers, and how many samples in a row repeated them.
    reopened
        When the estimate was reopened last [s].
    fault
        Why the source is not believed; empty while it is.

    """

    squares: tuple[tuple[float, float, int], ...] = ()
    times: tuple[float, ...] = ()
    content: Array | None = None
    equal: int = 0
    reopened: float = -math.inf
    fault: str = ''

    def resumed(self, after: float) -> Memory:
        """Return what counts after a gap [s], in which the motion was lost, but no fault."""
        times = self.times if after < RATE_WINDOW else ()
        return self._replace(squares=(), times=times, reopened=-math.inf)


class Verdict(NamedTuple):
    """
    Consequences of a sample.

    Attributes
    ----------
    fault
        Reason to bring the machine to rest; empty where it may continue.
    reopen
        Whether the estimate has to start at this sample.
    limited
        Whether to limit the command.
    possible
        Whether the position is possible.

    """

    fault: str = ''
    reopen: bool = False
    limited: bool = False
    possible: bool = True


@cache
def threshold(degrees: int) -> float:
    """Return the sum of squares that chance exceeds once in 1e8 windows."""
    return float(chdtri(degrees, CHANCE))  # scipy.stats has it too, but takes 1 s to import


def step(source: Source, memory: Memory, sample: Sample, t: float) -> tuple[Memory, Verdict]:
    """
    Return the memory after a sample, and the consequences.

    Parameters
    ----------
    source
        Declaration of the source.
    memory
        The memory before.
    sample
        Measurement and expectation.
    t
        Time of the sample [s], later than those before.

    """
    if memory.fault:
        return memory, Verdict(memory.fault)
    visible, before = bool(np.isfinite(sample.content).all()), memory.times
    memory = _noted(memory, sample, t, source.window, visible=visible)
    fault = _rate(source, before, memory.times) or _repeated(source, memory)
    outside = _outside(source, sample) if visible else ''
    reason = outside or _disagreement(source, memory)
    since = t - memory.reopened
    if not fault and reason and source.opening < since <= source.agreement:
        fault = reason
    if fault:
        return memory._replace(fault=fault), Verdict(fault)
    if reason:
        reopened = memory.reopened if since <= source.opening else t
        memory = memory._replace(squares=(), reopened=reopened)
    limited = t - memory.reopened <= source.window
    return memory, Verdict('', bool(reason), limited, not outside)


def _noted(memory: Memory, sample: Sample, t: float, window: float, *, visible: bool) -> Memory:
    times = memory.times[bisect_right(memory.times, t - RATE_WINDOW) :]
    if not visible:
        return memory._replace(times=(*times, t), content=None, equal=0)
    r, S = sample.innovation, sample.covariance
    square = float(r @ (r / S if S.ndim == 1 else np.linalg.solve(S, r)))
    kept = tuple(row for row in memory.squares if row[0] > t - window)
    same = memory.content is not None and np.array_equal(memory.content, sample.content)
    return memory._replace(
        squares=(*kept, (t, square, r.size)) if r.size else kept,
        times=(*times, t),
        content=sample.content.copy(),
        equal=memory.equal + 1 if same else 0,
    )


def _outside(source: Source, sample: Sample) -> str:
    if ((sample.position >= source.low) & (sample.position <= source.high)).all():
        return ''
    where = ', '.join(f'{v:.4g}' for v in sample.position.tolist())
    return f'{source.name} is measured at ({where}) m, which is impossible'


def _disagreement(source: Source, memory: Memory) -> str:
    total = sum(square for _, square, _ in memory.squares)
    degrees = sum(n for _, _, n in memory.squares)
    if not degrees or total <= threshold(degrees):
        return ''
    return (
        f'{source.name} does not move as the commands predict: squared innovations over '
        f'{source.window:g} s sum to {total:.3g}, by chance to {threshold(degrees):.3g} at most'
    )


def _repeated(source: Source, memory: Memory) -> str:
    """Return that a source with noise repeats itself, where chance would not."""
    if not (memory.equal and source.noise > 0.0 and memory.content is not None):
        return ''
    # two draws of a normal distribution are the same step of the resolution
    chance = min(1.0, source.resolution / (2.0 * math.sqrt(math.pi) * source.noise))
    if memory.equal * memory.content.size * math.log(chance) > math.log(CHANCE):
        return ''
    return f'{source.name} is measured with noise, and {memory.equal + 1} samples are equal'


def _rate(source: Source, before: tuple[float, ...], times: tuple[float, ...]) -> str:
    """Return that samples come more often or more rarely than the period allows."""
    if source.period is None:
        return ''
    if len(times) > MANY and times[-1] - times[-1 - MANY] < MANY * source.period * DENSEST:
        number, span = MANY + 1, times[-1] - times[-1 - MANY]
    elif (
        before
        and before[0] <= times[-1] - RATE_WINDOW
        and (len(times) * source.period < FEWEST * RATE_WINDOW)
    ):
        number, span = len(times), RATE_WINDOW
    else:
        return ''
    return (
        f'{source.name}: {number} samples in {span:.2f} s, with a period of {source.period:.3g} s'
    )
