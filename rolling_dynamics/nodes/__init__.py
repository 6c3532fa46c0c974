"""ROS nodes of the dynamics, and the plumbing that all nodes of the suite share."""
