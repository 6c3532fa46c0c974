"""
A ball driven by masses on rails inside it.

It needs no more friction than the floor gives; else the simulation ends where it would slip.
"""

import numpy as np
from rolling_dynamics import load_scenario, simulate

scenario = load_scenario('point_mass_ball')
system, p = scenario.system, scenario.p
motion = simulate(system, p, scenario.x0, scenario.control, scenario.duration)

wrench, needed = next(iter(system.modes.values())).wrench, []
for t, x in zip(motion.times, motion.states, strict=True):
    fx, fy, fz = np.array(wrench(x, scenario.control(t, x), t, p)).ravel()[3:]
    needed.append(np.hypot(fx, fy) / fz)
print(f'it rolled to {motion.states[-1][system.state.slice("p")]} m')
print(f'greatest coefficient of friction that it needed: {max(needed):.4f}')
