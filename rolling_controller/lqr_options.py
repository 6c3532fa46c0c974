"""Weights and limits of a time-varying LQR as a user gives them."""

from __future__ import annotations

from collections.abc import Mapping
import math

import numpy as np
from numpy.typing import NDArray
from rolling_controller.option import Option
from rolling_controller.time_varying_lqr import LqrWeights

GREATEST = 1e12
CHOSEN = 'in the regulator, from the next goal on'


def weight_options(
    tracking: Mapping[str, float], terminal: Mapping[str, float], control: float
) -> tuple[Option, ...]:
    """Return the weights of a regulator as options, with these defaults by tangent entry."""
    groups = (
        ('tracking', tracking, 'weight per second'),
        ('terminal', terminal, 'weight at the end'),
    )
    return (
        *(
            Option(
                name=f'{group}.{name}',
                default=value,
                low=0.0,
                high=GREATEST,
                text=f'{text} of {name} {CHOSEN}',
            )
            for group, values, text in groups
            for name, value in values.items()
        ),
        Option(
            name='control_weight',
            default=control,
            low=1e-12,
            high=GREATEST,
            text=f'weight per second of each control {CHOSEN}',
        ),
    )


def read_weights(values: Mapping[str, float]) -> LqrWeights:
    """Return the weights that stand among the values of options, by name."""
    groups: dict[str, dict[str, float]] = {'tracking': {}, 'terminal': {}}
    for name, value in values.items():
        group, _, entry = name.partition('.')
        if entry and group in groups:
            groups[group][entry] = value
    return LqrWeights(**groups, control=values['control_weight'])


def limits_by_name(
    names: list[str], limits: NDArray[np.float64] | None
) -> dict[str, tuple[float, float]]:
    """Return least and greatest value of each control that has a limit."""
    if limits is None:
        return {}
    pairs = zip(names, limits.tolist(), strict=True)
    return {name: (-high, high) for name, high in pairs if math.isfinite(high)}
