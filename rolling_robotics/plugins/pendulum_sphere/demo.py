"""The demonstration of a sphere with a pendulum, on a plant whose masses are wrong by 10 %."""

from rolling_dynamics.scenario import Scenario
from rolling_planner.gait_planner.problem import read_gait_problem
from rolling_robotics.demo.demo import plan_demo
from rolling_robotics.trials.trial import PlanRequest


def manoeuvre(scenario: Scenario) -> PlanRequest:
    """Return the goal of a sphere with a pendulum: the manoeuvre of its scenario."""
    problem = read_gait_problem(scenario)
    x, y = problem.waypoints[-1].position
    rests = sum(w.wait is not None for w in problem.waypoints[:-1])
    return PlanRequest(
        text=f'rest at ({x:g}, {y:g}) m, by way of {len(problem.waypoints) - 1} waypoints '
        f'({rests} with a rest) between {len(problem.obstacles)} obstacles'
    )


DEMO = plan_demo(
    'pendulum_sphere', (0.02, -0.02), request=manoeuvre, plant_file='pendulum_course_plant.yaml'
)
