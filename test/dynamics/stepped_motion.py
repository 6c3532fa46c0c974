"""A motion through the modes of a system, stepped with held controls."""

from rolling_dynamics.simulation import Stepper


class SteppedMotion:
    """Keeps the state of a ``Stepper``."""

    def __init__(self, system, p, x, u=None, *, max_step=1e-3):
        self.stepper = Stepper(system, p, max_step)
        self.state = self.stepper.begin(x, u)

    def step(self, u, dt):
        """Return the state after dt seconds [s] of a control."""
        self.state = self.stepper.step(self.state, u, dt)
        return self.state

    def reset(self, x, u=None, t=0.0):
        """Return the state at which the motion starts again."""
        self.state = self.stepper.begin(x, u, t)
        return self.state
