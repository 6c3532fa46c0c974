"""ROS nodes of the dynamics."""

from rolling_node_kit.signals import quiet_start

quiet_start()
