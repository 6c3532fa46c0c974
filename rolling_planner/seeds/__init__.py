"""Initial guesses of plans."""
