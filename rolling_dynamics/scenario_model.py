"""Model of a scenario for simulators, controllers and estimators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast, TYPE_CHECKING

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.contract.instruments import check_topic
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.equilibrium import is_unstable, measures_unstable
from rolling_dynamics.errors import check_names, ParameterError
from rolling_dynamics.robots.view import FAULTS, robot_view, RobotView
from rolling_dynamics.scenario import load_scenario, Scenario

if TYPE_CHECKING:
    from rolling_dynamics.contact.contact_system import ContactSystem
    from typing_extensions import Self

MOST = np.array([80.0] * 3 + [15.0] * 3)  # rad/s^2, m/s^2: the greatest that a hand gets


@dataclass(frozen=True, eq=False, kw_only=True)
class ScenarioModel:
    """
    A system with its numbers.

    Attributes
    ----------
    title
        What it is, for the log.
    system
        The system.
    params
        Its parameters p.
    start
        State x at the start.
    control_limits
        Greatest magnitude of each control, None for no limit.
    scenario
        The scenario as loaded.

    """

    title: str
    system: RollingSystem
    params: Array
    start: Array
    control_limits: Array | None
    scenario: Scenario

    @classmethod
    def of(cls, scenario: Scenario, **more: Any) -> Self:  # noqa: ANN401  further attributes
        """Return the model of a scenario."""
        limits = scenario.control_limits
        return cls(
            title=scenario.name,
            system=scenario.system,
            params=scenario.p,
            start=scenario.x0,
            control_limits=limits if np.any(np.isfinite(limits)) else None,
            scenario=scenario,
            **more,
        )

    @property
    def errors(self) -> Array:
        """Standard deviations of its parameters, of uniform ones within their bounds."""
        layout, out = self.system.parameters, np.zeros(self.params.size)
        for name, (low, high) in self.scenario.uncertain.items():
            if name in (*layout.names, *(entry.name for entry in layout.entries)):
                out[layout.index(name)] = (high - low) / 12**0.5
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Model(ScenarioModel):
    """An object on a hand, in the representation without chart singularities."""

    system: ContactSystem

    def limited(self) -> Model:
        """Return it with limits :data:`MOST` on the accelerations that have none."""
        given = np.full(len(MOST), np.inf) if self.control_limits is None else self.control_limits
        return replace(self, control_limits=np.where(np.isfinite(given), given, MOST))

    @property
    def mu(self) -> float:
        """Coefficient of static friction."""
        return float(self.params[self.system.parameters.slice('mu')][0])

    @property
    def mu_spin(self) -> float:
        """Coefficient of spin friction [m]."""
        return float(self.params[self.system.parameters.slice('mu_spin')][0])


@dataclass(frozen=True, eq=False, kw_only=True)
class RobotModel(ScenarioModel):
    """
    A rolling robot.

    Attributes
    ----------
    view
        What it shows of itself.

    """

    view: RobotView

    @property
    def hybrid(self) -> bool:
        """True if the scenario asks for the motion beyond rolling."""
        return 'hybrid' in self.scenario.raw

    @property
    def sliding(self) -> bool:
        """True if a motion beyond rolling goes on after slip starts, as it does by default."""
        return bool(self.scenario.raw.get('hybrid', {'sliding': True}).get('sliding', False))


def check_limits(model: ScenarioModel) -> None:
    """
    Check that every control of a scenario has a finite limit, as hardware needs it.

    Raises
    ------
    ParameterError
        A control has no limit; the error names it and the entry that is missing.

    """
    limits, control = model.control_limits, model.system.control
    names = [
        entry.name
        for entry in control.entries
        if limits is None or not np.isfinite(limits[control.slice(entry.name)]).all()
    ]
    if names:
        raise ParameterError(
            f'{model.title}: hardware is driven within finite limits only, and '
            f'{", ".join(names)} {"has" if len(names) == 1 else "have"} none: give the greatest '
            f'magnitude of each, as `limits: {{{names[0]}: ...}}` in the scenario, or '
            'as the `limit` of a drive of a machine'
        )


def load_model(scenario_file: str) -> Model:
    """
    Return the object and hand of a scenario file.

    Parameters
    ----------
    scenario_file
        A path, or the name of an example.

    Raises
    ------
    ParameterError, ScenarioError
        There is no such file, an entry is wrong, or it describes something else.

    """
    return object_model(load_scenario(scenario_file), scenario_file)


def object_model(scenario: Scenario, scenario_file: str = '') -> Model:
    """Return the object and hand of a scenario; see :func:`load_model`."""
    scenario_file = scenario_file or scenario.name
    if 'hybrid' in scenario.raw:
        raise ParameterError(
            f'{scenario_file}: has a section `hybrid`, but these nodes run an object that rolls: '
            'leave the section out; simulator_node with motion:=all_modes lets it slide and fly'
        )
    if offers(scenario.system, CarriedObject) is None:
        raise ParameterError(
            f'{scenario_file}: system is {scenario.system.name!r}; these nodes run {"contact"!r}'
        )
    system = cast('ContactSystem', scenario.system)
    if system.representation.name != 'attitude':
        raise ParameterError(
            f"{scenario_file}: representation must be 'attitude', got "
            f'{system.representation.name!r}'
        )
    return Model.of(scenario)


def load_robot(scenario_file: str) -> RobotModel:
    """Return the robot of a scenario file; arguments and errors as :func:`load_model`."""
    scenario = load_scenario(scenario_file)
    view = robot_view(scenario.system, scenario.p)
    for s in scenario.sensors if view.joints else ():
        check_topic(f'sensor {s.name!r} of {scenario.system.name!r}', s.topic, ['joint_states'])
    if view.holds_at is None:
        falls = is_unstable(scenario.system, scenario.p, scenario.x0)
        held = [*FAULTS, *_replaceable(scenario)] if falls else []
        view = replace(view, holds_at=frozenset(held))
    faults = [*FAULTS, *(sensor.name for sensor in scenario.sensors)]
    check_names(view.holds_at or (), faults, 'holds_at: no fault')
    return RobotModel.of(scenario, view=view)


def _replaceable(scenario: Scenario) -> list[str]:
    """Return the sensors without which the others still observe how a robot falls."""
    given, sensors = (scenario.system, scenario.p, scenario.x0), scenario.sensors
    others = {s.name: [o for o in sensors if o is not s] for s in sensors}
    return [name for name, left in others.items() if measures_unstable(*given, left)]


def load_any(scenario_file: str) -> Model | RobotModel:
    """Return the object on a hand, or the robot, of a scenario file."""
    on_hand = offers(load_scenario(scenario_file).system, CarriedObject) is not None
    return load_model(scenario_file) if on_hand else load_robot(scenario_file)
