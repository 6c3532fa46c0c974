"""A ball that rolls on a plate which servos tilt: breakaway, uneven plate, servo limits."""
