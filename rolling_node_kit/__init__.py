"""General kit for ROS nodes: parameters, life cycle, loops, topics; it knows no system."""
