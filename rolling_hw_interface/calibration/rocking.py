"""
Inertia and rolling resistance of the object, from its rocking on a hand at rest.

About a stable equilibrium a body rocks as a damped oscillator. The inertia about that axis
is the one with which the equations of rolling have the seen frequency.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.errors import ParameterError

FEWEST = 100  # samples
STEP = 1e-4  # rad, by which the equilibrium is disturbed
LARGE = 0.3  # rad; a larger amplitude rocks slower than the linear equations say


@dataclass(frozen=True, kw_only=True)
class RockingCalibration:
    """
    What was found.

    Attributes
    ----------
    frequency
        Of the undamped rocking [rad/s].
    damping
        As a share of critical damping.
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
        The motion is no small rocking, or the place is no stable equilibrium.

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
    # omega^2 = stiffness / (J + J_c): two inertias tell both
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


def rocking_frequency(
    system: ContactSystem, params: NDArray[np.float64], x: NDArray[np.float64]
) -> float:
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


def _advance(
    system: ContactSystem, params: NDArray[np.float64], x: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the way of the contact on the hand per turn about y, chart coordinates per rad."""
    moving = x.copy()
    moving[system.state.slice('w_HO_H').start + 1] = 1.0
    u = np.zeros(system.control.size)
    xdot = np.array(system.mode.dynamics(moving, u, 0.0, params)).ravel()
    return np.asarray(xdot[system.state.slice('contact_h')], dtype=float)


def _oscillator(
    t: NDArray[np.float64], angle: NDArray[np.float64]
) -> tuple[float, float, float, float]:
    """Return frequency, damping, rms of the rest and amplitude of a damped oscillation."""
    from scipy.optimize import least_squares  # noqa: PLC0415  (heavy)

    centred = angle - angle.mean()
    even = np.linspace(t[0], t[-1], 4 * len(t))
    power = np.abs(np.fft.rfft(np.interp(even, t, centred) * np.hanning(len(even))))
    first = 2 * math.pi * np.fft.rfftfreq(len(even), even[1] - even[0])[int(np.argmax(power))]

    def basis(k: NDArray[np.float64]) -> NDArray[np.float64]:
        decay = np.exp(-k[1] * t)
        return np.column_stack(
            [decay * np.cos(k[0] * t), decay * np.sin(k[0] * t), np.ones(len(t))]
        )

    def rest(k: NDArray[np.float64]) -> NDArray[np.float64]:
        B = basis(k)
        return np.asarray(B @ np.linalg.lstsq(B, angle, rcond=None)[0] - angle)

    done = least_squares(rest, np.array((max(first, 0.1), 0.05)), x_scale=(1.0, 0.1))
    c = np.linalg.lstsq(basis(done.x), angle, rcond=None)[0]
    frequency = math.hypot(done.x[0], done.x[1])
    rms = float(np.sqrt(np.mean(done.fun**2)))
    return frequency, float(done.x[1] / frequency), rms, float(np.hypot(c[0], c[1]))
