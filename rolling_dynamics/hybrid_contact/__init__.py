"""A convex body that rolls, slides, flies and lands on a moving plate."""

from rolling_dynamics.hybrid_contact.system import HybridContactSystem

__all__ = ['HybridContactSystem']
