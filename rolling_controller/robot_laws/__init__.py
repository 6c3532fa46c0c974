"""Feedback for the rolling robots: one law each for following plans and for being driven."""
