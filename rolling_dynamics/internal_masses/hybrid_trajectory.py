"""A motion through several modes as one trajectory, for output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import math
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.contract.mode import Mode
from rolling_dynamics.internal_masses.hybrid_run import HybridRun
from rolling_dynamics.internal_masses.impact import Body
from rolling_dynamics.simulation.trajectory import Drift, Trajectory

Array = NDArray[np.float64]


class ModeView:
    """
    A system of several modes as it is in one of them.

    Its only mode has the margins of all modes; those that it does not have are not a number.
    """

    def __init__(self, system: Body, mode: str) -> None:
        """
        Look at a system in a mode.

        Parameters
        ----------
        system
            The system.
        mode
            Name of the mode.

        """
        self._system = system
        own = system.modes[mode]
        nothing = system.function('nothing', ca.SX(math.nan))
        names = [name for other in system.modes.values() for name in other.guards]
        guards = {name: own.guards.get(name, nothing) for name in dict.fromkeys(names)}
        self.modes: Mapping[str, Mode] = {mode: replace(own, guards=guards)}

    @property
    def mode(self) -> Mode:
        """The mode."""
        return next(iter(self.modes.values()))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever the system has)
        """Return everything else as the system has it."""
        return getattr(self._system, name)


def hybrid_trajectory(run: HybridRun, times: ArrayLike) -> Trajectory:
    """
    Return a motion through several modes as a trajectory.

    Parameters
    ----------
    run
        The motion.
    times
        Output times [s]; those after its end are left out.

    Returns
    -------
    Trajectory
        Its segments stand on a :class:`ModeView` each.

    """
    first = run.phases[0].trajectory
    views = {
        mode: ModeView(first.system, mode)  # type: ignore[arg-type]
        for mode in dict.fromkeys(phase.mode for phase in run.phases)
    }
    segments = tuple(
        replace(segment, system=views[phase.mode])
        for phase in run.phases
        for segment in phase.trajectory.segments
    )
    wanted: Array = np.asarray(times, dtype=float)
    wanted = wanted[wanted <= run.end]
    out = replace(
        first,
        system=segments[0].system,
        times=wanted,
        states=np.zeros((0, first.states.shape[1])),
        events=run.events,
        drift=_drift(run),
        segments=segments,
        steps=sum(phase.trajectory.steps for phase in run.phases),
    )
    states = out.state_at(wanted)
    control: Any = out.control  # one of those of the simulator
    return replace(out, states=states, controls=control.sample(wanted, states))


def _drift(run: HybridRun) -> dict[str, Drift]:
    """Return the drift of all phases together."""
    out: dict[str, Drift] = {}
    for phase in run.phases:
        for name, drift in phase.trajectory.drift.items():
            before = out.get(name, Drift(largest=0.0, total=0.0))
            out[name] = Drift(
                largest=max(before.largest, drift.largest), total=before.total + drift.total
            )
    return out
