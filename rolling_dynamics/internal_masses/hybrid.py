"""Motion through all modes, by the name that it had before."""

from __future__ import annotations

from typing import Any
import warnings

from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.internal_masses.disk import PointMassDisk
from rolling_dynamics.simulation import simulate, Trajectory


def simulate_hybrid(
    system: PointMassBall | PointMassDisk,
    *args: Any,  # noqa: ANN401
    mode: str = 'rolling',
    sliding: bool = False,
    rtol: float = 1e-10,
    **options: Any,  # noqa: ANN401
) -> Trajectory:
    """Return what :func:`rolling_dynamics.simulation.simulate` does; warns that it is meant."""
    warnings.warn(
        'simulate_hybrid is rolling_dynamics.simulation.simulate now, with '
        'system.ending_at_slip where sliding is False; phases are segments of the trajectory',
        DeprecationWarning,
        stacklevel=2,
    )
    body = system if sliding else system.ending_at_slip
    return simulate(body, *args, mode=mode, rtol=rtol, **({'atol': 1e-12} | options))
