"""The laboratory's experiments in lockstep, on the emulated hardware, over many seeds."""
