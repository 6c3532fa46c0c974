"""The scenario of a sphere that rolls and spins on a plane."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario.common import ScenarioFile
from rolling_dynamics.scenario.control import Control
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
from rolling_dynamics.scenario.formulas import check_finite
from rolling_dynamics.scenario.plane_path import check_plane_path
from rolling_dynamics.scenario.scenario import Scenario
from rolling_dynamics.spin_rolling_sphere import attitude_from_coordinates, SpinRollingSphere
from rolling_dynamics.suggestion import suggestion
from transforms3d.quaternions import mat2quat

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
    """What drives the sphere."""

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
        """Refuse a path with a kink; the printed model has no such law of direction."""
        kind, _ = self.inputs.only
        if kind == 'angular_velocity' or system.variant != 'corrected':
            return
        x, names = np.zeros(system.state.size), system.control.names

        def inputs(t: float) -> dict[str, float]:
            return dict(zip(names, control(t, x).tolist(), strict=True))

        check_plane_path(kind, inputs, self.radius, self.duration)

    def _start(self, system: SpinRollingSphere) -> NDArray[np.float64]:
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

    def _limits(self, system: SpinRollingSphere) -> NDArray[np.float64]:
        names = system.control.names
        for name in self.limits:
            if name not in names:
                raise ScenarioError(f'limits.{name}: no such input{suggestion(name, names)}')
        return np.array([self.limits.get(n, np.inf) for n in names])

    def _check_limits(
        self, control: Control, limits: NDArray[np.float64], system: SpinRollingSphere
    ) -> None:
        """Refuse inputs outside their limits."""
        x = np.zeros(system.state.size)
        for t in np.linspace(0.0, self.duration, CHECKED):
            u = control(t, x)
            over = np.flatnonzero(np.abs(u) > limits * (1 + 1e-9))
            if over.size:
                name, k = system.control.names[over[0]], over[0]
                raise ScenarioError(
                    f'inputs: {name} = {u[k]:g} at t = {t:g} exceeds its limit {limits[k]:g}'
                )
