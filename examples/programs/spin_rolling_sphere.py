"""
A sphere rolled and spun on a plane to a position and an attitude.

The path is as short as any between them; the attitude is left to spin and to the way of rolling.
"""

from rolling_dynamics import load_scenario
from rolling_planner.spin_rolling.motion import read_spin_rolling_problem
from rolling_planner.spin_rolling.planner import plan_spin_rolling

plan = plan_spin_rolling(read_spin_rolling_problem(load_scenario('spin_rolling_plan')))
report = plan.report
print(f'{plan.duration:.3f} s, {report["turns"]} turns, spin {report["spin"]:.3f} rad')
print(f'length {report["length"]:.6f} m; no path is shorter than {report["least_length"]:.6f} m')
print(f'error at the goal: {report["goal_error"]:.1e}')
