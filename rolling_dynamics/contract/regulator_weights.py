"""Weights of a regulator that a system has by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.layout import Layout

TERMINAL = 1e3  # weight at the end over the one per second
CONTROL = 0.1  # weight of a control of its scale over that of a deviation of its scale


@dataclass(frozen=True, kw_only=True)
class RegulatorWeights:
    """
    Weights of a regulator by tangent name.

    Attributes
    ----------
    tracking
        Weight per second of a squared deviation, by name of an entry or of a number of the
        tangent layout [1/(unit^2 s)]; what is not named weighs nothing.
    terminal
        Weight at the end, likewise [1/unit^2].
    control
        Weight per second of the square of each control, one number or shape (control.size,).

    """

    tracking: Mapping[str, float]
    terminal: Mapping[str, float]
    control: float | NDArray[np.float64]

    @classmethod
    def from_scales(cls, tangent: Layout, control: Layout) -> RegulatorWeights:
        """
        Return the weights that count a deviation of the size of its scale as one.

        Parameters
        ----------
        tangent, control
            Layouts with the scales of their entries.

        """
        tracking = {e.name: 1 / e.scale**2 for e in tangent.entries}
        scales = [e.scale for e in control.entries for _ in e.components]
        return cls(
            tracking=tracking,
            terminal={name: TERMINAL * weight for name, weight in tracking.items()},
            control=CONTROL / np.array(scales, dtype=float) ** 2,
        )

    def of(self, tangent: Layout) -> RegulatorWeights:
        """Return the weights of the entries that a layout has."""
        return RegulatorWeights(
            tracking={k: v for k, v in self.tracking.items() if k in tangent},
            terminal={k: v for k, v in self.terminal.items() if k in tangent},
            control=self.control,
        )
