"""Manoeuvres of the sphere with a pendulum: sequences of gaits past keep-out circles."""
