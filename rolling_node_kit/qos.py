"""
Quality of service of the suite's topics.

A stream has a reliable writer, so that a recorder loses nothing, and best-effort readers, so that
a control loop always sees the newest sample. Commands, events and latched topics are reliable at
both ends; a log is latched with all that a recorder which comes late would miss. A service keeps
many requests, and many answers to them. Every profile may be overridden through the usual
``qos_overrides`` parameters.
"""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions


def _profile(depth: int, *, reliable: bool, latched: bool = False) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=(DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE),
    )


STREAM_WRITER = _profile(2000, reliable=True)  # two seconds at 1 kHz, for a recorder that waits
STREAM_READER = _profile(1, reliable=False)
STREAM_POLLED = _profile(16, reliable=False)
FRAMES_POLLED = _profile(64, reliable=False)  # frames of several nodes come on one topic
SENSOR_DATA = _profile(5, reliable=False)
COMMAND = _profile(1, reliable=True)
EVENT = _profile(10, reliable=True)
LATCHED = _profile(1, reliable=True, latched=True)
LOG = _profile(200, reliable=True, latched=True)
REQUESTS = _profile(1000, reliable=True)  # of ROS's own 10, what comes at once beyond is lost


def overridable() -> QoSOverridingOptions:
    """Return options that expose history, depth and reliability as parameters of the node."""
    return QoSOverridingOptions.with_default_policies()
