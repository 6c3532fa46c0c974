"""Running a scenario."""

from __future__ import annotations

from rolling_dynamics.contract.capabilities import FollowedQuantities, offers
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation import simulate, Trajectory
from rolling_dynamics.simulation.follower import Follower
from rolling_robotics.progress import Progress


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


def follower_of(scenario: Scenario) -> Follower | None:
    """Return what follows quantities along the steps; None where the system has none."""
    followed = offers(scenario.system, FollowedQuantities)
    return None if followed is None else followed.follower(scenario.p)
