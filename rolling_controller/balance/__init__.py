"""Balancing about equilibria: regulator, region of attraction, hand-over."""
