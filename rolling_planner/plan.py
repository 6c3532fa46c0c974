"""Plans: their arrays, files, validity, and whether they fit a system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import LONGEST_NAME, ParameterError, printable, quoted

LINEAR, HOLD = 'linear', 'hold'
INTERPOLATIONS = (LINEAR, HOLD)
MAX_NUMBERS = 1_000_000  # in states, and in controls: 8 MB
MIN_DURATION = 1e-6  # [s], or [m] where the arc length is the independent variable


def check_sizes(n: int, m: int, k: int, states: int, controls: int, wrenches: int) -> None:
    """
    Raise ParameterError unless the lists of a plan fit together and are not too long.

    Parameters
    ----------
    n, m, k
        Numbers of state names, control names and times.
    states, controls, wrenches
        Numbers of values in states and in controls; number of contact wrenches.

    """
    if not (n and m and k > 1):
        raise ParameterError(
            'plan: state_names and control_names must not be empty and times must be two or '
            f'more, got {n} names of states, {m} names of controls and {k} times'
        )
    for name, given, names in (('states', states, n), ('controls', controls, m)):
        if given != k * names:
            raise ParameterError(
                f'plan.{name} must have {k * names} numbers, got {given}: one for each of '
                f'{k} times and {names} names'
            )
        if given > MAX_NUMBERS:
            raise ParameterError(
                f'plan.{name} must have at most {MAX_NUMBERS} numbers, got {given}: give at most '
                f'{MAX_NUMBERS // names} times, or several plans one after the other'
            )
    if wrenches not in (0, k):
        raise ParameterError(
            f'plan.contact_wrenches must be one for each of {k} times or empty, got {wrenches}'
        )


def numbers(name: str, values: Any) -> Array:  # noqa: ANN401  any content of a file
    """
    Return values, in any shape and unit, as an array.

    Raises ParameterError with the name of the entry.
    """
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(f'plan.{name} must be numbers: {printable(error)}') from None


def check_texts(**texts: object) -> None:
    """Raise ParameterError unless each of these is a string."""
    for name, text in texts.items():
        if not isinstance(text, str):
            raise ParameterError(f'plan.{name} must be a string, got {printable(repr(text))}')


def check_names(what: str, names: Sequence[object]) -> None:
    """Raise ParameterError unless names are strings, each different."""
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise ParameterError(f'plan.{what} must be strings, got {printable(repr(wrong))}')
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ParameterError(f'plan.{what}: {quoted(twice[0])} is there more than once')


def check_interpolation(given: object) -> None:
    """Raise ParameterError unless controls are linear between the times, or held."""
    if given not in INTERPOLATIONS:
        raise ParameterError(f"plan.interpolation must be 'linear' or 'hold', got {quoted(given)}")


def check_times(times: Array) -> None:
    """Raise ParameterError unless times [s], shape (N,), are finite, >= 0 and increase."""
    check_finite('times', times)
    if not times[0] >= 0.0:
        raise ParameterError(f'plan.times must not be negative, got {times[0]:.9g} at first')
    falls = np.flatnonzero(~(np.diff(times) > 0))
    if falls.size:
        k = int(falls[0])
        raise ParameterError(
            f'plan.times must increase: times[{k}] is {times[k]:.9g}, the next {times[k + 1]:.9g}'
        )
    if not times[-1] - times[0] >= MIN_DURATION:
        raise ParameterError(
            f'plan.times must span {MIN_DURATION:g} or more, got {times[-1] - times[0]:.9g}'
        )


def check_finite(name: str, values: Array, columns: Sequence[str] = ()) -> None:
    """Raise ParameterError for the first value, in any shape and unit, that is not finite."""
    if np.isfinite(values).all():
        return
    where = np.argwhere(~np.isfinite(values))[0]
    place = ''.join(f'[{k}]' for k in where)
    column = f' ({printable(columns[where[-1]], LONGEST_NAME)})' if columns else ''
    raise ParameterError(
        f'plan.{name} must be finite, got {values[tuple(where)]} for {name}{place}{column}'
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """
    A planned trajectory. A plan is always valid: invalid ones are rejected on construction.

    Attributes
    ----------
    system
        Name of the type of system.
    model_hash
        Hash of the equations for which it was made; empty if not known.
    state_names, control_names
        Scalar names of the columns.
    times
        Shape (N + 1,) [s], increasing; a controller node takes those from 0.
    states
        Shape (N + 1, n): the motion as simulated; as collocated where ``needs_feedback``.
    controls
        Shape (N + 1, m).
    contact_wrenches
        (tau, f) on the object in the contact frame of the hand, shape (N + 1, 6), or empty.
    interpolation
        Interpolation of controls between the times: ``linear``, or ``hold``: each from its time
        until the next one, the last from the end on.
    report
        Details of the search: goal error, cost, segments, iterations, CPU time, margins.

    Raises
    ------
    ParameterError
        Arrays do not fit together, are larger than ``MAX_NUMBERS`` or not finite, times are
        negative or do not increase, or the interpolation is unknown; the text names the entry.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_planner import plan_rolling, read_problem
    >>> plan = plan_rolling(read_problem(load_scenario('ball_on_plate_straight')))
    >>> plan.states.shape[1] == len(plan.state_names), plan.control_at(0.0).shape
    (True, (6,))

    """

    system: str
    model_hash: str
    state_names: tuple[str, ...]
    control_names: tuple[str, ...]
    times: Array
    states: Array
    controls: Array
    contact_wrenches: Array = field(default_factory=lambda: np.zeros((0, 6)))
    interpolation: str = LINEAR
    report: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, system: RollingSystem, **values: Any) -> Plan:  # noqa: ANN401  of each field
        """Return a plan of a system from the fields that the system does not determine."""
        return cls(
            system=system.name,
            model_hash=system.model_hash,
            state_names=tuple(system.state.names),
            control_names=tuple(system.control.names),
            **values,
        )

    def __post_init__(self) -> None:
        """Reject an invalid plan."""
        check_texts(system=self.system, model_hash=self.model_hash)
        check_interpolation(self.interpolation)
        for name in ('state_names', 'control_names'):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ('times', 'states', 'controls', 'contact_wrenches'):
            object.__setattr__(self, name, numbers(name, getattr(self, name)))
        if not self.contact_wrenches.size:
            object.__setattr__(self, 'contact_wrenches', np.zeros((0, 6)))
        n, m, k = len(self.state_names), len(self.control_names), self.times.size
        wrenches = self.contact_wrenches.size
        check_sizes(n, m, k, self.states.size, self.controls.size, -(-wrenches // 6))
        shapes = {
            'times': (k,),
            'states': (k, n),
            'controls': (k, m),
            'contact_wrenches': (k if wrenches else 0, 6),
        }
        for name, wanted in shapes.items():
            given = getattr(self, name).shape
            if given != wanted:
                raise ParameterError(f'plan.{name} must have shape {wanted}, got {given}')
        check_names('state_names', self.state_names)
        check_names('control_names', self.control_names)
        check_times(self.times)
        check_finite('states', self.states, self.state_names)
        check_finite('controls', self.controls, self.control_names)
        check_finite('contact_wrenches', self.contact_wrenches)

    @property
    def duration(self) -> float:
        """Time from the first to the last node [s]."""
        return float(self.times[-1] - self.times[0])

    @property
    def needs_feedback(self) -> bool:
        """True if errors grow too much for open-loop playback, according to its report."""
        return 'open_loop_growth' in self.report

    def control_at(self, t: float) -> Array:
        """Return the control at a time [s]; the first or last one outside the plan."""
        if self.interpolation == HOLD:
            k = int(np.searchsorted(self.times, t, side='right')) - 1
            return np.array(self.controls[max(k, 0)])
        return np.array([np.interp(t, self.times, c) for c in self.controls.T])

    def controls_at(self, times: Array) -> Array:
        """Return the controls at times [s], shape (k, m), as :meth:`control_at` does."""
        if self.interpolation == HOLD:
            k = np.searchsorted(self.times, times, side='right') - 1
            return np.array(self.controls[np.maximum(k, 0)])
        return np.column_stack([np.interp(times, self.times, c) for c in self.controls.T])

    def ramps_between(self, times: Array) -> tuple[Array, Array]:
        """
        Return the control after each time and before the next one.

        Parameters
        ----------
        times
            Increasing times [s], shape (k + 1,). If controls are held, the value in the middle of
            a step is used for the entire step, so a step should not cross a time of the plan.

        Returns
        -------
        tuple of Array
            Shape (k, m) each; controls are linear in between.

        """
        if self.interpolation == HOLD:
            held = self.controls_at((times[:-1] + times[1:]) / 2)
            return held, held
        controls = self.controls_at(times)
        return controls[:-1], controls[1:]

    def control_samples(self) -> tuple[Array, Array]:
        """Return times and controls for :func:`simulate`, with a jump as two equal times."""
        if self.interpolation == HOLD:
            return np.repeat(self.times, 2)[1:], np.repeat(self.controls, 2, axis=0)[:-1]
        return self.times, self.controls

    def state_at(self, t: float) -> Array:
        """Return the state at a time [s], linear between the nodes."""
        return np.array([np.interp(t, self.times, c) for c in self.states.T])

    def after(self, t: float) -> Plan:
        """Return the rest of the plan after a time [s], before its end, with times from 0 s."""
        times = np.append(t, self.times[self.times > t + 1e-6])
        return replace(
            self,
            times=times - t,
            states=np.array([self.state_at(s) for s in times]),
            controls=self.controls_at(times),
            contact_wrenches=np.zeros((0, 6)),
        )

    def rest_from(self, x: Array, near: float) -> Plan | None:
        """Return the rest of the plan from its point nearest to a state; None far from it."""
        apart = np.linalg.norm(self.states - x, axis=1)
        k = int(apart.argmin())
        if apart[k] > near or k == len(apart) - 1:
            return None
        return self.after(float(self.times[k]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers for JSON."""
        rows = {n: v for n, v in vars(self).items() if isinstance(v, tuple | np.ndarray)}
        return vars(self) | {name: np.array(values).tolist() for name, values in rows.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Return the plan from the output of :meth:`to_dict`; raise ParameterError if invalid."""
        try:
            return cls(
                system=data['system'],
                model_hash=data['model_hash'],
                state_names=tuple(data['state_names']),
                control_names=tuple(data['control_names']),
                times=data['times'],
                states=data['states'],
                controls=data['controls'],
                contact_wrenches=data.get('contact_wrenches', ()),
                interpolation=data.get('interpolation', LINEAR),
                report=dict(data.get('report', {})),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as e:
            if isinstance(e, ParameterError):
                raise
            raise ParameterError(
                f'this is not a plan: {type(e).__name__} {printable(e)}'
            ) from None


UNIT = 1e-3  # maximum difference of the norm of a quaternion from 1


def check_plan_fits(plan: Plan, system: RollingSystem, *, require_hash: bool = True) -> None:
    """
    Raise ParameterError if a plan was made for another system.

    Parameters
    ----------
    plan
        The plan.
    system
        The system that is to follow it.
    require_hash
        Whether a plan without ``model_hash`` is rejected; one with another hash always is.

    """
    if plan.system != system.name:
        raise ParameterError(f'plan.system must be {system.name!r}, got {quoted(plan.system)}')
    check_states_fit(plan, system)
    if plan.model_hash == system.model_hash:
        return
    if plan.model_hash:
        raise ParameterError(
            f'plan.model_hash is {quoted(plan.model_hash)}, this node runs '
            f'{system.model_hash!r}: the plan was made with other equations; plan again with the '
            'scenario of this node'
        )
    if require_hash:
        raise ParameterError(
            'plan.model_hash is empty, so it is not known for which equations the plan was made; '
            f'this node has {system.model_hash!r}. For plans without a hash, set '
            'require_model_hash to false'
        )


def check_states_fit(plan: Plan, system: RollingSystem) -> None:
    """Raise ParameterError unless states, controls and attitudes fit a system."""
    _check_names('state_names', plan.state_names, system.state.names)
    _check_names('control_names', plan.control_names, system.control.names)
    for entry in system.state.entries:
        if entry.kind != 'quaternion':
            continue
        with np.errstate(over='ignore'):  # also rejects infinite values
            norms = np.linalg.norm(plan.states[:, system.state.slice(entry.name)], axis=1)
        wrong = np.flatnonzero(~(np.abs(norms - 1.0) <= UNIT))
        if wrong.size:
            k = int(wrong[0])
            raise ParameterError(
                f'plan.states: {entry.name} must be a unit quaternion (w, x, y, z), its norm at '
                f'times[{k}] is {norms[k]:.6g}'
            )


def _check_names(what: str, given: Sequence[str], wanted: Sequence[str]) -> None:
    if list(given) != list(wanted):
        raise ParameterError(
            f'plan.{what} must be {", ".join(wanted)}, got {printable(", ".join(given))}'
        )
