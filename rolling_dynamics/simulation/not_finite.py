"""What is said of a rate of the state that is not finite: the control is the usual reason."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def not_finite(names: Sequence[str], control: ArrayLike) -> str:
    """
    Return the reason why a rate of the state is not finite.

    Parameters
    ----------
    names
        Scalar names of the control.
    control
        The control there, shape (len(names),).

    """
    for name, value in zip(names, np.ravel(control), strict=True):
        if not np.isfinite(value):
            return f'the control {name} is {value:.3g}; a finite number is needed'
    return 'the rate of the state is not finite'
