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
        text='priority among real-time threads (SCHED_FIFO); 0 = ordinary; needs the right to it',
    ),
    Parameter(
        name='diagnostics_period',
        default=1.0,
        low=0.05,
        high=60.0,
        unit='s',
        read_only=True,
        text='time between two messages on /diagnostics',
    ),
)
OVERRUN = (
    Parameter(
        name='overrun_window',
        default=1.0,
        low=0.1,
        high=60.0,
        unit='s',
        text='time over which missed deadlines of the loop are counted; not with use_sim_time',
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
        text='share of missed deadlines above which the work is ended safely, as by a stop; '
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
    text='messages a second of the frames',
)
LOCKSTEP_TIMEOUT = Parameter(
    name='lockstep_timeout',
    default=1.0,
    low=0.01,
    high=60.0,
    unit='s',
    text='longest wait, by a steady clock, for the answer to a step, with use_sim_time',
)
RATE_FACTOR = Parameter(
    name='rate_factor',
    default=1.0,
    low=0.01,
    high=100.0,
    text='simulated seconds in a second; only with use_sim_time',
)
