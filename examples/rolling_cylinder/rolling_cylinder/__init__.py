"""A cylinder with a rotor inside, in a trough: a system for rolling_robotics."""
