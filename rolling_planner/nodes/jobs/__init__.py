"""What the worker process does for each kind of system; no ROS in here."""
