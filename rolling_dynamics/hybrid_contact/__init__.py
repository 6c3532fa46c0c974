"""A convex body that rolls, slides, flies and lands on a moving plate."""

from rolling_dynamics.hybrid_contact.plant import HybridPlant
from rolling_dynamics.hybrid_contact.system import HybridContactSystem

__all__ = ['HybridContactSystem', 'HybridPlant']


def __getattr__(name: str) -> object:
    """Return what has another place now, with a warning."""
    import warnings  # noqa: PLC0415

    from rolling_dynamics.contract import MotionState  # noqa: PLC0415
    from rolling_dynamics.simulation import Stepper  # noqa: PLC0415

    moved = {'HybridStepper': Stepper, 'HybridState': MotionState}
    if name not in moved:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    new = moved[name]
    warnings.warn(
        f'{name} is {new.__module__}.{new.__name__} now', DeprecationWarning, stacklevel=2
    )
    return new
