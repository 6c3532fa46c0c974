"""Hardware side: motors, cameras, their emulations, and state estimation."""
