"""Demonstrations: trials of an experiment on real nodes, judged by their recording."""

from rolling_robotics.demo.run import run_demo

__all__ = ['run_demo']
