"""
Benchmarks: figures of the suite beside their references, measured in the same run.

One file holds one group of figures; ``registry.GROUPS`` lists them.
"""
