"""One protocol of laws: from memory, inputs and time to memory and output."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.rolling_system import Entry, Layout, RollingSystem
from rolling_dynamics.errors import ParameterError

M = TypeVar('M')  # memory of a law
R = TypeVar('R')  # result of a motion

STATE, MODE, VELOCITY = 'state', 'mode', 'velocity'
TOUCHING = Entry(MODE, ('touching',), '', text='1 while the object touches the hand, else 0')
COMMANDED = Entry(
    VELOCITY,
    tuple(f'{VELOCITY}_{way}' for way in ('forward', 'left', 'turn')),
    '',
    text='commanded velocity [m/s, m/s, rad/s]',
)
VELOCITY_W = Entry(
    'velocity_W', ('v_x', 'v_y', 'turn'), '', 'W', text='commanded velocity [m/s, m/s, rad/s]'
)


class Law(Protocol[M]):
    """
    A control law, or an estimator.

    Attributes
    ----------
    inputs, output
        Layouts of what a step takes and gives. The inputs' entries are named by what they are:
        ``state`` (measured or estimated), ``mode``, ``velocity``, a measurement, a set point.
    period
        Time between two steps [s]; None where a step may be made at any time.
    opaque
        Why a step is not a CasADi function of memory, inputs and time; empty where it is one,
        which :func:`as_function` returns.

    """

    @property
    def inputs(self) -> Layout: ...  # noqa: D102
    @property
    def output(self) -> Layout: ...  # noqa: D102
    @property
    def period(self) -> float | None: ...  # noqa: D102
    @property
    def opaque(self) -> str: ...  # noqa: D102

    def start(self, before: M | None = None) -> M:
        """Return the memory at the start; after a break, with what an earlier one still knows."""
        ...

    def step(self, memory: M, inputs: ArrayLike, t: float) -> tuple[M, Array]:
        """
        Return the memory after a step, and the output.

        Parameters
        ----------
        memory
            Memory before the step; it stays as it is.
        inputs
            Shape (inputs.size,), in the units of the layout; not a number where nothing is
            measured.
        t
            Time of the inputs [s], not decreasing.

        Returns
        -------
        tuple of memory and Array
            The output is the caller's own array, shape (output.size,).

        """
        ...


def state_inputs(system: RollingSystem, *entries: Entry) -> Layout:
    """Return the inputs of a law that takes the state of a system, then these entries."""
    return Layout((Entry(STATE, tuple(system.state.names), ''), *entries))


def gathered(inputs: Layout, signals: Mapping[str, Array]) -> Array:
    """
    Return the inputs of a law, shape (inputs.size,).

    Parameters
    ----------
    inputs
        Layout of the inputs.
    signals
        Arrays by the names of its entries, in the units of the layout; those that have a default
        may be left out.

    """
    parts = [
        signals[e.name] if e.name in signals else np.array(inputs.defaults[e.name])
        for e in inputs.entries
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def check_inputs(law: Law[Any], names: Sequence[str]) -> None:
    """Raise ParameterError where a law takes an input that is not one of these."""
    missing = [e.name for e in law.inputs.entries if e.name not in {*names, *law.inputs.defaults}]
    if missing:
        raise ParameterError(
            f'the law takes the inputs {", ".join(missing)}, which are not measured here; there '
            f'are {", ".join(names)}'
        )


def answered(
    law: Law[M], motion: Generator[tuple[float, ArrayLike], Array, R], before: M | None = None
) -> tuple[R, M]:
    """
    Run a motion in lockstep with a law: the only loop that steps a law outside the nodes.

    Parameters
    ----------
    law
        The law.
    motion
        Yields time [s] and inputs, shape (inputs.size,), and is sent the output of that step.
    before
        Memory before a break, of which the start may keep something.

    Returns
    -------
    tuple of result and memory
        What the motion returns, and the memory of the law at its end.

    """
    memory = law.start(before)
    try:
        t, inputs = next(motion)
        while True:
            memory, output = law.step(memory, inputs, t)
            t, inputs = motion.send(output)
    except StopIteration as end:
        return end.value, memory


def replay(
    law: Law[M], inputs: ArrayLike, times: ArrayLike | None = None, before: M | None = None
) -> tuple[Array, M]:
    """
    Return the outputs of a law from its start, and its memory at the end.

    Parameters
    ----------
    law
        The law.
    inputs
        Recorded inputs, shape (k, inputs.size), a row a step.
    times
        Time of each [s]; a period apart if None.
    before
        Memory before a break, of which the start may keep something.

    Returns
    -------
    tuple of NDArray and memory
        The outputs have the shape (k, output.size).

    """
    rows = np.asarray(inputs, dtype=float)
    if times is None:
        times = np.arange(len(rows)) * (law.period or 0.0)

    def recorded() -> Generator[tuple[float, ArrayLike], Array, list[Array]]:
        outputs = []
        for row, t in zip(rows, np.asarray(times, dtype=float).tolist(), strict=True):
            outputs.append((yield t, row))
        return outputs

    outputs, memory = answered(law, recorded(), before)
    return np.array(outputs, dtype=float).reshape(len(rows), law.output.size), memory


class Memoryless:
    """A law that is a function of time and inputs; see :class:`Law`."""

    period: float | None = None
    opaque = 'a function of Python'

    def __init__(
        self, inputs: Layout, output: Layout, function: Callable[[float, Array], ArrayLike]
    ) -> None:
        """Take the layouts and ``(t, inputs) -> output``."""
        self.inputs, self.output, self._function = inputs, output, function

    def start(self, before: None = None) -> None:
        """Return that there is no memory."""

    def step(self, memory: None, inputs: ArrayLike, t: float) -> tuple[None, Array]:  # noqa: ARG002
        """Return the output at a time [s]; see :class:`Law`."""
        return None, np.array(self._function(t, np.asarray(inputs, dtype=float)), dtype=float)


class StateFeedback(Memoryless):
    """A law that is a function of time and state; see :class:`Law`."""

    def __init__(
        self, system: RollingSystem, function: Callable[[float, Array], ArrayLike]
    ) -> None:
        """Take the system that it controls, and ``(t, x) -> u``."""
        super().__init__(state_inputs(system), system.control, function)


class LawFunction(NamedTuple):
    """
    A law as a function of vectors.

    Attributes
    ----------
    function
        ``(memory, inputs, t, given) -> memory, then output``: scalar expressions, all dense.
    memory
        At the start, shape (k,).
    given
        From a time [s] to the numbers that it takes besides: gains, the planned motion.

    """

    function: ca.Function
    memory: Array
    given: Callable[[float], Array]


def as_function(law: Law[Any]) -> LawFunction:
    """Return a law as a function of vectors; raise ParameterError where it is opaque."""
    if law.opaque:
        raise ParameterError(f'this law is not a function of vectors: {law.opaque}')
    made: LawFunction = law.as_function()  # type: ignore[attr-defined]
    return made


def written(
    law: Law[Any],
    step: Callable[[ca.SX, ca.SX, ca.SX, ca.SX], tuple[ca.SX, ca.SX]],
    given: Callable[[float], Array] | ArrayLike = (),
    memory: ArrayLike = (),
) -> LawFunction:
    """
    Return a law as a function of vectors.

    Parameters
    ----------
    law
        The law.
    step
        From symbols of memory, inputs, time and what is given to memory and output.
    given, memory
        See :class:`LawFunction`; what is given may be the same at all times.

    """
    start = np.array(memory, dtype=float)
    if callable(given):
        numbers = given
    else:
        same = np.array(given, dtype=float)

        def numbers(_: float) -> Array:
            return same

    sizes = {'z': start.size, 'y': law.inputs.size, 't': 1, 'g': len(numbers(0.0))}
    symbols = [ca.SX.sym(name, size) for name, size in sizes.items()]
    out = ca.densify(ca.cse(ca.vertcat(*step(*symbols))))
    return LawFunction(ca.Function('law', symbols, [out]), start, numbers)


def split(both: ca.SX, size: int) -> tuple[ca.SX, ca.SX]:
    """Return the first numbers, such as the memory of a law, and the rest, such as its output."""
    first, rest = ca.vertsplit(both, [0, size, both.numel()])
    return first, rest


class FunctionLaw:
    """A law without memory that is a CasADi function of inputs and time; see :class:`Law`."""

    period: float | None = None
    opaque = ''

    def __init__(
        self, inputs: Layout, output: Layout, function: ca.Function, given: ArrayLike = ()
    ) -> None:
        """Take the layouts, ``(inputs, t, given) -> output``, and the numbers given."""
        self.inputs, self.output = inputs, output
        self._function, self._given = function, np.array(given, dtype=float)
        self._fast = FastFunction(compiled(function)[0])

    def start(self, before: None = None) -> None:
        """Return that there is no memory."""

    def step(self, memory: None, inputs: ArrayLike, t: float) -> tuple[None, Array]:  # noqa: ARG002
        """Return the output at a time [s]; see :class:`Law`."""
        return None, self._fast(inputs, t, self._given)

    def as_function(self) -> LawFunction:
        """Return it as a function of vectors."""
        f = self._function
        return written(self, lambda z, y, t, g: (z, f(y, t, g)), self._given)


class Planned(Protocol):
    """A motion with controls over time."""

    def control_at(self, t: float) -> ArrayLike:
        """Return the control at a time [s], shape (control.size,)."""
        ...


class OpenLoop(StateFeedback):
    """The planned control, whatever the state."""

    opaque = ''

    def __init__(self, system: RollingSystem, plan: Planned) -> None:
        """Play back this plan of a system."""
        self.control_at = plan.control_at
        super().__init__(system, lambda t, _: plan.control_at(t))

    def as_function(self) -> LawFunction:
        """Return it as a function of vectors."""
        given = lambda t: np.array(self.control_at(t), dtype=float)  # noqa: E731
        return written(self, lambda z, _y, _t, g: (z, g), given)


class GoingOn:
    """A law that goes on with what it remembers, by another clock; see :class:`Law`."""

    def __init__(self, law: Law[Any], memory: Any, since: float) -> None:  # noqa: ANN401
        """Take the law, its memory, and when its time was zero [s]."""
        self._law, self._memory, self._since = law, memory, since
        self.inputs, self.output, self.period = law.inputs, law.output, law.period
        self.opaque = law.opaque

    def start(self, before: object = None) -> object:
        """Return the memory that it goes on with."""
        return self._memory if before is None else before

    def step(self, memory: object, inputs: ArrayLike, t: float) -> tuple[object, Array]:
        """Step as the law does; see :class:`Law`."""
        return self._law.step(memory, inputs, t - self._since)

    def as_function(self) -> LawFunction:
        """Return it as a function of vectors."""
        f, start = as_function(self._law), () if self._memory is None else self._memory
        return written(
            self,
            lambda z, y, t, g: split(f.function(z, y, t - self._since, g), z.numel()),
            lambda t: f.given(t - self._since),
            start,
        )


class Course(NamedTuple):
    """
    The motion that a law keeps at present.

    Attributes
    ----------
    times, states
        The motion, shapes (k,) [s] and (k, n): errors are those from it.
    end
        When it is over [s]; infinite as long as that is open.
    goal
        State in which it is to end.
    shortfall
        Why that is not what was asked for; empty where it is.
    missed
        What a state has of goal error; its distance from ``goal`` where None.

    """

    times: Array
    states: Array
    end: float
    goal: Array
    shortfall: str = ''
    missed: Callable[[Array], float] | None = None

    def at(self, t: float) -> Array:
        """Return the state that is to be kept at a time [s]; held at the ends."""
        times, states = self.times, self.states
        k = int(np.searchsorted(times, t, side='right')) - 1
        k = min(max(k, 0), len(times) - 2)
        s = min(max((t - times[k]) / (times[k + 1] - times[k]), 0.0), 1.0)
        return np.asarray((1.0 - s) * states[k] + s * states[k + 1])


class Following(NamedTuple):
    """
    A law and the motion that it keeps.

    Attributes
    ----------
    law
        The law.
    times, states
        The motion, shapes (k,) [s] and (k, n): errors are those from it.
    warning
        What a user should know about the law, or the empty string.
    holds
        Whether the law goes on to hold the end of the motion when that is over.
    course
        Asked for the motion that a law keeps which changes it on the way; None for one that stays
        with ``times`` and ``states``.
    hold
        Law that holds the end of the motion from then on; None where nothing does.
    notice
        Which errors the law does not correct, or the empty string.
    left
        From a state at the start to the error that they leave at the end, in the tangent space.

    """

    law: Law[Any]
    times: Array
    states: Array
    warning: str = ''
    holds: bool = False
    course: Callable[[], Course] | None = None
    hold: Law[Any] | None = None
    notice: str = ''
    left: Callable[[Array], Array] | None = None

    def of_goal(
        self, x: Array, norm: Callable[[Array], float], tolerance: float
    ) -> tuple[bool, str]:
        """
        Return whether what the law does not correct makes it miss the goal, and what to report.

        Parameters
        ----------
        x
            State at the start.
        norm
            Of the part of an error at the end that the goal counts.
        tolerance
            What that may be.

        """
        if not self.notice or self.left is None:
            return False, ''
        left = norm(self.left(x))
        if left <= tolerance:
            how = f'this goal leaves them free: from here {left:.2g}'
        else:
            how = f'this goal needs them, so plan from the present state: from here {left:.3g}'
        return left > tolerance, f'{self.notice}: {how} stays, goal_tolerance is {tolerance:g}'
