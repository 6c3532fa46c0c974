"""
A ball on a spinning plate.

It rolls along a circle at two sevenths of the plate's rate, wherever it starts.
"""

import numpy as np
from rolling_dynamics import load_scenario, simulate

scenario = load_scenario('spinning_plate')
motion = simulate(scenario.system, scenario.p, scenario.x0, scenario.control, 3.0)

times = np.linspace(0.0, 3.0, 301)
x, y = np.array([motion.pose(t)['object'][:2, 3] for t in times]).T
# the circle (x - a)^2 + (y - b)^2 = r^2 is linear in a, b and r^2 - a^2 - b^2
a, b, rest = np.linalg.lstsq(np.c_[2 * x, 2 * y, np.ones_like(x)], x**2 + y**2, rcond=None)[0]
angle = np.unwrap(np.arctan2(y - b, x - a))
plate = scenario.system.state.unpack(scenario.x0)['w_WH_H'][2]
ratio = (angle[-1] - angle[0]) / 3.0 / plate

print(f'radius of the circle: {np.sqrt(rest + a**2 + b**2):.6f} m')
print(f'rate over the rate of the plate: {ratio:.9f}; two sevenths: {2 / 7:.9f}')
