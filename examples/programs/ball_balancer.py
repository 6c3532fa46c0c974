"""
A ball balanced on a plate that two servos tilt.

A camera sees the ball with delay and noise; a linear-quadratic regulator moves it to set points.
"""

import numpy as np
from rolling_controller.ball_balancer.estimator import RigModel
from rolling_controller.ball_balancer.laws import LAWS
from rolling_controller.ball_balancer.rig import run_rig
from rolling_dynamics import load_scenario
from rolling_dynamics.ball_balancer.rig_file import rig_file

file = rig_file(load_scenario('ball_balancer'))
law = LAWS['lqr'](RigModel.of(file))
corners = np.array([[0.03, 0.0], [0.0, 0.03], [-0.03, 0.0]])
run = run_rig(file, law, lambda t: corners[min(int(t / 3), 2)], 9.0, seed=1)

for k, corner in enumerate(corners):
    ball = run.states[np.searchsorted(run.times, 3 * k + 2.9), :2]
    print(f'{1e3 * np.linalg.norm(ball - corner):.2f} mm from {corner} m')
