"""ROS nodes of the dynamics, and the plumbing that all nodes of the suite share."""

from rolling_dynamics.quiet_start import quiet_start

quiet_start()
