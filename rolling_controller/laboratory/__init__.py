"""The laboratory's experiments as laws that a node runs on states of hand and object."""
