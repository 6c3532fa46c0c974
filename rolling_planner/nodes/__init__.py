"""ROS nodes of the planner."""
