"""Why there is no plan; every class is a :class:`rolling_dynamics.errors.PlanningError`."""

from rolling_dynamics.errors import PlanningError


class InfeasibleError(PlanningError):
    """A constraint cannot be met; the text names it."""


class PlanningTimeoutError(PlanningError):
    """The time budget was spent before a plan was found."""


class NotConvergedError(PlanningError):
    """The optimisation stopped away from a solution for no constraint that could be named."""
