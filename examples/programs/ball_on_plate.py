"""
A ball rolled over a plate to a goal.

The plan is made from rest; feedback leads a ball that lies 3 mm off along it.
"""

from rolling_controller import run_lockstep, TimeVaryingLqr
from rolling_dynamics import load_scenario
from rolling_planner import plan_rolling
from rolling_planner.problem.scenario import read_problem

scenario = load_scenario('ball_on_plate_straight')
system, p = scenario.system, scenario.p
plan = plan_rolling(read_problem(scenario))

start = plan.states[0].copy()
start[system.state.index('u_h')] += 0.003
feedback = TimeVaryingLqr(system, p, plan, control_limits=scenario.control_limits)
run = run_lockstep(system, p, start, feedback, plan.duration)

goal = system.state.unpack(plan.states[-1])['contact_h']
reached = system.state.unpack(run.states[-1])['contact_h']
print(f'cost {plan.report["cost"]:.4f}, error of the plan {plan.report["goal_error"]:.2g}')
print(f'with feedback: {1e3 * abs(reached - goal).max():.3f} mm from the goal')
