"""Numbers and figures of the papers, one paper a module."""
