"""ROS nodes at the top of the suite: recorder and demonstration client."""

from rolling_node_kit.signals import quiet_start

quiet_start()
