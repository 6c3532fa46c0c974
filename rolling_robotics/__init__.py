"""Top of the suite: the command line, experiments and viewing."""
