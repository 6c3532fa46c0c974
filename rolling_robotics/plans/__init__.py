"""
Planning a scenario, whatever its system: one module for each kind of planner.

Each has ``check(scenario)``, which raises a RollingError unless its section ``plan`` is good, and
``plan(scenario, on_iteration)``, which returns a ``Planned``.
"""
