"""Parameters that several nodes have."""

from __future__ import annotations

from rolling_node_kit.parameters import Parameter

COMMON = (  # of every node
    Parameter(
        name='autostart',
        default=True,
        read_only=True,
        text='configure and activate without a lifecycle manager',
    ),
    Parameter(
        name='realtime_priority',
        default=0,
        low=0,
        high=90,
        read_only=True,
        text='real-time priority (SCHED_FIFO); 0 = off; needs the permission to set it',
    ),
    Parameter(
        name='diagnostics_period',
        default=1.0,
        low=0.05,
        high=60.0,
        unit='s',
        read_only=True,
        text='period of the messages on /diagnostics',
    ),
)
OVERRUN = (
    Parameter(
        name='overrun_window',
        default=1.0,
        low=0.1,
        high=60.0,
        unit='s',
        text='window over which missed loop deadlines are counted; not with use_sim_time',
    ),
    Parameter(
        name='overrun_warn',
        default=0.25,
        low=0.0,
        high=1.0,
        text='share of missed deadlines above which diagnostics warn; 1 = never',
    ),
    Parameter(
        name='overrun_error',
        default=0.5,
        low=0.0,
        high=1.0,
        text='share of missed deadlines above which diagnostics report an error; 1 = never',
    ),
    Parameter(
        name='overrun_abort',
        default=1.0,
        low=0.0,
        high=1.0,
        text='share of missed deadlines above which the node stops safely, as by ~/stop; '
        '1 = never',
    ),
)
TF_RATE = Parameter(
    name='tf_rate',
    default=50.0,
    low=1.0,
    high=100.0,
    unit='Hz',
    read_only=True,
    text='publication rate of the frames',
)
LOCKSTEP_TIMEOUT = Parameter(
    name='lockstep_timeout',
    default=5.0,
    low=0.01,
    high=60.0,
    unit='s',
    text='maximum wait for the answer to a step, in wall-clock time, with use_sim_time',
)
RATE_FACTOR = Parameter(
    name='rate_factor',
    default=1.0,
    low=0.01,
    high=100.0,
    text='real-time factor; only with use_sim_time',
)
