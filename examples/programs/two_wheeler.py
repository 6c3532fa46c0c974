"""
A robot that balances on two wheels.

An IMU and encoders are filtered to its state; it stands up from a lean of 3 degrees.
"""

import numpy as np
from rolling_controller import Hold
from rolling_controller.lockstep import run_emulated
from rolling_controller.measured_state import latency, MeasuredLaw, SensorFilter
from rolling_dynamics import load_scenario
from rolling_dynamics.simulation.emulation import Emulation

scenario = load_scenario('two_wheeler')
system, p, sensors = scenario.system, scenario.p, scenario.sensors
lean = np.zeros(system.tangent.size)
lean[system.tangent.names.index('d_body_y')] = np.radians(3)

robot = Emulation(system, p, sensors, scenario.actuators, seed=1)
robot.restart(np.array(system.retract(scenario.x0, lean)).ravel(), np.zeros(2))
state = SensorFilter(system, p, sensors, scenario.x0)
hold = Hold(system, p, scenario.x0, control_limits=scenario.control_limits)
late = latency(sensors, scenario.actuators)
run = run_emulated(robot, MeasuredLaw(state, hold, latency=late), state.given, 2.0, lambda u: u)

q = system.state.unpack(run.states[-1])['q_body']
print(f'lean after {run.times[-1]:.1f} s: {np.degrees(2 * np.arcsin(q[2])):.2f} degrees')
print(f'greatest torque: {np.abs(run.controls).max():.2f} N m')
