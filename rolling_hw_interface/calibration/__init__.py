"""Calibration of camera, clocks, joints and object from recorded motion."""
