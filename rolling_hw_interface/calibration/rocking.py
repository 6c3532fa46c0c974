"""Calibration by rocking and sliding objects: inertia and friction."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.errors import ParameterError, RollingError
from rolling_dynamics.rotations import without_jumps
from rolling_hw_interface.pose_filter import contact_function, touch_of
from transforms3d.quaternions import quat2mat

FEWEST = 100  # samples
STEP = 1e-4  # rad, by which the equilibrium is disturbed
LARGE = 0.3  # rad; a larger amplitude rocks slower than by the linear equations


@dataclass(frozen=True, kw_only=True)
class RockingCalibration:
    """
    Result of a calibration by rocking.

    Attributes
    ----------
    frequency
        Of the undamped rocking [rad/s].
    damping
        As a fraction of critical damping.
    inertia
        About the axis of rocking, y of the world, through the centre of mass [kg m^2].
    rms
        What remains of the angle [rad].

    """

    frequency: float
    damping: float
    inertia: float
    rms: float


def calibrate_rocking(
    system: ContactSystem,
    params: ArrayLike,
    at_rest: ArrayLike,
    times: ArrayLike,
    angles: ArrayLike,
) -> RockingCalibration:
    """
    Return inertia and damping of a rocking object.

    Parameters
    ----------
    system, params
        Hand and object, in the representation ``attitude``; its inertia is only a first guess.
    at_rest
        State of the object at rest in its stable equilibrium, the hand at rest.
    times, angles
        Times [s] and turn of the object about y [rad], shape (n,).

    Raises
    ------
    ParameterError
        The motion is not a small rocking, or the place is not a stable equilibrium.

    """
    t, angle = np.asarray(times, dtype=float), np.unwrap(np.asarray(angles, dtype=float))
    if len(t) < FEWEST or t.shape != angle.shape:
        raise ParameterError(f'{len(t)} angles were recorded, {FEWEST} are needed')
    frequency, damping, rms, amplitude = _oscillator(t - t[0], angle)
    if not amplitude <= LARGE:
        raise ParameterError(
            f'the object rocked by {amplitude:.2g} rad; let it come below {LARGE:g} rad first'
        )
    if not rms <= 0.3 * amplitude:
        raise ParameterError('the angle does not rock as a damped oscillator; let the hand rest')
    p, x = np.asarray(params, dtype=float), np.asarray(at_rest, dtype=float)
    yy = system.parameters.slice('inertia').start + 1
    # omega^2 = stiffness / (J + J_c): two inertias determine both
    guesses = np.array((0.5, 2.0)) * p[yy]
    squares = []
    for guess in guesses:
        q = p.copy()
        q[yy] = guess
        squares.append(rocking_frequency(system, q, x) ** 2)
    stiffness = (guesses[1] - guesses[0]) / (1 / squares[1] - 1 / squares[0])
    rest = stiffness / squares[0] - guesses[0]
    return RockingCalibration(
        frequency=frequency,
        damping=damping,
        inertia=float(stiffness / frequency**2 - rest),
        rms=rms,
    )


def rocking_frequency(system: ContactSystem, params: Array, x: Array) -> float:
    """
    Return the frequency of small rocking about y at an equilibrium [rad/s], or raise.

    ``x`` is the state there.
    """
    layout, w = system.tangent, system.state.slice('w_HO_H').start + 1
    rates = []
    for sign in (1, -1):
        d = np.zeros(layout.size)
        turn = layout.slice('d_HO')
        axis = np.array(system.pose(x, params)[1])[1, :3]  # y of the world in the object
        d[turn] = sign * STEP * axis
        d[layout.slice('contact_h')] = sign * STEP * _advance(system, params, x)
        moved = np.array(system.retract(x, d)).ravel()
        u = np.zeros(system.control.size)
        rates.append(float(np.array(system.mode.dynamics(moved, u, 0.0, params)).ravel()[w]))
    square = -(rates[0] - rates[1]) / (2 * STEP)
    if not square > 0:
        raise ParameterError('the object is not in a stable equilibrium there')
    return math.sqrt(square)


def _advance(system: ContactSystem, params: Array, x: Array) -> Array:
    """Return the way of the contact on the hand per turn about y, chart coordinates per rad."""
    moving = x.copy()
    moving[system.state.slice('w_HO_H').start + 1] = 1.0
    u = np.zeros(system.control.size)
    xdot = np.array(system.mode.dynamics(moving, u, 0.0, params)).ravel()
    return np.asarray(xdot[system.state.slice('contact_h')], dtype=float)


def _oscillator(t: Array, angle: Array) -> tuple[float, float, float, float]:
    """Return frequency, damping, rms of the rest and amplitude of a damped oscillation."""
    from scipy.optimize import least_squares  # noqa: PLC0415  (heavy)

    centred = angle - angle.mean()
    even = np.linspace(t[0], t[-1], 4 * len(t))
    power = np.abs(np.fft.rfft(np.interp(even, t, centred) * np.hanning(len(even))))
    first = 2 * math.pi * np.fft.rfftfreq(len(even), even[1] - even[0])[int(np.argmax(power))]

    def basis(k: Array) -> Array:
        decay = np.exp(-k[1] * t)
        return np.column_stack(
            [decay * np.cos(k[0] * t), decay * np.sin(k[0] * t), np.ones(len(t))]
        )

    def rest(k: Array) -> Array:
        B = basis(k)
        return np.asarray(B @ np.linalg.lstsq(B, angle, rcond=None)[0] - angle)

    done = least_squares(rest, np.array((max(first, 0.1), 0.05)), x_scale=(1.0, 0.1))
    c = np.linalg.lstsq(basis(done.x), angle, rcond=None)[0]
    frequency = math.hypot(done.x[0], done.x[1])
    rms = float(np.sqrt(np.mean(done.fun**2)))
    return frequency, float(done.x[1] / frequency), rms, float(np.hypot(c[0], c[1]))


ORDER = 3  # of the polynomials that smooth the poses
WINDOW = 0.05  # s, over which the poses are smoothed
SLIDING = 0.04  # m/s: a faster contact point slides
STICKING = 0.015  # m/s: a slower one sticks
TOUCHING = 2e-3  # m: gap of bodies that touch
PRESSED = 0.2  # fraction of gravity that the normal force has to have
FEW_SLIDES = 10  # samples of sliding
HIGH = 0.95  # fraction of the samples that stick with less than the bound


@dataclass(frozen=True, kw_only=True)
class SlidingCalibration:
    """
    Result of a calibration by sliding.

    Attributes
    ----------
    mu_kinetic, sigma
        Coefficient of kinetic friction, and its standard deviation.
    mu_least
        Friction that the sticking contact has given; the static coefficient is at least that.
    samples, seconds
        Number of poses in which the object slid, and their total time [s].
    fastest
        Maximum slip [m/s].

    """

    mu_kinetic: float
    sigma: float
    mu_least: float
    samples: int
    seconds: float
    fastest: float


def calibrate_sliding(
    system: ContactSystem,
    params: ArrayLike,
    times: ArrayLike,
    hands: ArrayLike,
    p_WO: ArrayLike,
    q_WO: ArrayLike,
) -> SlidingCalibration:
    """
    Return friction from poses of an object that slides on the hand.

    Parameters
    ----------
    system, params
        Hand and object, in the representation ``attitude``; their coefficients do not matter.
    times
        Of the images, by the clock of the joints [s], shape (n,).
    hands
        Pose and twist of the hand at these times, shape (n, 13): q (w, x, y, z), p [m] in W,
        w [rad/s], v [m/s] in H.
    p_WO, q_WO
        Position of the object [m] and attitude (w, x, y, z), shapes (n, 3) and (n, 4).

    Raises
    ------
    ParameterError
        The object hardly slid, or the recording is too short.

    """
    t, hands = np.asarray(times, dtype=float), np.asarray(hands, dtype=float)
    body, a = _motion(t, np.asarray(p_WO, float), np.asarray(q_WO, float))
    p = np.asarray(params, dtype=float)
    contacts, normals = _contacts(system, p, body, hands)
    f = a - p[system.parameters.slice('gravity_W')]
    pressed = np.sum(f * normals, axis=1)
    along = f - pressed[:, None] * normals
    slip = np.linalg.norm(contacts[:, 3:6], axis=1)
    weight = PRESSED * float(np.linalg.norm(p[system.parameters.slice('gravity_W')]))
    there = (np.abs(contacts[:, 2]) < TOUCHING) & (pressed > weight)
    width = max(1, round(WINDOW / float(np.median(np.diff(t))) / 2))
    slides = _inner(there & (slip > SLIDING), width)
    if slides.sum() < FEW_SLIDES:
        raise ParameterError(
            f'the object slides in {int(slides.sum())} images, {FEW_SLIDES} and more are needed: '
            'shake or tilt the plate until it slips, without losing it'
        )
    against = -np.sum(along * contacts[:, 3:6], axis=1) / np.maximum(slip, 1e-9)
    mu, sigma = _ratio(against[slides], pressed[slides], width)
    sticks = _inner(there & (slip < STICKING), width)
    ratios = np.linalg.norm(along[sticks], axis=1) / pressed[sticks]
    return SlidingCalibration(
        mu_kinetic=mu,
        sigma=sigma,
        mu_least=float(np.quantile(ratios, HIGH)) if ratios.size else 0.0,
        samples=int(slides.sum()),
        seconds=float(slides.sum() * np.median(np.diff(t))),
        fastest=float(slip[slides].max()),
    )


def _motion(t: Array, p: Array, q: Array) -> tuple[Array, Array]:
    """Return q, p, w, v of the object in W (n, 13), and its acceleration (n, 3), smoothed."""
    from scipy.signal import savgol_filter  # noqa: PLC0415  (heavy)

    dt = float(np.median(np.diff(t))) if len(t) > 1 else math.nan
    width = max(2 * round(WINDOW / dt / 2) + 1, ORDER + 2) if dt > 0 else len(t) + 1
    if len(t) <= 2 * width or not (np.all(np.isfinite(p)) and np.all(np.isfinite(q))):
        raise ParameterError(f'{len(t)} poses were recorded, {2 * width + 1} and more are needed')
    even = np.arange(t[0], t[-1] + dt / 2, dt)  # hidden images are bridged
    rows = np.column_stack([p, without_jumps(q)])
    rows = np.column_stack([np.interp(even, t, row) for row in rows.T])
    smooth = [savgol_filter(rows, width, ORDER, deriv=k, delta=dt, axis=0) for k in range(3)]
    back = [np.column_stack([np.interp(t, even, c) for c in s.T]) for s in smooth]
    q, dq = back[0][:, 3:], back[1][:, 3:]
    q = q / np.linalg.norm(q, axis=1)[:, None]
    # w = 2 q' q^-1, by its vector part
    w = 2 * (q[:, :1] * dq[:, 1:] - dq[:, :1] * q[:, 1:] + np.cross(q[:, 1:], dq[:, 1:]))
    return np.column_stack([q, back[0][:, :3], w, back[1][:, :3]]), back[2][:, :3]


def _contacts(system: ContactSystem, p: Array, body: Array, hands: Array) -> tuple[Array, Array]:
    """Return ``object_prediction.CONTACT`` (n, 6), slip in W, and the plate's normals (n, 3)."""
    function = FastFunction(contact_function(system))
    function.inputs[5][:] = p
    try:
        near = touch_of(system, p, hands[0], body[0, 4:7], body[0, :4]).contact_h
    except RollingError as error:
        raise ParameterError(f'the first pose is not on the plate: {error}') from None
    contacts, normals = np.empty((len(body), 6)), np.empty((len(body), 3))
    for k, (o, h) in enumerate(zip(body, hands, strict=True)):
        for buffer, value in zip(function.inputs, (o, near, h), strict=False):
            buffer[:] = value
        contacts[k] = function.evaluate()[:6]
        if np.all(np.isfinite(contacts[k])):
            near = contacts[k, :2].copy()
        geometry = system.hand_surface.numeric(system.hand_chart)
        frame = np.array(geometry(near, p[system.parameters.slice('hand_surface')])[1])
        R_WC = quat2mat(h[:4]) @ frame.reshape(3, 3)
        normals[k], contacts[k, 3:6] = R_WC[:, 2], R_WC @ contacts[k, 3:6]
    return np.nan_to_num(contacts, nan=math.inf), normals


def _inner(flags: NDArray[np.bool_], margin: int) -> NDArray[np.bool_]:
    """Return which samples have their neighbours within a margin flagged too."""
    count = np.convolve(flags, np.ones(2 * margin + 1), mode='same')
    return np.asarray(count > 2 * margin + 0.5)


def _ratio(force: Array, pressed: Array, width: int) -> tuple[float, float]:
    """Return force over normal force with outliers counting less, and its deviation."""
    weight = np.ones_like(force)
    for _ in range(5):
        mu = float(np.sum(weight * force * pressed) / np.sum(weight * pressed**2))
        rest = np.abs(force - mu * pressed)
        weight = 1 / (1 + (rest / (2 * np.median(rest) + 1e-12)) ** 2)
    spread = math.sqrt(float(np.mean(rest**2)) / float(np.mean(pressed**2)))
    # smoothed samples within a window are not independent
    return mu, spread / math.sqrt(max(len(force) / (2 * width + 1), 1.0))
