"""Whether others on the network can command the motors: what ROS is given by its environment."""

from __future__ import annotations

from collections.abc import Mapping


def security_gap(environment: Mapping[str, str]) -> str:
    """
    Return in one line what is open, or the empty string.

    ROS compares both variables letter by letter: ``True`` and ``enforce`` count as not set.

    Parameters
    ----------
    environment
        Environment of the process.

    """
    if environment.get('ROS_SECURITY_ENABLE') != 'true':
        return (
            'security is off (ROS_SECURITY_ENABLE is not "true"): whoever reaches this ROS domain '
            'can move the motors; see docs/security.md'
        )
    if environment.get('ROS_SECURITY_STRATEGY') != 'Enforce':
        return (
            'security is not enforced (ROS_SECURITY_STRATEGY is not "Enforce"): a node without '
            'keys starts all the same, unprotected; see docs/security.md'
        )
    return ''
