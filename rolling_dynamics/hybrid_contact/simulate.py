"""Adaptive motion through all modes, by the name that it had before 1.0."""

from __future__ import annotations

from typing import Any
import warnings

from rolling_dynamics.simulation import simulate, Trajectory


def simulate_hybrid_contact(*args: Any, rtol: float = 1e-10, **options: Any) -> Trajectory:  # noqa: ANN401
    """Return what :func:`rolling_dynamics.simulation.simulate` does; warns that it is meant."""
    warnings.warn(
        'simulate_hybrid_contact is rolling_dynamics.simulation.simulate now; phases are segments '
        'of the trajectory',
        DeprecationWarning,
        stacklevel=2,
    )
    return simulate(*args, rtol=rtol, **({'atol': 1e-12} | options))
