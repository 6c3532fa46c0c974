"""Conformance checks for any rolling system, the suite's or your own."""

from rolling_dynamics.testing.check_system import check_system, CHECKS, inspect_system
from rolling_dynamics.testing.motion import Failed, NotApplicable, Outcome, Subject

__all__ = [
    'CHECKS',
    'Failed',
    'NotApplicable',
    'Outcome',
    'Subject',
    'check_system',
    'inspect_system',
]
