"""Parameters that every controller has, and those of the contact system's."""

from __future__ import annotations

from rolling_controller.design import CONTACT_OPTIONS, LAWS, LQR
from rolling_controller.lqr_weights import Option
from rolling_node_kit.common_parameters import OVERRUN
from rolling_node_kit.parameters import Parameter


def option_parameter(option: Option, group: str = '') -> Parameter:
    """Return the parameter of an option of a law."""
    return Parameter(
        name=f'{group}.{option.name}' if group else option.name,
        default=option.default,
        low=option.low,
        high=option.high,
        unit=option.unit,
        text=option.text,
    )


EXECUTION = (
    Parameter(
        name='scenario_file',
        default='',
        read_only=True,
        text='scenario with bodies, surfaces and limits; a path, or a name in config/',
    ),
    Parameter(
        name='rate',
        default=1000.0,
        low=50.0,
        high=2000.0,
        unit='Hz',
        read_only=True,
        text='control rate',
    ),
    Parameter(
        name='feedback_rate',
        default=20.0,
        low=1.0,
        high=200.0,
        unit='Hz',
        read_only=True,
        text='rate of action feedback',
    ),
    Parameter(
        name='open_loop',
        default=False,
        text='play the planned controls back without feedback, for comparison',
    ),
    Parameter(
        name='finite_limits',
        default=False,
        read_only=True,
        text='whether to reject a scenario with a control that has no finite limit; the launch '
        'files ask for it on real hardware',
    ),
    Parameter(
        name='state_timeout',
        default=0.05,
        low=0.002,
        high=60.0,
        unit='s',
        text='age of the newest usable state, by its stamp and by its arrival, beyond which an '
        'execution is aborted; with use_sim_time at least 5 s, and a predictive law waits as long '
        'for a plan',
    ),
    Parameter(
        name='stamp_tolerance',
        default=0.5,
        low=0.001,
        high=60.0,
        unit='s',
        text='difference between the stamp of a state and the clock of the node, '
        'beyond which the state is refused',
    ),
    Parameter(
        name='noisy_states',
        default=False,
        read_only=True,
        text='whether states are measured with noise: a state that repeats itself with another '
        'stamp is a fault then',
    ),
    Parameter(
        name='start_tolerance',
        default=0.3,
        low=0.0,
        high=100.0,
        text='maximum norm of the error between state and start of the plan (m, rad, m/s, rad/s)',
    ),
    Parameter(
        name='max_plan_duration',
        default=200.0,
        low=0.001,
        high=1e6,
        unit='s',
        text='longest plan that is accepted; feedback by LQR keeps knots for 200 s',
    ),
    Parameter(
        name='plan_stamp_tolerance',
        default=5.0,
        low=0.0,
        high=3600.0,
        unit='s',
        text='maximum difference between the stamp of a plan and now; stamp 0 is always accepted',
    ),
    Parameter(
        name='require_model_hash',
        default=True,
        text='refuse plans without model_hash; false trusts plans from other software',
    ),
    Parameter(
        name='goal_tolerance',
        default=0.05,
        low=0.0,
        high=100.0,
        text='norm of the goal error up to which the goal counts as reached (m, rad, m/s, rad/s)',
    ),
    Parameter(
        name='patience',
        default=0.02,
        low=0.0,
        high=1.0,
        unit='s',
        read_only=True,
        text='time for which a contact margin may be negative',
    ),
    Parameter(
        name='settle_time',
        default=0.0,
        low=0.0,
        high=60.0,
        unit='s',
        text='settling time after the end of a plan, with feedback if it can hold the end',
    ),
    Parameter(
        name='brake_time',
        default=0.1,
        low=0.01,
        high=5.0,
        unit='s',
        text='time constant of the safe command, which brings the drive to rest',
    ),
    Parameter(
        name='prediction_horizon',
        default=0.05,
        low=0.0,
        high=0.5,
        unit='s',
        read_only=True,
        text='maximum state age compensated by prediction; 0 = off; not with use_sim_time',
    ),
    Parameter(
        name='command_delay',
        default=0.001,
        low=0.0,
        high=0.1,
        unit='s',
        read_only=True,
        text='actuation delay, for the prediction',
    ),
    *OVERRUN,
)

TABLE = (
    *EXECUTION,
    Parameter(
        name='law',
        default=LQR,
        choices=LAWS,
        text='feedback along a plan: a linear regulator, predictive control within the limits '
        'of controls and contact, which needs daqp, or a learned policy; from the next goal on',
    ),
    Parameter(
        name='policy_file',
        default='',
        text='path of the policy of law learned; from the next goal on',
    ),
    Parameter(
        name='tracking_bound',
        default=0.0,
        low=0.0,
        high=100.0,
        text='deviation of the hand from its plan, measured or commanded, beyond which it stops '
        '(m, rad); 0 = from the plan: how far the hand moves or turns, and 0.3',
    ),
    Parameter(name='frame_prefix', default='', read_only=True, text='prefix of the hand frame'),
    *(option_parameter(option) for option in CONTACT_OPTIONS),
)
