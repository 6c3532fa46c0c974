"""Following a sequence of gaits: correction at each swing, torque within it, slope estimated."""
