"""A convex body that rolls, slides, flies and lands on a moving hand."""

from rolling_dynamics.hybrid_contact.system import HybridContactSystem

__all__ = ['HybridContactSystem']
