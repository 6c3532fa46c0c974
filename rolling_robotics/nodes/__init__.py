"""ROS nodes at the top of the suite: recorder and demonstration client."""

from rolling_dynamics.quiet_start import quiet_start

quiet_start()
