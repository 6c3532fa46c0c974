"""A sphere that rolls and spins on a plane: Montana's equations and their Darboux-frame form."""
