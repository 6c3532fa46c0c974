"""Adaptive motion of a body on a plate through all modes of contact."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
import math
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.hybrid_contact.contact_status import HybridState
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from rolling_dynamics.hybrid_contact.transitions import Transitions
from rolling_dynamics.simulation import Event, simulate, Trajectory
from rolling_dynamics.simulation.control import as_control, ControlLike

Array = NDArray[np.float64]
AT_ONCE = 40  # changes of mode in one instant, after which a run is given up
SAME_TIME = 1e-9  # s


@dataclass(frozen=True, eq=False)
class HybridPhase:
    """A stretch of motion in one mode; ``start`` is the state at its beginning."""

    start: HybridState
    trajectory: Trajectory

    @property
    def mode(self) -> str:
        """Mode of the equations."""
        return self.start.mode

    @property
    def end(self) -> float:
        """Time at its end [s]."""
        return self.trajectory.segments[-1].end


@dataclass(frozen=True, eq=False)
class HybridTrajectory:
    """
    A motion through several modes.

    Attributes
    ----------
    phases
        In order of time.
    events
        ``lift_off``, ``landing``, ``slip``, ``stick``, ``spin``, ``spin_stop``, ``edge``,
        ``missed``; ``painleve`` ends the run.
    final
        State at the end.

    """

    phases: tuple[HybridPhase, ...]
    events: tuple[Event, ...]
    final: HybridState

    def phase_at(self, t: float) -> HybridPhase:
        """Return the phase that holds a time [s]; at a border the later one."""
        for phase in reversed(self.phases):
            if phase.start.t <= t <= phase.end:
                return phase
        raise ParameterError(
            f't = {t:.9g} s lies outside the run, which ends at {self.final.t:.9g} s'
        )

    def state_at(self, t: float) -> Array:
        """Return the state vector at a time [s]."""
        return self.phase_at(t).trajectory.state_at(t)


def simulate_hybrid_contact(
    system: HybridContactSystem,
    p: ArrayLike,
    x0: ArrayLike,
    control: ControlLike,
    duration: float,
    *,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    max_step: float = math.inf,
) -> HybridTrajectory:
    """
    Return the motion of a body on a moving plate through contact and flight.

    Parameters
    ----------
    system, p, x0, control, duration, rtol, atol, max_step
        As of :func:`rolling_dynamics.simulation.simulate`.

    Raises
    ------
    ParameterError
        The body and the plate overlap at the start, or an argument is out of range.
    SimulationError
        The modes change without end in one instant.

    """
    transitions, law = (
        Transitions(system, p),
        as_control(control, system.control.size, system.state.size),
    )
    x0 = np.asarray(x0, dtype=float)
    s = transitions.begin(x0, law(0.0, x0))
    phases, events, busy = [], list(s.events), 0
    while not s.stopped and duration - s.t > 1e-12 * duration:
        before = s = replace(s, events=())
        run = simulate(
            in_mode(system, s.mode),
            transitions.parameters(s.spin_direction),
            s.x,
            control,
            duration - s.t,
            start=s.t,
            rtol=rtol,
            atol=atol,
            max_step=max_step,
            events=dict.fromkeys(system.modes[s.mode].guards, 'ignore') if s.off_plate else None,
        )
        if run.segments and run.segments[-1].end > s.t:
            phases.append(HybridPhase(s, run))
        hit = run.terminal_event
        if hit is None:
            s = replace(s, t=duration, x=run.states[-1])
            break
        s = replace(s, t=hit.time, x=hit.state)
        s = transitions.after(s, hit.name, np.asarray(law(hit.time, hit.state)))
        events += s.events
        busy = busy + 1 if s.t - before.t < SAME_TIME else 0
        if busy > AT_ONCE:
            raise SimulationError(
                f'at t = {s.t:.9g} s the modes change without end: the contact chatters'
            )
    return HybridTrajectory(tuple(phases), tuple(events), s)


class InMode:
    """A hybrid system seen in one of its modes only, with the constraints of that mode."""

    def __init__(self, system: HybridContactSystem, mode: str) -> None:
        """Look at a system in a mode."""
        self._system = system
        self.modes = {mode: system.modes[mode]}
        self.projection: ca.Function = system.projections[mode]

    def __getattr__(self, name: str) -> object:
        """Return everything else from the system."""
        return getattr(self._system, name)


@lru_cache(maxsize=64)
def in_mode(system: HybridContactSystem, mode: str) -> RollingSystem:
    """Return a system in one of its modes, the same object each time."""
    return cast('RollingSystem', InMode(system, mode))
