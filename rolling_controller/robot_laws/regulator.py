"""Laws of machines: a regulator along the plan and a hold at its end, or those of a plug-in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
import math
from typing import Any

from rolling_controller.balance.hold import Hold
from rolling_controller.law import Following, Law
from rolling_controller.robot_laws.steering import prepare_velocity_hold, VelocityHold
from rolling_controller.time_varying_lqr import (
    LqrWeights,
    Option,
    prepare_regulator,
    read_weights,
    TimeVaryingLqr,
)
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract import default_weights
from rolling_dynamics.equilibrium import FAR
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.plugin import role_of
from rolling_dynamics.scenario import Scenario
from rolling_planner.plan import Plan


def never() -> bool:
    """Report that nobody interrupts."""
    return False


class RegulatedRobot:
    """
    Laws of a robot whose plans a time-varying LQR follows.

    Attributes
    ----------
    uncounted
        Tangent entries or scalars that its plans leave free: no part of any error.

    """

    uncounted: tuple[str, ...] = ()

    def __init__(self, scenario: Scenario, values: Mapping[str, float]) -> None:
        """
        Create the laws from a scenario.

        Parameters
        ----------
        scenario
            Scenario of the robot.
        values
            Values of its options by name.

        """
        self._scenario, self._values = scenario, values

    def warm_up(self) -> None:
        """Compile the functions that the first plan needs."""
        prepare_regulator(self._scenario.system)

    def follow(self, plan: Plan, interrupted: Callable[[], bool] = never) -> Following:
        """
        Return the regulator along a plan, and the hold at its end where there is one.

        The hold's cost to go is the regulator's terminal weight: its gains become the gains of the
        hold. Weights that a plan cannot reach let gains grow at the end, and with them the noise.
        Terminal weights that a user may choose stand instead.

        Parameters
        ----------
        plan
            The plan.
        interrupted
            Asked now and then whether to give up, by a CancelledError.

        Raises
        ------
        ParameterError
            The plan does not fit; the text names why.

        """
        hold, warning = self.end(plan)
        chosen = any(name.startswith('terminal') for name in self._values)
        found = TimeVaryingLqr(
            self._scenario.system,
            self._scenario.p,
            plan,
            self.weights(),
            control_limits=self._scenario.control_limits,
            end_cost=None if hold is None or chosen else hold.cost,
            interrupted=interrupted,
        ).following()
        return found._replace(hold=hold, warning='; '.join(filter(None, (found.warning, warning))))

    def weights(self) -> LqrWeights:
        """Return the weights that the options give, the system's own where there are none."""
        return read_weights(self._values, self._scenario.system)

    def end(self, plan: Plan) -> tuple[Hold | None, str]:  # noqa: ARG002
        """Return what holds the end of a plan, None where nothing has to, and a warning."""
        return None, ''

    def drive(self, x: Array, yaw: float) -> Law[Any]:  # noqa: ARG002
        """
        Return the law that drives by velocity from a state, heading along a yaw [rad].

        Raises
        ------
        ParameterError
            Velocities cannot be commanded, or not from here.

        """
        raise ParameterError(f'no velocity of {self._scenario.system.name} can be commanded')

    def stand(self, x: Array) -> Hold | None:  # noqa: ARG002
        """Return the hold near a state that may move; None where the safe control does."""
        return None


class HeldRobot(RegulatedRobot):
    """
    Laws of a system whose plug-in names none: each plan ends in a hold.

    Errors of entries without a default weight, such as the position of a hand, do not count. Nor
    do errors of an angle or an attitude with a scale of half a turn or more, such as the attitude
    of a ball that carries a robot.
    """

    def __init__(self, scenario: Scenario, values: Mapping[str, float]) -> None:
        """Create the laws from a scenario, see :class:`RegulatedRobot`."""
        super().__init__(scenario, values)
        weighted = default_weights(scenario.system).tracking
        self.uncounted = tuple(
            e.name for e in scenario.system.tangent.entries
            if e.name not in weighted or (e.unit == 'rad' and e.scale >= math.pi)
        )  # fmt: skip

    def warm_up(self) -> None:
        """Compile the functions of the first plan and, where possible, of the first drive."""
        super().warm_up()
        with suppress(ParameterError):
            prepare_velocity_hold(self._scenario.system)

    def end(self, plan: Plan) -> tuple[Hold | None, str]:
        """Return the hold at the end of a plan, or None and why there is none."""
        try:
            return self._hold(plan.states[-1]), ''
        except ParameterError as error:
            return None, f'no hold at the end of this plan: {error}'

    def drive(self, x: Array, yaw: float) -> Law[Any]:
        """Return the hold about a reference that moves as commanded, where it can be held."""
        return VelocityHold(self._scenario, x, yaw)

    def stand(self, x: Array) -> Hold | None:
        """Return the hold near a state that may move; None where nothing can be held."""
        with suppress(ParameterError):
            return self._hold(x, math.inf)
        return None

    def _hold(self, x: Array, within: float = FAR) -> Hold:
        s, weights = self._scenario, self.weights()
        limits = s.control_limits
        return Hold(s.system, s.p, x, weights=weights, control_limits=limits, within=within)


@dataclass(frozen=True, kw_only=True, slots=True)
class RobotKind:
    """
    A type of robot.

    Attributes
    ----------
    group
        Name before its options.
    options
        Options of a user.
    laws
        ``module:class`` of its laws, created from a scenario and the values of the options by
        name.
    more
        Laws along a plan in addition to :data:`rolling_controller.design.LAWS`, by the name that
        the parameter ``law`` takes: ``module:function`` that creates one from a
        :class:`rolling_controller.design.Wanted`.

    """

    group: str = ''
    options: tuple[Option, ...] = ()
    laws: str = f'{__name__}:HeldRobot'
    more: Mapping[str, str] = field(default_factory=dict)

    def make(self, scenario: Scenario, values: Mapping[str, float]) -> RegulatedRobot:
        """
        Return the laws of the robot that a scenario describes.

        Parameters
        ----------
        scenario
            The scenario.
        values
            Of the options by name; looked up again for each law, so that they may change.

        Raises
        ------
        ParameterError
            The robot cannot be controlled.

        """
        robot: RegulatedRobot = _imported(self.laws)(scenario, values)
        return robot

    def along(self) -> dict[str, Any]:
        """Return the makers of its further laws along a plan, by name."""
        return {name: _imported(place) for name, place in self.more.items()}


def _imported(place: str) -> Any:  # noqa: ANN401
    module, _, name = place.partition(':')
    return getattr(import_module(module), name)


DEFAULT = RobotKind()


def robot_kind(system: str) -> RobotKind:
    """Return the kind of a system; the default where its plug-in names none."""
    kind: RobotKind = role_of(system, 'law') or DEFAULT
    return kind
