"""What a rolling robot shows of itself: links, joints, shapes, and where it heads."""
