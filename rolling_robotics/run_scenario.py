"""Running a scenario."""

from __future__ import annotations

from typing import cast, TYPE_CHECKING

from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation import simulate, Trajectory
from rolling_robotics.progress import Progress

if TYPE_CHECKING:
    from rolling_dynamics.contact import ContactSystem
    from rolling_dynamics.contact.followed_coordinates import ContactCoordinates


def simulate_scenario(
    scenario: Scenario, progress: Progress | None = None, *, dense: bool = False
) -> Trajectory:
    """Return the motion that a scenario describes; ``dense``, to be asked for any time after."""

    def on_progress(t: float) -> None:
        if progress is not None:
            progress.say(f't = {t:.3g} s', t / scenario.duration)

    return simulate(
        scenario.system,
        scenario.p,
        scenario.x0,
        scenario.control.simplest,
        scenario.duration,
        t_eval=scenario.output_times,
        rtol=scenario.tolerances.relative,
        atol=scenario.tolerances.absolute,
        events=scenario.events,
        dense=dense,
        mode=scenario.mode,
        follower=follower_of(scenario),
        on_progress=on_progress,
    )


def follower_of(scenario: Scenario) -> ContactCoordinates | None:
    """Return what follows the contact coordinates of a scenario; None where it has none."""
    if offers(scenario.system, CarriedObject) is None:
        return None
    from rolling_dynamics.contact.followed_coordinates import ContactCoordinates  # noqa: PLC0415

    return ContactCoordinates(cast('ContactSystem', scenario.system), scenario.p)
