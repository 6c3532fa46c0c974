"""
A cylinder between three fingertips, a robot on two wheels, and a cart in a ball.

Contacts beside the joints take degrees of freedom: the motions that are left, and forces that move
nothing, are named.
"""

from rolling_dynamics import load_scenario

for name in ('three_fingertips', 'two_wheeler', 'hamster_ball'):
    scenario = load_scenario(name)
    lines = scenario.system.structure(scenario.p, scenario.x0).lines
    print(name, *lines, sep='\n  ')
