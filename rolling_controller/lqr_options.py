"""Weights and limits of a time-varying LQR as a user gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rolling_controller.lqr_weights import LqrWeights
from rolling_controller.option import Option
from rolling_dynamics.contract import default_weights, RegulatorWeights
from rolling_dynamics.contract.rolling_system import RollingSystem

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
                name=f'{group}.{name}',
                default=values[name],
                low=0.0,
                high=GREATEST,
                text=f'{text} of {name} {CHOSEN}',
            )
            for group, values, text in groups
            for name in entries
        ),
        Option(
            name='control_weight',
            default=float(defaults.control),
            low=1e-12,
            high=GREATEST,
            text=f'weight per second of each control {CHOSEN}',
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
