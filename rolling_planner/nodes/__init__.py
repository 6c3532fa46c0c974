"""ROS nodes of the planner."""

from rolling_node_kit.signals import quiet_start

quiet_start()
