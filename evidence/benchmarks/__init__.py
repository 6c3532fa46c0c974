"""
Benchmarks: figures of the suite beside their references, measured in the same run.

One file holds one group of figures; ``registry.GROUPS`` lists them.
"""

from rolling_dynamics.one_thread import one_thread

one_thread()  # before any of them imports NumPy
