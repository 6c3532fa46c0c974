"""A convex body that rolls, slides, flies and lands on a moving plate."""

from rolling_dynamics.hybrid_contact.contact_status import HybridState
from rolling_dynamics.hybrid_contact.stepper import HybridPlant, HybridStepper
from rolling_dynamics.hybrid_contact.system import HybridContactSystem

__all__ = ['HybridContactSystem', 'HybridPlant', 'HybridState', 'HybridStepper']
