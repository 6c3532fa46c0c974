"""A body on a plate as an object that is stepped."""

from __future__ import annotations

from numpy.typing import ArrayLike
from rolling_dynamics.contract.mode import MotionState
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from rolling_dynamics.simulation.stepper import Stepper


class HybridPlant:
    """A body on a plate as an object that is stepped: ``step(u, dt)``, no clock, no randomness."""

    def __init__(
        self,
        system: HybridContactSystem,
        p: ArrayLike,
        x: ArrayLike,
        u: ArrayLike | None = None,
        *,
        max_step: float = 1e-3,
    ) -> None:
        """Place the body; its mode follows from the state and the control at the start."""
        self.stepper = Stepper(system, p, max_step)
        self.state = self.stepper.begin(x, u)

    def step(self, u: ArrayLike, dt: float) -> MotionState:
        """Move on by dt seconds [s] under the control u; return the state, with its events."""
        self.state = self.stepper.step(self.state, u, dt)
        return self.state

    def reset(self, x: ArrayLike, u: ArrayLike | None = None, t: float = 0.0) -> MotionState:
        """Place the body anew."""
        self.state = self.stepper.begin(x, u, t)
        return self.state
