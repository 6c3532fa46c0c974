"""Moving pictures of a scene."""
