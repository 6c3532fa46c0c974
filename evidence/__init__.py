"""Evidence that the suite does what it claims: figures of its own, and those of the papers."""
