"""
RoboBall II, a soft sphere of 41 kg with a pendulum (Oevermann et al. 2025).

Two logs are public: the pendulum swings in a stand, and the sphere is released on the floor from
-0.4 rad. Masses are those of the authors' URDF.
"""

from __future__ import annotations

from functools import cached_property
import math
from pathlib import Path

import casadi as ca
from evidence.reality.row import fetched, Row
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import Entry, Layout, quaternion_entry, vector_entry
from rolling_dynamics.contract.rolling_system import Mode, WrittenSystem
from rolling_dynamics.identification.log import Column, Log, read_columns
from rolling_dynamics.identification.shooting import Shooting, Window
from rolling_dynamics.mechanism import Machine, MachineSystem, Revolute, Rolling, Solid, Sphere
from scipy.optimize import least_squares

REPOSITORY = 'mjoo-man/Modeling_RoboBall_with_Drake'
LICENCE = 'MIT, Micah Oevermann 2025'
STAND = 'roboball_plant/data/steering_static_stand_response.csv'
DECAY = 'roboball_plant/data/dynamic_data.csv'
SHA256 = {
    STAND: '44c66d1fd57b968bbc3cffce09cd3120ae71dabfe5f8897d6c2d8055e0cf6a5c',
    DECAY: '7fea09822433e3dd50f073fe0143ccfd8f3a6b59c5d6ce91768550bce5946aa2',
}
# Free swings in the stand, from the first turn after a hand let go [s]: the third is held out.
SWINGS, SWING_HELD_OUT = ((10.78, 15.0), (18.68, 23.0)), (27.75, 31.5)
# Of the decay on the floor, after the sphere was let go [s]: fitted, and held out.
FITTED, HELD_OUT = (0.0, 1.5), (1.5, 5.0)
SLOW = 0.05  # rad/s: the sphere was let go in the last row before it is faster
START = (-0.4, 1.0)  # rad, of sphere and pendulum: the start that the authors simulate from
GOAL = 0.05  # rad, root mean square
GRAVITY, SMOOTH = 9.81, 0.02  # m/s^2; rad/s over which dry friction changes its sign
PENDULUM_MASS, PENDULUM_ARM, PENDULUM_SIDE = 22.03, 0.095, 0.0033714
PENDULUM_INERTIA = (0.44235, 0.49888, 0.32633)  # kg m^2, about its centre
SHELL_INERTIA = (1.04 + 0.01841, 0.64074 + 0.00754, 1.04 + 0.01442)  # with the pitch centre
PITCH_MASS, PITCH_ARM, PIPE_MASS, RADIUS = 2.77934, 0.05, 16.53649, 0.305
AUTHORS = (1.0, 0.22)  # dry [N m] and viscous [N m s] friction that they give the joint


def _friction(rate: ca.SX, dry: ca.SX, viscous: ca.SX) -> ca.SX:
    return -dry * ca.tanh(rate / SMOOTH) - viscous * rate


class Stand(WrittenSystem):
    """The pendulum in the stand, a hinge with dry and viscous friction."""

    name = 'roboball_stand'
    state = Layout(
        (Entry('angle', ('angle',), 'rad', kind='angle'), Entry('rate', ('rate',), 'rad/s'))
    )
    control = Layout(())
    parameters = Layout(
        (
            Entry('dry', ('dry',), 'N m'),
            Entry('viscous', ('viscous',), 'N m s'),
            Entry('inertia', ('inertia',), 'kg m^2', text='about the hinge'),
            Entry('offset', ('offset',), 'rad', text='of the encoder'),
        )
    )

    @cached_property
    def modes(self) -> dict[str, Mode]:
        """The only mode."""
        angle, rate = self.symbols.x[0], self.symbols.x[1]
        dry, viscous, inertia, offset = ca.vertsplit(self.symbols.p)
        weight = PENDULUM_MASS * GRAVITY * PENDULUM_ARM
        turning = (_friction(rate, dry, viscous) - weight * ca.sin(angle - offset)) / inertia
        return {'swinging': Mode(dynamics=self.function('rates', ca.vertcat(rate, turning)))}


def rolling_ball() -> MachineSystem:
    """
    Return the sphere with its pendulum on the floor, the drive axis locked.

    A shell that is not round has a restoring torque, ``stiffness`` [N m/rad] about ``rest`` [rad].
    """
    machine = Machine('roboball')
    names = ('dry', 'viscous', 'lever', 'damping', 'stiffness', 'rest')
    dry, viscous, lever, damping, stiffness, rest = map(machine.parameter, names)
    rate = Entry('pendulum_rate', ('pendulum_rate',), 'rad/s')
    hinge_rate = machine.variable(rate)
    contact = vector_entry('contact', 'm', 'W', suffixes='xy')
    turned = -machine.variable(contact)[1] / RADIUS
    shell = Rolling(
        shape=Sphere(RADIUS),
        contact=contact,
        attitude=quaternion_entry('q_WS'),
        speed=vector_entry('w_WS_S', 'rad/s', 'S'),
        axes='body',
        resistance=lever,
        damping=damping,
    )
    mass = PITCH_MASS + PIPE_MASS
    low = -PITCH_MASS * PITCH_ARM / mass
    across = PITCH_MASS * PITCH_ARM**2 - mass * low**2
    inertia = ca.diag(ca.DM(SHELL_INERTIA) + ca.DM([across, across, 0]))
    machine.body('shell', shell, Solid(ca.SX(mass), ca.SX(inertia), ca.SX(ca.DM([0, 0, low]))))
    angle = Entry('pendulum', ('pendulum',), 'rad', kind='angle')
    machine.body(
        'pendulum',
        Revolute(angle=angle, speed=rate, axis=[1, 0, 0]),
        Solid(
            ca.SX(PENDULUM_MASS),
            ca.SX(ca.diag(ca.DM(PENDULUM_INERTIA))),
            ca.SX(ca.DM([0, PENDULUM_SIDE, -PENDULUM_ARM])),
        ),
        on='shell',
    )
    torque = ca.vertcat(_friction(hinge_rate, dry, viscous), 0, 0)
    machine.torque(torque, on='pendulum', reaction='shell', frame='shell')
    machine.torque(ca.vertcat(-stiffness * (turned - rest), 0, 0), on='shell')
    return MachineSystem(machine)


def _window(log: Log, begin: float, end: float) -> Window:
    inside = np.flatnonzero((log.times >= begin) & (log.times <= end))
    first, last = int(inside[0]), int(inside[-1])
    return Window(
        first=first,
        last=last,
        times=log.times[inside],
        measured=log.measured[inside],
        controls=np.zeros((last - first, 0)),
    )


def _fit(
    shooting: Shooting,
    runs: list[tuple[Window, Array]],
    bounds: tuple[Array, Array],
    z: Array,
    free: tuple[str, ...] = (),
) -> Array:
    """Return parameters of least squares from known starts, but for components that are free."""
    system, known = shooting.system, len(z) - len(free)
    there = [int(system.state.index(name)[0]) for name in free]
    moved = [int(system.tangent.index(name)[0]) for name in free]

    def shots(z: Array) -> tuple[Array, Array]:
        off, J = [], []
        for window, start in runs:
            x = start.copy()
            x[there] = z[known:]
            shot = shooting.shot(window, x, z[:known])
            off.append(shot.residuals)
            by_start = shot.by_start[:, moved] / shooting.scale[moved]
            J.append(np.hstack([shot.by_parameters, by_start]))
        return np.concatenate(off), np.vstack(J)

    low, high = bounds
    found = least_squares(
        lambda z: shots(z)[0], z, lambda z: shots(z)[1], bounds, x_scale=high - low, max_nfev=60
    )
    return np.asarray(found.x)


def _error(shooting: Shooting, window: Window, x: Array, z: Array, after: float = 0.0) -> float:
    shot = shooting.shot(window, x, z)
    late = window.times[shot.where[:, 0]] - window.times[0] >= after
    return float(np.sqrt(np.mean(shot.residuals[late] ** 2)))


def _held(window: Window, after: float = 0.0) -> float:
    """Return the error of the last velocity held, at rest where nothing is known before."""
    off = window.times - window.times[0]
    late = off >= after
    known = slice(max(int(np.flatnonzero(late)[0]) - 4, 0), int(np.flatnonzero(late)[0]) + 1)
    slope, at = 0.0, float(window.measured[0, 0])
    if after:
        slope, at = np.polyfit(off[known] - after, window.measured[known, 0], 1)
    guess = at + slope * (off[late] - after)
    return float(np.sqrt(np.mean((guess - window.measured[late, 0]) ** 2)))


def _log(path: Path, names: tuple[str, ...], scales: tuple[float, ...]) -> Log:
    columns = [Column(name=n, scale=s) for n, s in zip(names, scales, strict=True)]
    table, lines = read_columns(path, columns)
    keep = np.append(True, np.diff(table[:, 0]) > 0)
    times = table[keep, 0]
    return Log(
        times=times, lines=lines[keep], names=names[1:], measured=table[keep, 1:], controls=None
    )


def _swings(path: Path) -> tuple[Array, float, float, float]:
    """Return friction, inertia and offset; errors of model, authors' friction, and baseline."""
    log = _log(path, ('steer_timestamp', 'pend_angle'), (1.0, 1.0))
    system, names = Stand(), ['angle']
    inertia = PENDULUM_INERTIA[0] + PENDULUM_MASS * (PENDULUM_ARM**2 + PENDULUM_SIDE**2)
    p = np.array([*AUTHORS, inertia, 0.0])
    shooting = Shooting(system, 'swinging', p, np.arange(4), names)
    runs = []
    for begin, end in SWINGS:
        window = _window(log, begin, end)
        runs.append((window, np.array([window.measured[0, 0], 0.0])))
    bounds = np.array([0.0, 0.0, 0.5 * inertia, -0.1]), np.array([5.0, 5.0, 2 * inertia, 0.1])
    z = _fit(shooting, runs, bounds, p)
    kept = _window(log, *SWING_HELD_OUT)
    x = np.array([kept.measured[0, 0], 0.0])
    theirs = np.array([*AUTHORS, inertia, z[3]])
    return z, _error(shooting, kept, x, z), _error(shooting, kept, x, theirs), _held(kept)


def _decay(path: Path, joint: Array) -> tuple[Array, dict[str, float]]:
    """Return what the floor and the shell resist with, and errors over the parts held out."""
    given = _log(path, ('timestamp', 'ball_roll.position', 'ball_roll.velocity'), (1e-9, 1.0, 1.0))
    fast = int(np.argmax(given.measured[:, 1]))
    release = int(np.flatnonzero(given.measured[:fast, 1] < SLOW)[-1])
    begin = given.times[release]
    log = Log(
        times=given.times - begin,
        lines=given.lines,
        names=['contact_y'],
        measured=-RADIUS * given.measured[:, :1],
        controls=None,
    )
    system = rolling_ball()
    p = np.array([*joint[:2], 0.0, 0.0, 0.0, 0.0])
    mode, floor = next(iter(system.modes)), np.array([2, 3, 4, 5])
    shooting = Shooting(system, mode, p, floor, ['contact_y'])
    shooting.noise[:] = RADIUS  # residuals are of the angle
    sphere, pendulum = START
    x = system.state.pack(
        contact=[0.0, -RADIUS * sphere],
        q_WS=[math.cos(sphere / 2), math.sin(sphere / 2), 0, 0],
        pendulum=[pendulum],
    )
    fitted, whole = _window(log, *FITTED), _window(log, 0.0, HELD_OUT[1])
    low, high = np.array([0, 0, 0, -0.1, 0.2]), np.array([0.05, 10, 200, 0.1, 1.6])
    z = np.array([2e-3, 0.3, 5, 0.01, pendulum])
    z = _fit(shooting, [(fitted, x)], (low, high), z, ('pendulum',))
    begun = x.copy()
    begun[system.state.index('pendulum')] = z[-1]
    late = HELD_OUT[0]
    return z, {
        'joint': _error(shooting, whole, x, p[floor]),
        'joint_held': _held(whole) / RADIUS,
        'soft': _error(shooting, whole, begun, z[:-1], late),
        'soft_held': _held(whole, late) / RADIUS,
        'soft_rival': _error(shooting, whole, x, p[floor], late),
    }


def rows(data: Path | None) -> list[Row]:
    """Return the rows of both logs."""
    paths = fetched(data, REPOSITORY, SHA256)
    z, swing, theirs, still = _swings(paths[0]) if paths else (np.zeros(4), None, None, None)
    floor, errors = _decay(paths[1], z) if paths else (np.zeros(5), {})
    stand = ', '.join(f'{a:g} to {b:g} s' for a, b in SWINGS)
    found = f': {z[0]:.2f} N m dry, {z[1]:.2f} N m s viscous' if paths else ''
    shell = f': {floor[2]:.1f} N m/rad, start {floor[-1]:.2f} rad' if paths else ''
    return [
        Row(
            name='RoboBall II, pendulum in the stand',
            unit='rad',
            fitted=f'friction, inertia, offset on swings {stand}{found}',
            held_out='swing {:g} to {:g} s, from its first turn'.format(*SWING_HELD_OUT),
            error=swing,
            baseline=still,
            rival=theirs,
            published="the authors' friction of the joint, in this model",
            lacks='static friction above the kinetic one, and friction that follows the load',
        ),
        Row(
            name='RoboBall II, let go on the floor',
            unit='rad',
            fitted='nothing of this log; friction of the joint in the stand',
            held_out=f'0 to {HELD_OUT[1]:g} s',
            error=errors.get('joint'),
            baseline=errors.get('joint_held'),
            goal=GOAL,
            lacks='a rigid round shell is hardly brought back by anything; the real one is soft',
        ),
        Row(
            name='RoboBall II, a shell that is not round',
            unit='rad',
            fitted=f'torque of the shell, resistance, pendulum, to {FITTED[1]:g} s{shell}',
            held_out='{:g} to {:g} s'.format(*HELD_OUT),
            error=errors.get('soft'),
            baseline=errors.get('soft_held'),
            rival=errors.get('soft_rival'),
            published='the rigid round shell of the row above',
            goal=GOAL,
            lacks='a torque linear in the angle; hysteresis and lumps of the shell are left out',
        ),
    ]
