"""Weights and limits of a linear quadratic regulator, by name and as options of users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract import default_weights, RegulatorWeights
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import check_names, ParameterError


@dataclass(frozen=True, slots=True)
class Option:
    """
    A number that a user may choose.

    Attributes
    ----------
    name
        Name, possibly dotted.
    default
        Value if nothing is chosen.
    text
        What it means, in one line.
    limits
        Minimum and maximum.
    unit
        SI unit; the empty string if dimensionless.

    """

    name: str
    default: float
    text: str
    limits: tuple[float, float]
    unit: str = ''


Limits = Mapping[str, tuple[float, float]] | ArrayLike


@dataclass(frozen=True, kw_only=True)
class LqrWeights:
    """
    Weights of a regulator by tangent name, entry or scalar; what is not named weighs nothing.

    Attributes
    ----------
    tracking
        Q per second; the system's default weights if None.
    terminal
        P1; the system's default weights if None.
    control
        R per second, one number or one for each control; the system's default if None.

    """

    tracking: Mapping[str, float] | None = None
    terminal: Mapping[str, float] | None = None
    control: ArrayLike | None = None

    def of(self, system: RollingSystem) -> LqrWeights:
        """Return the weights with the defaults of a system in place of None."""
        own = default_weights(system)
        return replace(
            self,
            tracking=own.tracking if self.tracking is None else self.tracking,
            terminal=own.terminal if self.terminal is None else self.terminal,
            control=own.control if self.control is None else self.control,
        )

    def tracking_diagonal(self, tangent: Layout) -> Array:
        """Return the diagonal of Q, shape (tangent.size,), in 1/s per squared unit."""
        return _diagonal(tangent, self.tracking or {}, 'weights.tracking')

    def terminal_diagonal(self, tangent: Layout) -> Array:
        """Return the diagonal of P1, shape (tangent.size,), in 1 per squared unit."""
        return _diagonal(tangent, self.terminal or {}, 'weights.terminal')

    def control_diagonal(self, control: Layout) -> Array:
        """Return the diagonal of R, shape (control.size,), in 1/s per squared unit."""
        shape = None if isinstance(self.control, Mapping) else np.asarray(self.control).shape
        if shape not in ((), (1,), (control.size,)):
            each = ', '.join(control.names)
            raise ParameterError(
                f'weights.control takes one number, or one each for {each}; got {self.control!r}'
            )
        given = np.asarray(self.control, dtype=float)
        if not (np.all(np.isfinite(given)) and np.all(given > 0)):
            raise ParameterError(f'weights.control must be positive, got {self.control!r}')
        return np.broadcast_to(given, (control.size,))


def no_feedback(system: RollingSystem, weights: LqrWeights, active: NDArray[np.int_]) -> str:
    """
    Return why a regulator's gain is zero everywhere.

    Parameters
    ----------
    system
        The system.
    weights
        Weights, all of them given.
    active
        Numbers of the controls that it may use.

    """
    tangent = system.tangent
    weighted = weights.tracking_diagonal(tangent) + weights.terminal_diagonal(tangent) > 0
    names = ', '.join(e.name for e in tangent.entries if weighted[tangent.slice(e.name)].any())
    used = ', '.join(system.control.names[k] for k in active)
    if not used:
        why = 'the plan uses no control'
    elif not names:
        why = f'no weight is positive; weigh some of {", ".join(tangent.names)}'
    else:
        why = f'the controls {used} do not move what has a weight: {names}'
    return f'{why}: there is no feedback'


def _diagonal(layout: Layout, weights: Mapping[str, float], what: str) -> Array:
    out = np.zeros(layout.size)
    for name, value in weights.items():
        if not (np.isfinite(value) and value >= 0):
            raise ParameterError(f'{what}.{name} must be zero or positive, got {value!r}')
        out[layout.index(name, f'{what}: no tangent entry')] = value
    return out


def limit_arrays(control: Layout, limits: Limits) -> tuple[Array, Array]:
    """
    Return least and greatest controls, shape (control.size,) each.

    Parameters
    ----------
    control
        Layout of the control.
    limits
        Least and greatest value by scalar name, no limit where there is none; or what the
        magnitude may be, one number for all or one for each control.

    Raises
    ------
    ParameterError
        There is no such control, or they are not as many.

    """
    names = control.names
    if isinstance(limits, Mapping):
        check_names(limits, names, 'control_limits: no control')
        pairs = [limits.get(n, (-math.inf, math.inf)) for n in names]
        low, high = np.array(pairs, dtype=float).reshape(-1, 2).T
        return low, high
    size = np.asarray(limits, dtype=float)
    if size.shape not in ((), (len(names),)):
        raise ParameterError(
            f'control_limits: one number is needed, or {len(names)} ({", ".join(names)}), got '
            f'shape {size.shape}'
        )
    return np.full(len(names), -size), np.full(len(names), size)


GREATEST = 1e12
CHOSEN = 'in the regulator, from the next goal on'


def weight_options(defaults: RegulatorWeights, entries: Iterable[str]) -> tuple[Option, ...]:
    """Return the default weights of these tangent entries as options."""
    groups = (
        ('tracking', defaults.tracking, 'weight per second'),
        ('terminal', defaults.terminal, 'weight at the end'),
    )
    return (
        *(
            Option(
                f'{group}.{name}',
                values[name],
                f'{text} of {name} {CHOSEN}',
                limits=(0.0, GREATEST),
            )
            for group, values, text in groups
            for name in entries
        ),
        Option(
            'control_weight',
            float(defaults.control),
            f'weight per second of each control {CHOSEN}',
            limits=(1e-12, GREATEST),
        ),
    )


def read_weights(values: Mapping[str, float], system: RollingSystem) -> LqrWeights:
    """
    Return the weights that stand among the values of options.

    Options serve a family of systems: those of entries that this one does not have say nothing,
    and entries without an option keep the system's default.
    """
    own = default_weights(system)
    groups = {'tracking': dict(own.tracking), 'terminal': dict(own.terminal)}
    for name, value in values.items():
        group, _, entry = name.partition('.')
        if group in groups and entry in system.tangent:
            groups[group][entry] = value
    return LqrWeights(**groups, control=values.get('control_weight', own.control))
