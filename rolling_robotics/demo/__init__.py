"""Demonstrations: plan a motion, execute it open loop and under feedback, on real nodes."""

from rolling_robotics.demo.run import run_demo

__all__ = ['run_demo']
