"""ROS nodes of rolling_hw_interface; only modules below this folder import ROS."""

from rolling_dynamics.quiet_start import quiet_start

quiet_start()
