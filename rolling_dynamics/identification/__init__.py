"""Identification of parameters of any system from logs of its motion, by multiple shooting."""
