"""Predictive control: one quadratic program each period, about a plan that may be replaced."""
