"""
Planning a scenario, whatever its system: one module for each kind of planner.

Each has ``SECTION``, the model of the section ``plan``; ``check(scenario)``, which raises a
RollingError unless that section is good; and ``plan(scenario, on_iteration)``, which returns a
``Planned``.
"""
