"""Reasons for failure of a plan; its progress, cancellation and time budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
import time

from rolling_dynamics.errors import CancelledError, PlanningError


class InfeasibleError(PlanningError):
    """
    A constraint cannot be met; the text names it.

    Examples
    --------
    >>> from rolling_planner import InfeasibleError
    >>> from rolling_dynamics import RollingError
    >>> issubclass(InfeasibleError, RollingError)
    True

    """


class PlanningTimeoutError(PlanningError):
    """
    The time budget was spent before a plan was found.

    Examples
    --------
    >>> from rolling_dynamics import RollingError
    >>> from rolling_planner import PlanningTimeoutError
    >>> issubclass(PlanningTimeoutError, RollingError)
    True

    """


class NotConvergedError(PlanningError):
    """
    The optimisation did not converge, and no constraint could be identified as the cause.

    Examples
    --------
    >>> from rolling_dynamics.errors import PlanningError
    >>> from rolling_planner import NotConvergedError
    >>> issubclass(NotConvergedError, PlanningError)
    True

    """


FEASIBLE = 1e-6  # violation of constraints up to which a motion counts as feasible
LINES = {  # texts for users, by stage
    'guess': 'looking for a first motion',
    'diagnose': 'found none, looking for the limit that is in the way',
}


@dataclass(frozen=True)
class Iteration:
    """
    One step of the work, for progress reports.

    Attributes
    ----------
    number
        Iteration of the present stage, from 0.
    segments
        Segments of the grid; 0 during the search for a guess.
    cost
        Cost of the plan so far.
    violation
        Largest violation of a constraint.
    goal_error
        Goal error of the plan so far, as collocated.
    stage
        ``guess``, ``optimise`` or ``diagnose`` (after a failure: search for its cause).

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_planner import plan_rolling, read_problem
    >>> steps, problem = [], read_problem(load_scenario('ball_on_plate_straight'))
    >>> plan = plan_rolling(problem, steps.append)
    >>> steps[0].number, steps[0].stage
    (0, 'guess')

    """

    number: int
    segments: int
    cost: float
    violation: float
    goal_error: float
    stage: str = 'optimise'

    @property
    def line(self) -> str:
        """Progress as text for a user."""
        if self.stage in LINES:
            return f'{LINES[self.stage]}, step {self.number}'
        if math.isnan(self.violation) or not self.segments:
            return f'searching, step {self.number}'
        kept = self.violation <= FEASIBLE
        work = 'improving a motion that keeps' if kept else 'looking for a motion that keeps'
        left = f', {self.goal_error:.2g} from the goal' if self.goal_error > FEASIBLE else ''
        return f'{work} every limit, step {self.number}{left}'


Report = Callable[[Iteration], object]


class Watch:
    """Reports progress, and determines whether to continue."""

    def __init__(self, report: Report | None, budget: float, effort: float = math.inf) -> None:
        """
        Start the clock.

        Parameters
        ----------
        report
            Called with each iteration; False cancels.
        budget
            Wall-clock time [s].
        effort
            Iterations of the coarsest grid.

        """
        self._report, self._effort = report, effort
        self.start = time.monotonic()
        self.deadline = self.start + budget
        self.stage = 'optimise'
        self._last: Iteration | None = None

    @property
    def is_watched(self) -> bool:
        """True if a caller receives the iterations."""
        return self._report is not None

    @property
    def expired(self) -> bool:
        """True if the time budget, or the effort, is spent."""
        return self.exhausted or time.monotonic() > self.deadline

    @property
    def exhausted(self) -> bool:
        """True if the effort is spent."""
        return self._effort <= 0

    def spend(self, effort: float) -> None:
        """Count an iteration on a grid that is finer than the coarsest one by a factor."""
        self._effort -= effort

    def poll(self) -> None:
        """Report the last iteration again, during longer work."""
        if self._last is not None:
            self.report(self._last)

    def report(self, iteration: Iteration) -> None:
        """Report an iteration; raise CancelledError if the callback returns False."""
        self._last = iteration
        if self._report is not None and self._report(iteration) is False:
            raise CancelledError('planning was cancelled')

    def seeking(self, number: int, miss: float) -> bool:
        """Report a step of the search for a guess; return whether there is time left."""
        self.report(Iteration(number, 0, 0.0, miss, miss, 'guess'))
        return not self.expired
