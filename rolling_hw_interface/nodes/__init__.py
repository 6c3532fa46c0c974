"""ROS nodes of rolling_hw_interface; only modules below this folder import ROS."""
