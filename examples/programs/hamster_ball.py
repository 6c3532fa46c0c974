"""
A cart with two driven wheels in a spherical shell.

Motors of opposite torque turn it inside the shell, motors of equal torque make the shell roll.
"""

from rolling_dynamics import load_scenario, simulate

scenario = load_scenario('hamster_ball')
system, p = scenario.system, scenario.p
for torques in ([0.01, 0.01], [0.01, -0.01]):
    motion = simulate(system, p, scenario.x0, torques, 1.0)
    end = system.state.unpack(motion.states[-1])
    turning = end['w_chassis'][2]
    print(f'{torques} N m: rolled {end["c_shell"][0]:.4f} m, cart turns at {turning:.3f} rad/s')
