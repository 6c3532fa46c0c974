"""A spherical shell that rolls, driven by an axisymmetric pendulum in its centre."""
