"""ROS nodes at the top of the suite: recorder and demonstration client."""
