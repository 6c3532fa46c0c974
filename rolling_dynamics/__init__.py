"""Mechanics of rolling contact: surfaces, contact kinematics and dynamics, simulation."""
