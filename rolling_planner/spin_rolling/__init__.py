"""Planning for a sphere that rolls and spins on a plane."""
