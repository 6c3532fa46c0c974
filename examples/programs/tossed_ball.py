"""
A ball tossed by a plate.

It slips, rolls, flies and lands; each change of mode is an event.
"""

from rolling_dynamics import load_scenario, simulate

scenario = load_scenario('ball_tossed_by_plate')
system = scenario.system
motion = simulate(system, scenario.p, scenario.x0, scenario.control, scenario.duration)

for event in motion.events:
    height = system.pose(event.state, scenario.p)[1][2, 3]
    print(f'{event.time:.6f} s  {event.name:<10} height {float(height):.4f} m  {event.text}')
