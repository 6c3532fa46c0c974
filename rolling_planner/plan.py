"""A plan: states and controls over time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.errors import ParameterError
from rolling_planner.arrays import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """
    A planned trajectory; controls are linear between the times.

    Attributes
    ----------
    system
        Name of the kind of system.
    model_hash
        Hash of the equations for which it was made.
    state_names, control_names
        Scalar names of the columns.
    times
        Shape (N + 1,) [s], increasing from 0.
    states
        Shape (N + 1, n): the motion as simulated, not as collocated.
    controls
        Shape (N + 1, m).
    contact_wrenches
        (tau, f) on the object in the contact frame of the hand, shape (N + 1, 6), or empty.
    interpolation
        ``linear``: how controls go between the times.
    report
        How it was found: goal error, cost, segments, iterations, CPU time, margins.

    """

    system: str
    model_hash: str
    state_names: tuple[str, ...]
    control_names: tuple[str, ...]
    times: Array
    states: Array
    controls: Array
    contact_wrenches: Array = field(default_factory=lambda: np.zeros((0, 6)))
    interpolation: str = 'linear'
    report: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        n = len(self.times)
        shapes = {
            'states': (self.states.shape, (n, len(self.state_names))),
            'controls': (self.controls.shape, (n, len(self.control_names))),
        }
        for name, (given, wanted) in shapes.items():
            if given != wanted:
                raise ParameterError(f'plan: {name} must have shape {wanted}, got {given}')
        if n < 2 or not np.all(np.diff(self.times) > 0):
            raise ParameterError('plan: times must be two or more and increase')
        for name in ('times', 'states', 'controls'):
            if not np.all(np.isfinite(getattr(self, name))):
                raise ParameterError(f'plan: {name} must be finite')

    @property
    def duration(self) -> float:
        """Time from the first to the last node [s]."""
        return float(self.times[-1] - self.times[0])

    def control_at(self, t: float) -> Array:
        """Return the control at a time [s]; the first or last one outside the plan."""
        return np.array([np.interp(t, self.times, c) for c in self.controls.T])

    def state_at(self, t: float) -> Array:
        """Return the state at a time [s], linear between the nodes."""
        return np.array([np.interp(t, self.times, c) for c in self.states.T])

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
    def from_dict(cls, data: dict[str, Any]) -> Plan:
        """Return the plan that :meth:`to_dict` wrote; raise ParameterError if it is none."""
        try:
            return cls(
                system=data['system'],
                model_hash=data['model_hash'],
                state_names=tuple(data['state_names']),
                control_names=tuple(data['control_names']),
                times=_array(data['times']),
                states=_array(data['states']),
                controls=_array(data['controls']),
                contact_wrenches=_array(data.get('contact_wrenches', ())).reshape(-1, 6),
                interpolation=data.get('interpolation', 'linear'),
                report=dict(data.get('report', {})),
            )
        except (KeyError, TypeError, ValueError) as e:
            if isinstance(e, ParameterError):
                raise
            raise ParameterError(f'this is no plan: {type(e).__name__} {e}') from None


def _array(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=float)
