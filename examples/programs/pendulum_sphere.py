"""
A sphere driven by a pendulum inside.

Swings of the pendulum, each from one steady motion to another, make up a course past obstacles.
"""

from rolling_dynamics import load_scenario
from rolling_planner.gait_planner.plan_gaits import plan_gaits
from rolling_planner.gait_planner.problem import read_gait_problem

plan = plan_gaits(read_gait_problem(load_scenario('pendulum_course')))
print(f'{len(plan.steps)} swings, {plan.length:.3f} m in {plan.duration:.3f} s')
print(
    f'greatest torque {plan.report["peak_torque"]:.3f} N m, friction {plan.report["friction"]:.3f}'
)
