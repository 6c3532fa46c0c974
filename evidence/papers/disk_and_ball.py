"""The disk and the ball of the paper: Putkaradze & Rogers (normal force), Sections 5 and 6."""

from __future__ import annotations

from typing import Any, cast

from rolling_dynamics.internal_masses.ball import PointMassBall, PointMassDisk
from rolling_dynamics.internal_masses.masses import rail_masses, RailMass
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_dynamics.simulation import simulate, Trajectory
from rolling_dynamics.simulation.control import ControlLike


def disk() -> Scenario:
    """Return the disk of Section 5."""
    return load_scenario({**load_scenario('point_mass_disk').raw, 'friction': {'mu': 1.0}})


def ball(
    masses: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0), *, unilateral: bool = False, mu: float = 1.0
) -> Scenario:
    """
    Return the ball of Section 6.

    Parameters
    ----------
    masses
        m_0 to m_3 [kg]; (0.1, 0.1, 0.1, 60) is the detachment example.
    unilateral, mu
        See :class:`PointMassBall`.

    """
    raw: dict[str, Any] = dict(load_scenario('point_mass_ball').raw)
    raw['ball'] = {**raw['ball'], 'mass': masses[0]}
    raw['masses'] = [{**m, 'mass': k} for m, k in zip(raw['masses'], masses[1:], strict=True)]
    raw['friction'] = {'mu': mu}
    return load_scenario(raw | ({'hybrid': {'sliding': True}} if unilateral else {}))


def simulated(
    scenario: Scenario,
    duration: float,
    tolerance: float,
    control: ControlLike = None,
) -> Trajectory:
    """Return a motion over a duration [s], friction without limit, at a tolerance."""
    return simulate(
        scenario.system,
        scenario.p,
        scenario.x0,
        scenario.control.simplest if control is None else control,
        duration,
        events={'friction': 'ignore'},
        rtol=tolerance,
        atol=tolerance,
    )


def masses_of(scenario: Scenario) -> list[RailMass]:
    """Return the masses on their rails."""
    return rail_masses(cast('PointMassBall | PointMassDisk', scenario.system).masses)
