"""Views of rolling robots: links, joints, shapes and heading."""
