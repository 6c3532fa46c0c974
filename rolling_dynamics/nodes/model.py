"""The contact system that a scenario describes, as the nodes use it; no ROS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario, Scenario


@dataclass(frozen=True, eq=False, kw_only=True)
class Model:
    """
    A system with its numbers.

    Attributes
    ----------
    title
        What it is, for the log.
    system
        The system, in the representation without chart singularities.
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
    system: ContactSystem
    params: NDArray[np.float64]
    start: NDArray[np.float64]
    control_limits: NDArray[np.float64] | None
    scenario: Scenario

    @property
    def mu(self) -> float:
        """Coefficient of static friction."""
        return float(self.params[self.system.parameters.slice('mu')][0])

    @property
    def mu_spin(self) -> float:
        """Coefficient of spin friction [m]."""
        return float(self.params[self.system.parameters.slice('mu_spin')][0])


def load_model(scenario_file: str) -> Model:
    """
    Return the model of a scenario file.

    Parameters
    ----------
    scenario_file
        A path, or the name of an example.

    Raises
    ------
    ParameterError, ScenarioError
        There is no such file, or an entry is wrong.

    """
    scenario = load_scenario(scenario_file)
    if offers(scenario.system, CarriedObject) is None:
        raise ParameterError(
            f'{scenario_file}: system is {scenario.system.name!r}; these nodes run {"contact"!r}'
        )
    system, x0 = cast('ContactSystem', scenario.system), scenario.x0
    if system.representation.name != 'attitude':
        raise ParameterError(
            f"{scenario_file}: representation must be 'attitude', got "
            f'{system.representation.name!r}'
        )
    limits = scenario.control_limits
    return Model(
        title=scenario.name,
        system=system,
        params=scenario.p,
        start=x0,
        control_limits=limits if np.any(np.isfinite(limits)) else None,
        scenario=scenario,
    )
