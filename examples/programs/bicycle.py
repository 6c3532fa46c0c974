"""
The benchmark bicycle.

It rights itself between the weave speed of 4.29 m/s and the capsize speed of 6.02 m/s.
"""

import numpy as np
from rolling_dynamics import load_scenario
from rolling_dynamics.equilibrium import linear_model

WHEELS = 'rear', 'front'  # their angles change in a steady motion
scenario = load_scenario('bicycle')
system, p = scenario.system, scenario.p
for speed in (3.0, 4.0, 5.0, 6.0, 7.0):
    x = system.state.pack(
        p_frame=[0, 0, 0.3],
        q_frame=[1, 0, 0, 0],
        v_frame=[speed, 0, 0],
        rear_rate=speed / 0.3,
        front_rate=speed / 0.35,
    )
    rates = np.linalg.eigvals(linear_model(system, p, x, [0.0], WHEELS).A)
    print(f'{speed} m/s: {"stable" if rates.real.max() < 1e-6 else "falls"}')
