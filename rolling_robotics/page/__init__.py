"""A simulation as one page of a browser: the step of a scenario as WebAssembly."""
