"""Kinds of hardware that a laboratory experiment runs on."""

SIMULATED, EMULATED, REAL = 'simulated', 'emulated', 'real'
