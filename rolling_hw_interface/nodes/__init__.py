"""ROS nodes of rolling_hw_interface; only modules below this folder import ROS."""

from rolling_node_kit.signals import quiet_start

quiet_start()
