"""Parameters that several nodes have."""

from __future__ import annotations

from rolling_node_kit.parameters import Parameter

COMMON = (  # of every node
    Parameter(
        'autostart', True, 'configure and activate without a lifecycle manager', read_only=True
    ),
    Parameter(
        'realtime_priority',
        0,
        'real-time priority (SCHED_FIFO); 0 = off; needs the permission to set it',
        limits=(0, 90),
        read_only=True,
    ),
    Parameter(
        'diagnostics_period',
        1.0,
        'period of the messages on /diagnostics',
        limits=(0.05, 60.0),
        unit='s',
        read_only=True,
    ),
)
OVERRUN = (
    Parameter(
        'overrun_window',
        1.0,
        'window over which missed loop deadlines are counted; not with use_sim_time',
        limits=(0.1, 60.0),
        unit='s',
    ),
    Parameter(
        'overrun_warn',
        0.25,
        'fraction of missed deadlines above which diagnostics warn; 1 = never',
        limits=(0.0, 1.0),
    ),
    Parameter(
        'overrun_error',
        0.5,
        'fraction of missed deadlines above which diagnostics report an error; 1 = never',
        limits=(0.0, 1.0),
    ),
    Parameter(
        'overrun_abort',
        1.0,
        'fraction of missed deadlines above which the node stops safely, as by ~/stop; 1 = never',
        limits=(0.0, 1.0),
    ),
)
TF_RATE = Parameter(
    'tf_rate',
    50.0,
    'publication rate of the frames',
    limits=(1.0, 100.0),
    unit='Hz',
    read_only=True,
)
LOCKSTEP_TIMEOUT = Parameter(
    'lockstep_timeout',
    5.0,
    'maximum wait for the answer to a step, in wall-clock time, with use_sim_time',
    limits=(0.01, 60.0),
    unit='s',
)
RATE_FACTOR = Parameter(
    'rate_factor', 1.0, 'real-time factor; only with use_sim_time', limits=(0.01, 100.0)
)
