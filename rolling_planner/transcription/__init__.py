"""Direct collocation: a problem as sparse functions of all nodes, and its solver."""
