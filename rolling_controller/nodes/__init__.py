"""ROS nodes of the controller."""

from rolling_node_kit.signals import quiet_start

quiet_start()
