"""Types of hardware that a laboratory experiment runs on; apart, since `--help` imports it."""

SIMULATED, EMULATED, REAL = 'simulated', 'emulated', 'real'
