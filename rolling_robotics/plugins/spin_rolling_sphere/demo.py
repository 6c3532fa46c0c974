"""The demonstration of a sphere that rolls and spins."""

from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.faults import check
from rolling_planner.spin_rolling.motion import ContactGoal
from rolling_robotics.demo.demo import plan_demo
from rolling_robotics.trials.trial import listed, PlanRequest


def contact_goal(scenario: Scenario) -> PlanRequest:
    """Return the goal of a sphere that rolls and spins: contact coordinates, at its own pace."""
    given = scenario.raw.get('plan', {}).get('goal', {})
    goal = check(ContactGoal, given, 'plan.goal').model_dump(exclude_unset=True)
    return PlanRequest(text=listed(goal), goal=goal)


DEMO = plan_demo('spin_rolling', (0.001, -0.001), (0.05, -0.1, 0.1), contact_goal)
