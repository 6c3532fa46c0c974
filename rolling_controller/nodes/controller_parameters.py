"""Parameters of controllers: of all, of hands, and of the laws of a kind of machine."""

from __future__ import annotations

from rolling_controller.design import LAWS, LQR
from rolling_controller.robot_laws.contact_kind import CONTACT_OPTIONS
from rolling_controller.robot_laws.regulator import RobotKind
from rolling_controller.time_varying_lqr import Option
from rolling_node_kit.parameters import fixed, OVERRUN, Parameter, SCENARIO


def option_parameter(option: Option, group: str = '') -> Parameter:
    """Return the parameter of an option of a law."""
    return Parameter(
        f'{group}.{option.name}' if group else option.name,
        option.default,
        option.text,
        limits=option.limits,
        unit=option.unit,
    )


def law_parameters(kind: RobotKind) -> tuple[Parameter, ...]:
    """Return the parameters of the laws of a kind of machine."""
    return tuple(option_parameter(option, kind.group) for option in kind.options)


LOOP = (  # of what follows plans, and of the laboratory
    SCENARIO,
    fixed('rate', 1000.0, 'control rate', limits=(50.0, 2000.0), unit='Hz'),
    fixed('feedback_rate', 20.0, 'rate of action feedback', limits=(1.0, 200.0), unit='Hz'),
    fixed(
        'finite_limits',
        False,
        'whether to reject a scenario with a control that has no finite limit; the launch '
        'files ask for it on real hardware',
    ),
    Parameter(
        'state_timeout',
        0.05,
        'age of the newest usable state, by its stamp and by its arrival, beyond which an '
        'execution is aborted; with use_sim_time at least 5 s, and a predictive controller '
        'waits as long for a plan',
        limits=(0.002, 60.0),
        unit='s',
    ),
    Parameter(
        'stamp_tolerance',
        0.5,
        'difference between the stamp of a state and the clock of the node, '
        'beyond which the state is rejected',
        limits=(0.001, 60.0),
        unit='s',
    ),
    fixed(
        'noisy_states',
        False,
        'whether states are measured with noise: a state that repeats itself with another '
        'stamp is a fault then',
    ),
    fixed(
        'state_period',
        0.0,
        'time between two states by their stamps: states that come much more often or more '
        'rarely are a fault; 0 = not judged',
        limits=(0.0, 1.0),
        unit='s',
    ),
    Parameter(
        'brake_time',
        0.1,
        'time constant of the safe command, which brings the drive to rest',
        limits=(0.01, 5.0),
        unit='s',
    ),
    fixed(
        'prediction_horizon',
        0.05,
        'maximum state age compensated by prediction; 0 = off; not with use_sim_time',
        limits=(0.0, 0.5),
        unit='s',
    ),
    fixed(
        'command_delay', 0.001, 'actuation delay, for the prediction', limits=(0.0, 0.1), unit='s'
    ),
    *OVERRUN,
)
EXECUTION = (
    *LOOP,
    Parameter(
        'open_loop', False, 'play the planned controls back without feedback, for comparison'
    ),
    Parameter(
        'start_tolerance',
        0.3,
        'maximum norm of the error between state and start of the plan (m, rad, m/s, rad/s)',
        limits=(0.0, 100.0),
    ),
    Parameter(
        'max_plan_duration',
        200.0,
        'longest plan that is accepted; feedback by LQR keeps knots for 200 s',
        limits=(0.001, 1e6),
        unit='s',
    ),
    Parameter(
        'plan_stamp_tolerance',
        5.0,
        'maximum difference between the stamp of a plan and now; stamp 0 is always accepted',
        limits=(0.0, 3600.0),
        unit='s',
    ),
    Parameter(
        'require_model_hash',
        True,
        'reject plans without model_hash; false trusts plans from other software',
    ),
    Parameter(
        'goal_tolerance',
        0.05,
        'norm of the goal error up to which the goal counts as reached (m, rad, m/s, rad/s)',
        limits=(0.0, 100.0),
    ),
    fixed(
        'patience',
        0.02,
        'time for which a contact margin may be negative',
        limits=(0.0, 1.0),
        unit='s',
    ),
    Parameter(
        'settle_time',
        0.0,
        'settling time after the end of a plan, with feedback if it can hold the end',
        limits=(0.0, 60.0),
        unit='s',
    ),
)
HOLD = Parameter(
    'hold_at_start',
    False,
    'whether the machine is held from its first state on, before any plan; from the next '
    'activation on',
)

HAND_TABLE = (
    *EXECUTION,
    HOLD,
    Parameter(
        'law',
        LQR,
        'feedback along a plan: a linear regulator, predictive control within the limits '
        'of controls and contact, which needs daqp, or a learned policy; from the next goal on',
        choices=tuple(LAWS),
    ),
    Parameter(
        'policy_file', '', 'path of the policy of the learned controller; from the next goal on'
    ),
    Parameter(
        'tracking_bound',
        0.0,
        'deviation of the hand from its plan, measured or commanded, its braking included, '
        'beyond which it stops (m, rad); 0 = from the plan: how far the hand moves or turns, '
        'and 0.3',
        limits=(0.0, 100.0),
    ),
    fixed('frame_prefix', '', 'prefix of the hand frame'),
    *(option_parameter(option) for option in CONTACT_OPTIONS),
)
