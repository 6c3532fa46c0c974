"""Recordings in MCAP: reading them, damaged ones too, and writing them; without ROS."""
