"""Layouts of a ball on a plate that servos tilt, and the drives that it may have."""

from __future__ import annotations

from rolling_dynamics.contract.layout import Entry, Layout

WAVES = 24  # of each map
AXES = ('x', 'y')


def state_layout(servos: int, *, lagged: bool) -> Layout:
    """Return the layout of x for a number of servos, with or without a lag of their commands."""
    entries = [
        Entry('ball', ('ball_x', 'ball_y'), 'm', 'H', text='contact on the plate', scale=0.05),
        Entry('ball_rate', ('ball_rate_x', 'ball_rate_y'), 'm/s', 'H', text='its rate', scale=0.1),
        _servos('servo', 'rad', servos, 'angle', 0.1),
        _servos('servo_rate', 'rad/s', servos, 'its rate', 1.0),
    ]
    if lagged:
        entries.append(_servos('servo_lagged', 'rad', servos, 'command after the lag', 0.1))
    return Layout(tuple(entries))


def control_layout(servos: int) -> Layout:
    """Return the layout of u: what is commanded to each servo."""
    return Layout((_servos('command', 'rad', servos, 'angle commanded to each servo', 0.1),))


def parameter_layout(drive: Layout) -> Layout:
    """Return the layout of p, with the lengths of a drive."""
    numbers = (
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
    entries = [Entry(name, (name,), unit, text=text) for name, unit, text in numbers]
    return Layout((*entries, *drive.entries, *_waves('breakaway', ''), *_waves('height', 'm')))


def _servos(name: str, unit: str, count: int, text: str, scale: float) -> Entry:
    names = tuple(f'{name}_{AXES[k] if count == 2 else k + 1}' for k in range(count))
    return Entry(name, names, unit, text=text, scale=scale)


def _waves(name: str, unit: str) -> list[Entry]:
    """Return the entries of a map that is a sum of plane waves."""
    parts = (('amplitude', unit), ('wave_x', 'rad/m'), ('wave_y', 'rad/m'), ('phase', 'rad'))
    return [
        Entry(f'{name}_{part}', tuple(f'{name}_{part}_{k}' for k in range(WAVES)), part_unit)
        for part, part_unit in parts
    ]
