"""Evidence that the suite does what it claims: its own figures and the papers'."""
