"""A plan: states and controls over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.text import printable
from rolling_planner.plan_validity import (
    check_finite,
    check_interpolation,
    check_names,
    check_sizes,
    check_texts,
    check_times,
    HOLD,
    LINEAR,
    numbers,
    Sizes,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """
    A planned trajectory. A plan that exists is valid: what is not is refused as it is made.

    Attributes
    ----------
    system
        Name of the kind of system.
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
        How controls go between the times: ``linear``, or ``hold``: each from its time until the
        next one, the last from the end on.
    report
        How it was found: goal error, cost, segments, iterations, CPU time, margins.

    Raises
    ------
    ParameterError
        Arrays do not fit together, are larger than ``MAX_NUMBERS`` or not finite, times are
        negative or do not increase, or the interpolation is unknown; the text names the entry.

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
        """Return a plan of a system from the fields that its equations and layouts do not tell."""
        return cls(
            system=system.name,
            model_hash=system.model_hash,
            state_names=tuple(system.state.names),
            control_names=tuple(system.control.names),
            **values,
        )

    def __post_init__(self) -> None:
        """Refuse what is no plan."""
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
        check_sizes(Sizes(n, m, k, self.states.size, self.controls.size, -(-wrenches // 6)))
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
        """Whether its report says that errors grow too much for its controls to be played back."""
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
            Increasing [s], shape (k + 1,). Where controls are held, that of the middle of a step
            counts for the whole of it, so a step should not go past a time of the plan.

        Returns
        -------
        tuple of Array
            Shape (k, m) each; in between controls are straight.

        """
        if self.interpolation == HOLD:
            held = self.controls_at((times[:-1] + times[1:]) / 2)
            return held, held
        controls = self.controls_at(times)
        return controls[:-1], controls[1:]

    def control_samples(self) -> tuple[Array, Array]:
        """Return times and controls as :func:`simulate` takes them, a jump as two equal times."""
        if self.interpolation == HOLD:
            return np.repeat(self.times, 2)[1:], np.repeat(self.controls, 2, axis=0)[:-1]
        return self.times, self.controls

    def state_at(self, t: float) -> Array:
        """Return the state at a time [s], linear between the nodes."""
        return np.array([np.interp(t, self.times, c) for c in self.states.T])

    def after(self, t: float) -> Plan:
        """Return what the plan still has to do after a time [s], before its end; from 0 s on."""
        times = np.append(t, self.times[self.times > t + 1e-6])
        return replace(
            self,
            times=times - t,
            states=np.array([self.state_at(s) for s in times]),
            controls=self.controls_at(times),
            contact_wrenches=np.zeros((0, 6)),
        )

    def rest_from(self, x: Array, near: float) -> Plan | None:
        """Return what is left of the plan where it is nearest to a state; None far from it."""
        apart = np.linalg.norm(self.states - x, axis=1)
        k = int(apart.argmin())
        if apart[k] > near or k == len(apart) - 1:
            return None
        return self.after(float(self.times[k]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, as JSON can hold them."""
        return {
            'system': self.system,
            'model_hash': self.model_hash,
            'state_names': list(self.state_names),
            'control_names': list(self.control_names),
            'times': self.times.tolist(),
            'states': self.states.tolist(),
            'controls': self.controls.tolist(),
            'contact_wrenches': self.contact_wrenches.tolist(),
            'interpolation': self.interpolation,
            'report': self.report,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Return the plan that :meth:`to_dict` wrote; raise ParameterError if it is none."""
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
