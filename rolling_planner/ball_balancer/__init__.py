"""Plans for a ball on a board with walls and holes."""
