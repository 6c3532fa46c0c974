"""First guesses of plans."""
