"""Rolling, sliding, flight and landing, one after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.internal_masses.hybrid_run import HybridRun, Phase
from rolling_dynamics.internal_masses.impact import Body
from rolling_dynamics.internal_masses.transitions import Transitions
from rolling_dynamics.simulation import simulate
from rolling_dynamics.simulation.control import as_control, ControlLike

Array = NDArray[np.float64]
AT_ONCE = 40  # changes of mode in one instant, after which a run is given up
SAME_TIME = 1e-9  # s


def simulate_hybrid(
    system: Body,
    p: ArrayLike,
    x0: ArrayLike,
    control: ControlLike,
    duration: float,
    *,
    mode: str = 'rolling',
    sliding: bool = False,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    on_progress: Callable[[float], object] | None = None,
) -> HybridRun:
    """
    Return the motion of a unilateral ball or disk through contact and flight.

    Parameters
    ----------
    system, p, x0, control, duration
        As of :func:`simulate`; the system must be unilateral.
    mode
        Mode at the start.
    sliding
        Whether the motion goes on after slip begins, by Coulomb's law with mu_kinetic. Otherwise
        the event ``friction`` ends it: the papers leave open what follows. After a landing that
        slips, too.
    rtol, atol
        Tolerances.
    on_progress
        Called with the time now and then; False ends the simulation with CancelledError.

    Raises
    ------
    ParameterError
        The system is not unilateral.
    SimulationError
        The modes change without end in one instant.

    """
    if not system.unilateral:
        raise ParameterError('a system built with unilateral=True is needed, it alone can fly')
    runner = _Runner(
        system, np.asarray(p, dtype=float), control, sliding, (rtol, atol), on_progress
    )
    return runner.run(np.asarray(x0, dtype=float), duration, mode)


class _Runner:
    """Carries a state from mode to mode."""

    def __init__(
        self,
        system: Body,
        p: Array,
        control: ControlLike,
        sliding: bool,
        tolerance: tuple[float, float],
        report: Callable[[float], object] | None,
    ) -> None:
        self.system, self.p, self.tolerance, self.report = system, p, tolerance, report
        self.given = control
        steered = as_control(control, system.control.size, system.state.size)
        self.transitions = Transitions(system, p, steered, sliding=sliding)
        self.phases: list[Phase] = []

    def run(self, x: Array, duration: float, mode: str) -> HybridRun:
        t, next_mode, busy = 0.0, mode, 0
        while next_mode and duration - t > 1e-12 * duration:
            before, mode = t, next_mode
            trajectory = simulate(
                self.system,
                self.p,
                x,
                self.given,
                duration - t,
                start=t,
                mode=mode,
                rtol=self.tolerance[0],
                atol=self.tolerance[1],
                on_progress=self.report,
            )
            phase = Phase(mode, trajectory)
            if trajectory.segments and phase.end > phase.start:
                self.phases.append(phase)
            hit = trajectory.terminal_event
            if hit is None:
                t, x = duration, trajectory.states[-1]
                break
            t, x = hit.time, hit.state
            busy = busy + 1 if t - before < SAME_TIME else 0
            if busy > AT_ONCE:
                raise SimulationError(
                    f'at t = {t:.9g} s the modes change without end: the contact chatters'
                )
            next_mode, x = self.transitions.after(mode, hit.name, t, x)
        if not self.phases:  # it ends where it starts
            self.phases.append(phase)
        return HybridRun(tuple(self.phases), tuple(self.transitions.events), t, x)
