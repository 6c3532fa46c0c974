"""One protocol of laws: from memory, inputs and time to memory and output."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from inspect import signature
from typing import Any, NamedTuple, Protocol, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.rolling_system import Entry, Layout, RollingSystem
from rolling_dynamics.errors import ParameterError, quoted

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
    Control law, or estimator.

    Attributes
    ----------
    inputs, output
        Layouts of the inputs and the output of a step. Entries of the inputs are named by their
        quantity: ``state`` (measured or estimated), ``mode``, ``velocity``, a measurement, a set
        point.
    period
        Time between two steps [s]; None where a step may happen at any time.
    opaque
        Reason why a step is not a CasADi function of memory, inputs and time; empty where it is
        one, which :func:`as_function` returns.

    Examples
    --------
    >>> from rolling_controller import Hold, Law
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('two_wheeler')
    >>> law: Law = Hold(s.system, s.p, s.x0)
    >>> memory, u = law.step(law.start(), s.x0, 0.0)

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
        """Return the memory at the start; after a break it may keep parts of the earlier one."""
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


def sources_of(law: Law[Any]) -> Mapping[str, Callable[[], Array]]:
    """Return sources of inputs that a law makes itself, by name: shape (size,), in their units."""
    found: Mapping[str, Callable[[], Array]] = getattr(law, 'sources', {})
    return found


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
        Memory before a break; the start may keep parts of it.

    Returns
    -------
    tuple of result and memory
        Return value of the motion, and the memory of the law at its end.

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
        Memory before a break; the start may keep parts of it.

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


def law_named(laws: Mapping[str, Callable[[], R]], name: str, of: str) -> R:
    """Return the law of a factory, or raise ParameterError with the known names."""
    if name not in laws:
        raise ParameterError(f'{of} has the laws {", ".join(laws)}; got {quoted(name)}')
    return laws[name]()


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


Step = Callable[[ca.SX, ca.SX, ca.SX, ca.SX], tuple[ca.SX, ca.SX | ArrayLike]]


def as_function(law: Law[Any]) -> LawFunction:
    """Return a law as a function of vectors; raise ParameterError where it is opaque."""
    if law.opaque:
        raise ParameterError(f'this law is not a function of vectors: {law.opaque}')
    made: LawFunction = law.as_function()  # type: ignore[attr-defined]
    return made


def written(
    law: Law[Any],
    step: ca.Function | Step,
    given: Callable[[float], ArrayLike] | ArrayLike = (),
    memory: ArrayLike = (),
) -> LawFunction:
    """
    Return a law as a function of vectors.

    Parameters
    ----------
    law
        The law.
    step
        ``(memory, inputs, t, given) -> memory, output`` of symbols; or the function itself.
    given, memory
        See :class:`LawFunction`; ``given`` may be constant.

    """
    start = np.array(memory, dtype=float)
    same = np.zeros(0) if callable(given) else np.array(given, dtype=float)

    def numbers(t: float) -> Array:
        return np.asarray(given(t), dtype=float) if callable(given) else same

    if not isinstance(step, ca.Function):
        sizes = {'z': start.size, 'y': law.inputs.size, 't': 1, 'g': len(numbers(0.0))}
        symbols = [ca.SX.sym(name, size) for name, size in sizes.items()]
        out = ca.densify(ca.cse(ca.vertcat(*step(*symbols))))
        step = ca.Function('law', symbols, [out])
    return LawFunction(step, start, numbers)


def split(both: ca.SX, size: int) -> tuple[ca.SX, ca.SX]:
    """Return the first numbers, such as the memory of a law, and the rest, such as its output."""
    first, rest = ca.vertsplit(both, [0, size, both.numel()])
    return first, rest


class FunctionLaw:
    """
    A law that is one CasADi function, by which it also steps; see :class:`Law`.

    Examples
    --------
    >>> from rolling_dynamics.contract import Entry, Layout
    >>> one = Layout((Entry('y', ('y',), 'm'),)), Layout((Entry('u', ('u',), 'N'),))
    >>> integral = lambda z, y, t, given: (z + y, -given * (z + y))
    >>> law = FunctionLaw(*one, integral, [2.0], memory=[0.0])
    >>> law.step(law.start(), [1.5], 0.0)
    (array([1.5]), array([-3.]))

    """

    period: float | None = None
    opaque = ''

    def __init__(
        self,
        inputs: Layout,
        output: Layout,
        step: ca.Function | Step,
        given: Callable[[float], ArrayLike] | ArrayLike = (),
        memory: ArrayLike = (),
    ) -> None:
        """
        Write the function.

        Parameters
        ----------
        inputs, output
            Layouts of the law.
        step
            See :func:`written`; or the function of :class:`LawFunction`, which is compiled, or a
            function ``(inputs, t, given)``.
        given, memory
            See :func:`written`.

        """
        self.inputs, self.output = inputs, output
        if isinstance(step, ca.Function) and step.n_in() == 3:
            bare = step
            step = lambda z, y, t, given: (z, bare(y, t, given))  # noqa: E731
        self._one = written(self, step, given, memory)
        whole = isinstance(step, ca.Function)
        self._fast = FastFunction(compiled(step)[0] if whole else self._one.function)

    def as_function(self) -> LawFunction:
        """Return it as a function of vectors."""
        return self._one

    def start(self, before: Array | None = None) -> Array:  # noqa: ARG002
        """Return the memory at the start; see :class:`Law`."""
        return self._one.memory.copy()

    def step(self, memory: Array | None, inputs: ArrayLike, t: float) -> tuple[Array, Array]:
        """Return the memory, and the output at a time [s]; see :class:`Law`."""
        self._fast.renew()
        z = self._one.memory if memory is None else memory
        out = self._fast(z, inputs, t, self._one.given(t))
        return out[: len(z)], out[len(z) :]


class StateFeedback(FunctionLaw):
    """
    Law that is a function of time, state and given values; see :class:`Law`.

    Examples
    --------
    >>> from rolling_controller import StateFeedback
    >>> from rolling_dynamics import load_scenario
    >>> system = load_scenario('two_wheeler').system
    >>> law = StateFeedback(system, lambda t, x, given: -given * x[:2], [2.0])
    >>> law.opaque
    ''

    """

    def __init__(
        self,
        system: RollingSystem,
        function: Callable[..., Any],
        given: Callable[[float], ArrayLike] | ArrayLike = (),
    ) -> None:
        """
        Create the law from a function of symbols, or of Python.

        Parameters
        ----------
        system
            The controlled system.
        function
            ``(t, x, given) -> u`` of symbols; or ``(t, x) -> u`` of numbers, which makes it
            opaque.
        given
            ``t -> values`` with t in s, such as those of a plan; or constant values.

        """
        inputs, output = state_inputs(system), system.control
        try:
            signature(function).bind('t', 'x', 'given')
        except TypeError:  # it takes two
            self.inputs, self.output, self._python = inputs, output, function
            self.opaque = 'a function of Python'
        else:
            super().__init__(inputs, output, lambda z, x, t, g: (z, function(t, x, g)), given)

    def start(self, before: Array | None = None) -> Array:
        """Return the memory at the start; see :class:`Law`."""
        return np.zeros(0) if self.opaque else super().start(before)

    def step(self, memory: Array | None, inputs: ArrayLike, t: float) -> tuple[Array, Array]:
        """Return the memory, and the output at a time [s]; see :class:`Law`."""
        if not self.opaque:
            return super().step(memory, inputs, t)
        u = np.array(self._python(t, np.asarray(inputs, dtype=float)), dtype=float)
        return np.zeros(0), u.reshape(self.output.size)


class Planned(Protocol):
    """A motion with controls over time."""

    def control_at(self, t: float) -> ArrayLike:
        """Return the control at a time [s], shape (control.size,)."""
        ...


class OpenLoop(StateFeedback):
    """
    Law that returns the planned control, whatever the state.

    Examples
    --------
    >>> from rolling_controller import OpenLoop
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_planner import plan_rolling, read_problem
    >>> problem = read_problem(load_scenario('ball_on_plate_straight'))
    >>> law = OpenLoop(problem.system, plan_rolling(problem))
    >>> law.step(None, problem.x_start, 0.5)[1].shape
    (6,)

    """

    def __init__(self, system: RollingSystem, plan: Planned) -> None:
        """Play back this plan of a system."""
        super().__init__(system, lambda _t, _x, planned: planned, plan.control_at)


class Around:
    """
    A law that changes what another one takes and gives; see :class:`Law`.

    Its memory is a pair, its own and the other's.
    """

    def __init__(
        self,
        law: Law[Any],
        *,
        after: Callable[[ca.SX], ca.SX] = lambda u: u,
        before: Callable[[ca.SX, ca.SX, ca.SX], tuple[ca.SX, ca.SX]] = lambda z, y, _: (z, y),
        inputs: Layout | None = None,
        memory: ArrayLike = (),
        since: float = 0.0,
    ) -> None:
        """
        Take the other law.

        Parameters
        ----------
        law
            The other law.
        after
            From its output to the output.
        before
            From memory, inputs and time to the memory after the step and the inputs of the other.
        inputs
            Layout of the inputs; the other law's where None.
        memory
            Own memory at the start.
        since
            When the time of the other law is zero [s].

        """
        self.inputs, self.output = inputs or law.inputs, law.output
        self.period, self.opaque = law.period, law.opaque
        self._law, self._own, self._since = law, np.array(memory, dtype=float), since
        sizes = {'z': self._own.size, 'y': self.inputs.size, 't': 1, 'u': law.output.size}
        *given, u = (ca.SX.sym(name, size) for name, size in sizes.items())
        inside = ca.densify(ca.vertcat(*before(*given)))
        self._before = FastFunction(ca.Function('before', given, [inside]))
        self._after = FastFunction(ca.Function('after', [u], [ca.densify(after(u))]))

    @property
    def sources(self) -> Mapping[str, Callable[[], Array]]:
        """Functions that return inputs of the other law, see :func:`sources_of`."""
        return sources_of(self._law)

    def start(self, before: tuple[Array, Any] | None = None) -> tuple[Array, Any]:
        """Return both memories at the start; see :class:`Law`."""
        return self._own, self._law.start(None if before is None else before[1])

    def step(
        self, memory: tuple[Array, Any], inputs: ArrayLike, t: float
    ) -> tuple[tuple[Array, Any], Array]:
        """Return both memories and the output at a time [s]; see :class:`Law`."""
        own, other = memory
        out = self._before(own, inputs, t)
        other, u = self._law.step(other, out[own.size :], t - self._since)
        return (out[: own.size], other), self._after(u)

    def as_function(self) -> LawFunction:
        """Return it as a function of vectors."""
        f, n, since = as_function(self._law), self._own.size, self._since

        def step(z: ca.SX, y: ca.SX, t: ca.SX, given: ca.SX) -> tuple[ca.SX, ca.SX]:
            own, other = split(z, n)
            own, inside = split(self._before.function(own, y, t), n)
            other, u = split(f.function(other, inside, t - since, given), other.numel())
            return ca.vertcat(own, other), self._after.function(u)

        return written(self, step, lambda t: f.given(t - since), _numbers(self.start()))


class GoingOn(Around):
    """Law that continues with its memory, by another clock; see :class:`Law`."""

    def __init__(self, law: Law[Any], memory: Any, since: float) -> None:  # noqa: ANN401
        """Take the law, its memory, and when its time was zero [s]."""
        super().__init__(law, since=since)
        self._kept = memory

    def start(self, before: tuple[Array, Any] | None = None) -> tuple[Array, Any]:
        """Return the memory with which it continues; see :class:`Law`."""
        return (self._own, self._kept) if before is None else before


def _numbers(memory: Any) -> Array:  # noqa: ANN401  arrays, pairs of memories, None
    """Return the numbers of a memory one after another."""
    if isinstance(memory, tuple):
        return np.concatenate([_numbers(part) for part in memory])
    return np.zeros(0) if memory is None else np.asarray(memory)


class Course(NamedTuple):
    """
    Reference motion of a law at present.

    Attributes
    ----------
    times, states
        The motion, shapes (k,) [s] and (k, n): errors are those from it.
    end
        Its end [s]; infinite as long as that is open.
    goal
        State in which it is to end.
    shortfall
        Reason why ``goal`` differs from the requested goal; empty where it does not.
    missed
        Function that returns the goal error of a state; its distance from ``goal`` where None.

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
    A law and its reference motion.

    Attributes
    ----------
    law
        The law.
    times, states
        The motion, shapes (k,) [s] and (k, n): errors are those from it.
    warning
        Warning for the user about the law, or the empty string.
    holds
        Whether the law continues to hold the end of the motion afterwards.
    course
        Function that returns the reference motion of a law that changes it on the way; None for
        one that keeps ``times`` and ``states``.
    hold
        Law that holds the end of the motion from then on, or None.
    notice
        Errors that the law does not correct, or the empty string.
    left
        ``x -> error``: from a state at the start to the error left at the end, in the tangent
        space.

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
        Return whether uncorrected errors make it miss the goal, and the text to report.

        Parameters
        ----------
        x
            State at the start.
        norm
            Norm of the part of an error at the end that the goal counts.
        tolerance
            Maximum of that norm.

        """
        if not self.notice or self.left is None:
            return False, ''
        left = norm(self.left(x))
        if left <= tolerance:
            how = f'this goal leaves them free: from here {left:.2g}'
        else:
            how = f'this goal needs them, so plan from the present state: from here {left:.3g}'
        return left > tolerance, f'{self.notice}: {how} stays, goal_tolerance is {tolerance:g}'
