"""ROS nodes of the controller."""

from rolling_dynamics.quiet_start import quiet_start

quiet_start()
