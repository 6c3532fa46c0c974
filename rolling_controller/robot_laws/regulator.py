"""Robots that follow their plans by time-varying LQR."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rolling_controller.law import Following
from rolling_controller.lqr_options import read_weights
from rolling_controller.time_varying_lqr import prepare_regulator, TimeVaryingLqr
from rolling_dynamics.scenario import Scenario
from rolling_planner.plan import Plan


def never() -> bool:
    """Tell that nobody interrupts."""
    return False


class RegulatedRobot:
    """Laws of a robot whose plans a time-varying LQR follows; see :class:`Robot`."""

    uncounted: tuple[str, ...] = ()

    def __init__(self, scenario: Scenario, values: Mapping[str, float]) -> None:
        """
        Take what a scenario describes.

        Parameters
        ----------
        scenario
            Of the robot.
        values
            Of its options by name.

        """
        self._scenario, self._values = scenario, values

    def warm_up(self) -> None:
        """Compile the regulator."""
        prepare_regulator(self._scenario.system)

    def follow(self, plan: Plan, interrupted: Callable[[], bool] = never) -> Following:
        """Return the regulator along a plan, within the limits of the scenario."""
        system = self._scenario.system
        law = TimeVaryingLqr(
            system,
            self._scenario.p,
            plan,
            read_weights(self._values, system),
            control_limits=self._scenario.control_limits,
            interrupted=interrupted,
        )
        return Following(law, law.times, law.states, law.warning)
