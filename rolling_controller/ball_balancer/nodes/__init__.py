"""ROS node of the laws of a ball balancer."""

from rolling_node_kit.signals import quiet_start

quiet_start()
