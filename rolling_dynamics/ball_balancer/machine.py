"""Description of the ball balancer: a ball on a plate, servos, an uneven surface."""

from __future__ import annotations

import casadi as ca
from rolling_dynamics.ball_balancer.drives import Drive, servo_acceleration
from rolling_dynamics.ball_balancer.plate import carry_ball, several, wave_entries, wave_sum
from rolling_dynamics.mechanism import Machine

BALL = several('ball', 'm', 'contact on the plate', 0.05, frame='H')
BALL_RATE = several('ball_rate', 'm/s', 'its rate', 0.1, frame='H')
PARAMETERS = (
    ('radius', 'm', 'of the ball'),
    ('mass', 'kg', 'of the ball'),
    ('inertia', 'kg m^2', 'of the ball about its centre'),
    ('gravity', 'm/s^2', ''),
    ('surface_height', 'm', 'of the plate over its axes or joints'),
    ('half_width', 'm', 'of the square plate'),
    ('servo_speed', 'rad/s', 'maximum'),
    ('servo_acceleration', 'rad/s^2', 'maximum'),
    ('servo_stiffness', '1/s', 'rate over error near the target'),
    ('servo_lag', 's', 'time constant of the lag of the command'),
    ('dead_band', 'rad', 'of the servo: smaller errors are left alone'),
    ('breakaway_low', 'rad', 'minimum tilt at which a ball at rest starts to roll'),
    ('breakaway_high', 'rad', 'maximum'),
    ('kinetic_share', '', 'of rolling resistance over breakaway'),
    ('stribeck_speed', 'm/s', 'at which the smooth resistance has fallen to the kinetic one'),
)


def ball_balancer(drive: Drive, *, lagged: bool) -> Machine:
    """Return the machine; ``lagged``: a command reaches its servo through a lag."""
    machine, n = Machine('ball_balancer'), drive.servos
    p = {name: machine.parameter(name, unit, text) for name, unit, text in PARAMETERS}
    maps = (*wave_entries('breakaway', ''), *wave_entries('height', 'm'))
    more = (*drive.parameters.entries, *maps)
    p |= {entry.name: machine.parameter(entry) for entry in more}
    servo = several('servo', 'rad', 'angle', 0.1, n)
    servo_rate = several('servo_rate', 'rad/s', 'its rate', 1.0, n)
    state = BALL, BALL_RATE, servo, servo_rate
    ball, _, angle, rate = (machine.variable(entry) for entry in state)
    target = machine.control(several('command', 'rad', 'angle commanded to each servo', 0.1, n))
    if lagged:
        entry = several('servo_lagged', 'rad', 'command after the lag', 0.1, n)
        lag = machine.variable(entry)
        machine.rates[entry.name], target = (target - lag) / p['servo_lag'], lag
    pose = drive.pose(angle, p)
    carry_ball(machine, state, pose, servo_acceleration(target, angle, rate, p), p)
    slope = ca.gradient(wave_sum('height', ball, p), ball)
    weight = p['mass'] * p['gravity'] * pose[0][2, 2]
    machine.force(-weight * ca.vertcat(slope, 0), on='ball', frame='plate')
    return machine
