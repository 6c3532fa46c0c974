"""ROS node of an emulated ball balancer."""

from rolling_node_kit.signals import quiet_start

quiet_start()
