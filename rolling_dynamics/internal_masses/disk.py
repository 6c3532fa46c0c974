"""A disk driven by internal masses, as a rolling system."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.contract.layout import Entry, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.contact_functions import ContactFunctions, Rolling
from rolling_dynamics.internal_masses.equations import (
    contact_force,
    disk_response,
    DiskState,
    flight_acceleration,
    ModeExpressions,
    PlanarPoint,
    Response,
    rolling_acceleration,
)
from rolling_dynamics.internal_masses.masses import (
    check_masses,
    check_radius,
    checked_coefficients,
    distance_from_plane,
    mass_points,
    RailMass,
)
from rolling_dynamics.internal_masses.system import GRAVITY


class PointMassDisk(ContactFunctions):
    """
    Disk in the plane of x and z of W; Putkaradze & Rogers (normal force), Eqs. (4.1)-(4.4), (5.2).

    The state is (theta, theta_rate, phi, phi_rate, p_x); of a unilateral disk the centre p_WB and
    its velocity v_WB_W, x and z each, stand in place of p_x. Positive phi' rolls towards -x.
    """

    name = 'point_mass_disk'
    axes = 2
    spin_name = 'phi_rate'

    def _body_entries(self) -> tuple[Entry, ...]:
        angle = Entry('phi', ('phi',), 'rad', 'W', text='angle of the disk')
        rate = Entry('phi_rate', ('phi_rate',), 'rad/s', 'W', text='its rate')
        if not self.unilateral:
            return angle, rate, vector_entry('p', 'm', 'W', 'contact point', 'x')
        return (
            angle,
            rate,
            vector_entry('p_WB', 'm', 'W', 'geometric centre', 'xz'),
            vector_entry('v_WB_W', 'm/s', 'W', 'velocity of the centre', 'xz'),
        )

    def _inertia_entries(self) -> tuple[Entry, ...]:
        return (
            Entry('polar_inertia', ('polar_inertia',), 'kg m^2', 'B', text='d_2'),
            vector_entry('centre_of_mass', 'm', 'B', 'centre of mass of the shell', 'xz'),
        )

    def pack_parameters(
        self,
        *,
        mass: float,
        polar_inertia: float,
        radius: float,
        centre_of_mass: ArrayLike = (0.0, 0.0),
        gravity_W: ArrayLike = (0.0, 0.0, -GRAVITY),
        mu: float = 1.0,
        mu_kinetic: float | None = None,
    ) -> NDArray[np.float64]:
        """
        Return the vector p; see :meth:`PointMassBall.pack_parameters`.

        Parameters
        ----------
        mass, radius, gravity_W, mu, mu_kinetic
            As of the ball.
        polar_inertia
            d_2 of the shell about its centre of mass [kg m^2], zero or positive.
        centre_of_mass
            Along E1 and E3 [m].

        """
        check_radius(radius)
        if not (math.isfinite(polar_inertia) and polar_inertia >= 0):
            raise ParameterError(
                f'polar_inertia must be zero or positive and finite, got {polar_inertia!r}'
            )
        check_masses(self.masses, mass, radius, np.asarray(centre_of_mass, dtype=float))
        for k, m in enumerate(self.masses, 1):
            if isinstance(m, RailMass) and distance_from_plane(m.rail) > 1e-12 * radius:
                raise ParameterError(
                    f'rail {k} leaves the plane of the disk: its points must have y = 0'
                )
        static, kinetic = checked_coefficients(mu, mu_kinetic, no_slip=not self.unilateral)
        return self.parameters.pack(
            mass=mass,
            polar_inertia=polar_inertia,
            radius=radius,
            centre_of_mass=centre_of_mass,
            gravity_W=gravity_W,
            mu=static,
            mu_kinetic=kinetic,
        )

    @cached_property
    def body(self) -> DiskState:
        """What the equations of motion depend on, in the symbols of the system."""
        s = self.symbols
        v, p = s.values, s.params
        plane, zero = [0, 2], ca.SX.zeros(2)
        points = [PlanarPoint(p['mass'], p['centre_of_mass'], zero, zero)]
        points += [
            PlanarPoint(q.mass, q.place[plane], q.rate[plane], q.acceleration[plane])
            for q in mass_points(self.masses, self.motion)
        ]
        position, velocity = (self.spatial(a) for a in self.centre)
        half = v['phi'] / 2  # phi turns from x to z, about -y
        attitude = ca.vertcat(ca.cos(half), 0, -ca.sin(half), 0)
        turning = ca.vertcat(0, -v['phi_rate'], 0)
        return DiskState(
            points=points,
            inertia=p['polar_inertia'],
            radius=p['radius'],
            phi=v['phi'],
            phi_dot=v['phi_rate'],
            gravity_W=p['gravity_W'][plane],
            force_W=self.force_W(position, velocity, attitude, turning)[plane],
        )

    @property
    def centre(self) -> tuple[ca.SX, ca.SX]:
        """Position and velocity of the geometric centre, x and z, as expressions."""
        v, r = self.symbols.values, self.symbols.params['radius']
        if self.unilateral:
            return v['p_WB'], v['v_WB_W']
        return ca.vertcat(v['p'], r), ca.vertcat(-r * v['phi_rate'], 0)

    def rolling(self) -> Rolling:
        """Return rolling without slipping."""
        body = self.body
        turn = rolling_acceleration(body)
        a_W, v_W = (ca.vertcat(-body.radius * w, 0) for w in (turn, body.phi_dot))
        return Rolling(turn, a_W, v_W, contact_force(body, turn))

    @property
    def places(self) -> list[ca.SX]:
        """Where the masses are, in B, along x and z [m]."""
        return [q.zeta for q in self.body.points[1:]]

    def _one_mode(
        self, turn: ca.SX, a_W: ca.SX, v_W: ca.SX, force: ca.SX, guards: Mapping[str, ca.SX]
    ) -> ModeExpressions:
        s, body = self.symbols, self.body
        rates = [*self.mass_rates, s.values['phi_rate'], turn]
        rates += [v_W, a_W] if self.unilateral else [v_W[0]]
        R, power = self._rotation(), ca.SX(0)
        for m in body.points[1:]:
            rate, z = body.phi_dot, m.zeta
            inner = turn * ca.vertcat(-z[1], z[0]) - rate**2 * z + m.zeta_ddot
            inner += 2 * rate * ca.vertcat(-m.zeta_dot[1], m.zeta_dot[0])
            power += m.mass * ca.dot(R.T @ (a_W - body.gravity_W) + inner, m.zeta_dot)
        return ModeExpressions(ca.vertcat(*rates), self.spatial(force), guards, power)

    def _rotation(self) -> ca.SX:
        """Return Lambda of Eq. (A.1), rows and columns 1 and 3."""
        c, s = ca.cos(self.body.phi), ca.sin(self.body.phi)
        return ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))

    def answer(self, force_W: ca.SX) -> Response:
        """Return the answer to a force or an impulse at the contact point."""
        return disk_response(self.body, force_W)

    def free(self) -> Response:
        """Return the accelerations without a contact force."""
        return Response(*flight_acceleration(self.body))

    def of_contact(self, turn: ca.SX, centre_W: ca.SX) -> ca.SX:
        """Return the lowest point's velocity from the velocities; accelerations alike."""
        return centre_W + ca.vertcat(self.body.radius * turn, 0)

    def velocities(self) -> tuple[ca.SX, ca.SX]:
        """Return rate of phi and velocity of the centre (x, z)."""
        return self.body.phi_dot, self.centre[1]

    @cached_property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Energy, momentum, and angular momentum about the centre of mass (y is -e2's turn)."""
        body, R = self.body, self._rotation()
        position, velocity = self.centre
        perp = [ca.vertcat(-q.zeta[1], q.zeta[0]) for q in body.points]
        places = [R @ q.zeta for q in body.points]
        speeds = [
            velocity + R @ (body.phi_dot * w + q.zeta_dot)
            for q, w in zip(body.points, perp, strict=True)
        ]
        masses, M = [q.mass for q in body.points], body.total_mass
        momentum = sum((m * v for m, v in zip(masses, speeds, strict=True)), ca.SX.zeros(2))
        mean = sum(m * a for m, a in zip(masses, places, strict=True)) / M
        energy, spin = body.inertia * body.phi_dot**2 / 2, body.inertia * body.phi_dot
        for m, a, v in zip(masses, places, speeds, strict=True):
            energy += m * ca.dot(v, v) / 2 - m * ca.dot(body.gravity_W, position + a)
            arm, over = a - mean, v - momentum / M
            spin += m * (arm[0] * over[1] - arm[1] * over[0])
        found = {
            'energy': energy,
            'linear_momentum_x': momentum[0],
            'linear_momentum_z': momentum[1],
            'angular_momentum': spin,
        }
        return self.functions(found)

    @cached_property
    def centre_of_mass(self) -> ca.Function:
        """``(x, u, t, p) -> centre of mass`` in W (x, z), and over the centre in B [m]."""
        body = self.body
        mean = sum(q.mass * q.zeta for q in body.points) / body.total_mass
        whole = self.centre[0] + self._rotation() @ mean
        return self.function('centre_of_mass', ca.vertcat(whole, mean))

    @cached_property
    def pose(self) -> ca.Function:
        """``(x, p) -> 4x4 matrices`` of shell and masses in W (free masses at t = 0)."""
        body, R = self.body, self._rotation()
        R3 = ca.SX.eye(3)
        R3[0, 0], R3[0, 2], R3[2, 0], R3[2, 2] = R[0, 0], R[0, 1], R[1, 0], R[1, 1]
        places = [self.centre[0], *(self.centre[0] + R @ q.zeta for q in body.points[1:])]
        return self.pose_function(R3, [self.spatial(a) for a in places])
