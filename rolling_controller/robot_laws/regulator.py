"""Robots that follow their plans by time-varying LQR, and are held at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math

from rolling_controller.balance.hold import Hold
from rolling_controller.law import Following
from rolling_controller.lqr_options import read_weights
from rolling_controller.robot_laws.robot import Drive, Robot, Velocity
from rolling_controller.time_varying_lqr import prepare_regulator, TimeVaryingLqr
from rolling_dynamics.arrays import Array
from rolling_dynamics.equilibrium import FAR
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_planner.plan import Plan


def never() -> bool:
    """Tell that nobody interrupts."""
    return False


class RegulatedRobot(Robot):
    """Laws of a robot whose plans a time-varying LQR follows; see :class:`Robot`."""

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
        return Following(law, law.times, law.states, law.warning, notice=law.notice)


class HeldRobot(RegulatedRobot):
    """Laws of a system whose plug-in names none: each plan ends in a hold."""

    def follow(self, plan: Plan, interrupted: Callable[[], bool] = never) -> Following:
        """Return the regulator along a plan, and the hold at its end where there is one."""
        found = super().follow(plan, interrupted)
        try:
            hold = self._hold(found.states[-1])
        except ParameterError as error:
            texts = found.warning, f'no hold at the end of this plan: {error}'
            return found._replace(warning='; '.join(filter(None, texts)))
        return found._replace(hold=hold)

    def stand(self, x: Array) -> Drive | None:
        """Return the hold near a state that may move; None of a robot that does not fall."""
        try:
            hold = self._hold(x, math.inf)
        except ParameterError:
            return None
        return hold if hold.unstable else None

    def drive(self, x: Array, yaw: float) -> Drive:  # noqa: ARG002
        """Raise ParameterError: no velocity is known of a system in general."""
        raise ParameterError(f'no velocity of {self._scenario.system.name} can be commanded')

    def _hold(self, x: Array, within: float = FAR) -> HoldDrive:
        system = self._scenario.system
        return HoldDrive(
            Hold(
                system,
                self._scenario.p,
                x,
                control_limits=self._scenario.control_limits,
                within=within,
            )
        )


class HoldDrive(Drive):
    """Holds a robot where it stands; see :class:`Drive`."""

    holds = True

    def __init__(self, hold: Hold) -> None:
        """Take the regulator about the equilibrium."""
        self._hold, self.unstable = hold, hold.unstable
        self.not_held = '; '.join(hold.uncontrollable)

    def command(self, t: float, x: Array, wanted: Velocity) -> Array:  # noqa: ARG002
        """Return the control that holds it."""
        return self._hold.command(x)
