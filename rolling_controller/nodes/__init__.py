"""ROS nodes of the controller."""
