"""Scenario of a spin-rolling sphere, and its path in the plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import math
from typing import Any, Literal

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ScenarioError, suggestion
from rolling_dynamics.scenario.control import check_finite, Control
from rolling_dynamics.scenario.faults import located
from rolling_dynamics.scenario.fields import (
    formula,
    formulas,
    note,
    OneOf,
    Positive,
    quantity,
    Section,
    section,
    TIME,
)
from rolling_dynamics.scenario.scenario import Scenario, ScenarioFile
from rolling_dynamics.spin_rolling_sphere.system import (
    attitude_from_coordinates,
    SpinRollingSphere,
)
from transforms3d.quaternions import mat2quat

SAMPLES = 1001
TURN = 0.01  # between two samples: less is not a kink [rad]
NEIGHBOURS = 4.0  # times the neighbouring turns
HALVINGS = 45
AT_REST = 1e-9  # rolling rate at which the sphere may turn the path [m/s]
SPIN = 1e-9  # of the lever of the path, below which the sphere spins in place


def check_plane_path(
    kind: str,
    inputs: Callable[[float], Mapping[str, float]],
    radius: float,
    duration: float,
) -> None:
    """
    Reject a path on the plane with a kink, and a direction where the sphere spins in place.

    Parameters
    ----------
    kind
        ``direction`` or ``virtual_surface``.
    inputs
        Time or arc length -> inputs by name.
    radius, duration
        Of the sphere [m]; time or arc length to go.

    Raises
    ------
    ScenarioError
        The text starts with the path of the entry and has the position.

    """
    times = np.linspace(0.0, duration, SAMPLES)
    headings = np.array([_heading(kind, inputs(t), radius) for t in times])
    turns = np.abs(_wrapped(np.diff(headings)))
    for k in np.flatnonzero(turns > TURN).tolist():
        beside = np.delete(turns[max(k - 2, 0) : k + 3], min(k, 2))
        if turns[k] <= NEIGHBOURS * float(np.median(beside)):
            continue
        low, high = _narrowed(lambda t: _heading(kind, inputs(t), radius), times[k], times[k + 1])
        jump = abs(_turn(kind, inputs, radius, low, high))
        if jump > TURN / 2 and _rolls(inputs(low)) and _rolls(inputs(high)):
            what = 'G_f' if kind == 'direction' else 'theta'
            raise ScenarioError(
                f'inputs.{kind}.{what}: the path on the plane has a kink of '
                f'{math.degrees(jump):.3g} degrees at t = {high:.6g}; give a smooth direction, or '
                'let delta vanish there'
            )


def _turn(
    kind: str, inputs: Callable[[float], Mapping[str, float]], radius: float, a: float, b: float
) -> float:
    both = [_heading(kind, inputs(t), radius) for t in (a, b)]
    return float(_wrapped(np.array(both[1] - both[0])))


def _rolls(values: Mapping[str, float]) -> bool:
    return abs(values.get('delta', 1.0)) > AT_REST


def _heading(kind: str, values: Mapping[str, float], radius: float) -> float:
    """Return the direction of the path on the plane [rad]."""
    across, along = radius * values['beta_s'], 1 - radius * values['gamma_s']
    if kind == 'direction':
        if math.hypot(across, along) < SPIN and _rolls(values):
            raise ScenarioError(
                'inputs.direction.gamma_s: beta_s = 0 and gamma_s = 1/R are spin in place, where '
                'the path has no direction; take another gamma_s, or inputs.virtual_surface'
            )
        return values['G_f']
    return values['theta'] + values['phi'] - math.atan2(across, along)


def _narrowed(heading: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return the narrowest stretch that holds the greater part of a turn."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        a, b, c = heading(low), heading(middle), heading(high)
        if abs(_wrapped(np.array(b - a))) > abs(_wrapped(np.array(c - b))):
            high = middle
        else:
            low = middle
    return low, high


def _wrapped(angles: Array) -> Array:
    out: Array = np.mod(angles + math.pi, 2 * math.pi) - math.pi
    return out


CHECKED = 201  # times at which inputs are held against their limits
ZERO = ca.SX(0)


class Contact(Section):
    """Contact at the start, all zero by default."""

    u_s: float = quantity('contact on the plane', 'm', default=0.0)
    v_s: float = quantity('contact on the plane', 'm', default=0.0)
    u_o: float = quantity('contact on the sphere', 'rad', default=0.0)
    v_o: float = quantity('contact on the sphere, poles at +-pi/2', 'rad', default=0.0)
    psi: float = quantity('angle of spin', 'rad', default=0.0)


class _Path(Section):
    """Over the arc length, or over time if `delta` is given; zero by default."""

    alpha_s: ca.SX = formula('geodesic curvature', '1/m', default=ZERO)
    beta_s: ca.SX = formula('geodesic torsion', '1/m', default=ZERO)
    gamma_s: ca.SX = formula('normal curvature', '1/m', default=ZERO)


class VirtualSurface(_Path):
    """Over the arc length, or over time if `delta` is given; zero by default."""

    theta: ca.SX = formula('angle between the contact frames', 'rad', default=ZERO)
    phi: ca.SX = formula("angle from the sphere's e_u to the path", 'rad', default=ZERO)
    delta: ca.SX = formula('rolling rate', 'm/s', default=ZERO)


class Direction(_Path):
    """Over the arc length, or over time if `delta` is given; zero by default."""

    G_f: ca.SX = formula('direction of the path on the plane', 'rad', default=ZERO)
    delta: ca.SX = formula('rolling rate', 'm/s', default=ZERO)


class Inputs(OneOf):
    """Inputs of the sphere."""

    angular_velocity: list[ca.SX] | None = formulas(
        'in the frame of the plane, over time', 'rad/s', count=3, default=None
    )
    virtual_surface: VirtualSurface | None = note(default=None)
    direction: Direction | None = note(default=None)

    def of(self, entry: str) -> Iterator[tuple[str, ca.SX]]:
        """Yield path and expression of each number of an entry of the control."""
        kind, given = self.only
        if isinstance(given, list):
            yield from ((f'inputs.{kind}[{k}]', value) for k, value in enumerate(given))
        else:
            yield f'inputs.{kind}.{entry}', getattr(given, entry)


class SpinRollingFile(ScenarioFile):
    """A sphere that rolls and spins on a plane; kinematic. `t` is the time or the arc length."""

    radius: float = quantity('radius of the sphere', 'm', positive=True)
    variant: Literal['corrected', 'as_published'] = note(
        '`as_published` has the sine that the paper prints twice', default='corrected'
    )
    representation: Literal['attitude', 'coordinates'] = note(
        'state: an attitude, or the coordinates of the paper, which have poles', default='attitude'
    )
    initial: Contact = section(Contact)
    inputs: Inputs
    limits: Mapping[str, Positive] = note('maximum magnitude of each input', default={})

    def build(self, name: str, raw: Mapping[str, Any]) -> Scenario:
        """Return the scenario."""
        system, control = self._driven()
        with located('radius'):
            p = system.pack_parameters(radius=self.radius)
        limits = self._limits(system)
        self._check_limits(control, limits, system)
        self._check_path(control, system)
        return Scenario(
            p=p,
            x0=self._start(system),
            control=control,
            control_limits=limits,
            **self.common(name, raw, system, {}),
        )

    def _driven(self) -> tuple[SpinRollingSphere, Control]:
        """Return the system and what drives it."""
        kind, given = self.inputs.only
        timed = kind != 'angular_velocity' and 'delta' in given.given
        system = SpinRollingSphere(
            variant=self.variant,
            inputs=kind,
            representation=self.representation,
            independent_variable='time' if timed else None,
        )
        values = dict(pair for e in system.control.entries for pair in self.inputs.of(e.name))
        check_finite(values, TIME, self.duration)
        x = ca.SX.sym('x', system.state.size)
        function = ca.Function('control', [x, TIME], [ca.densify(ca.vertcat(*values.values()))])
        return system, Control(function, system.control)

    def _check_path(self, control: Control, system: SpinRollingSphere) -> None:
        """Reject a path with a kink; the printed model has no such law of direction."""
        kind, _ = self.inputs.only
        if kind == 'angular_velocity' or system.variant != 'corrected':
            return
        x, names = np.zeros(system.state.size), system.control.names

        def inputs(t: float) -> dict[str, float]:
            return dict(zip(names, control(t, x).tolist(), strict=True))

        check_plane_path(kind, inputs, self.radius, self.duration)

    def _start(self, system: SpinRollingSphere) -> Array:
        at = self.initial
        if 'contact_o' in system.state:
            x = system.state.pack(
                contact_s=[at.u_s, at.v_s], contact_o=[at.u_o, at.v_o], psi=at.psi
            )
        else:
            q = mat2quat(attitude_from_coordinates([at.u_o, at.v_o], at.psi))
            x = system.state.pack(contact_s=[at.u_s, at.v_s], q_SO=q)
        with located('initial'):
            system.check_state([1.0], x)
        return x

    def _limits(self, system: SpinRollingSphere) -> Array:
        names = system.control.names
        for name in self.limits:
            if name not in names:
                raise ScenarioError(f'limits.{name}: no such input{suggestion(name, names)}')
        return np.array([self.limits.get(n, np.inf) for n in names])

    def _check_limits(self, control: Control, limits: Array, system: SpinRollingSphere) -> None:
        """Reject inputs outside their limits."""
        x = np.zeros(system.state.size)
        for t in np.linspace(0.0, self.duration, CHECKED):
            u = control(t, x)
            over = np.flatnonzero(np.abs(u) > limits * (1 + 1e-9))
            if over.size:
                name, k = system.control.names[over[0]], over[0]
                raise ScenarioError(
                    f'inputs: {name} = {u[k]:g} at t = {t:g} exceeds its limit {limits[k]:g}'
                )
