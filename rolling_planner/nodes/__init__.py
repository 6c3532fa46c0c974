"""ROS nodes of the planner."""

from rolling_dynamics.quiet_start import quiet_start

quiet_start()
