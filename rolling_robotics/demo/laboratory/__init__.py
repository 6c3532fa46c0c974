"""Demonstrations of the laboratory: trials of an experiment through ROS, each with a verdict."""
