"""
Rolling in the vertical plane x-z: the contact system with all that leads out of the plane at rest.

Woodruff & Lynch, Section VIII-B. The state is their s_2D with the turn of the object in the hand
in place of u_o, which has a singularity where the object stands upright.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.equations import FAR, GRAVITY
from rolling_dynamics.contract.rolling_system import (
    Entry,
    Layout,
    Mode,
    vector_entry,
    WrittenSystem,
)
from rolling_dynamics.errors import ParameterError, SurfaceError
from rolling_dynamics.surfaces.quadrics import Plane
from rolling_dynamics.surfaces.surface import Surface

STATE = Layout(
    (
        Entry('beta_WH', ('beta_WH',), 'rad', 'W', 'vector', 'turn of the hand about y'),
        vector_entry('p_WH', 'm', 'W', 'origin of the hand', 'xz'),
        Entry('beta_HO', ('beta_HO',), 'rad', 'H', 'vector', 'turn of the object in the hand'),
        Entry('contact_h', ('u_h',), 'm', 'H', 'vector', 'contact point on the hand'),
        vector_entry('w_WH_H', 'rad/s', 'H', 'angular velocity of the hand', 'y'),
        vector_entry('v_WH_H', 'm/s', 'H', 'velocity of the origin of the hand', 'xz'),
        vector_entry('w_HO_H', 'rad/s', 'H', 'angular velocity of the object in the hand', 'y'),
    )
)
CONTROL = Layout(
    (
        vector_entry('alpha_WH_H', 'rad/s^2', 'H', 'angular acceleration of the hand', 'y'),
        vector_entry('a_WH_H', 'm/s^2', 'H', 'true acceleration of its origin', 'xz'),
    )
)


def turn(angle: ca.SX) -> ca.SX:
    """Return the quaternion of a turn about y."""
    return ca.vertcat(ca.cos(angle / 2), 0, ca.sin(angle / 2), 0)


def spread(xz: ca.SX) -> ca.SX:
    """Return the vector in space of one in the plane x-z."""
    return ca.vertcat(xz[0], 0, xz[1])


def about_y(rate: ca.SX) -> ca.SX:
    """Return the angular velocity, or acceleration, of a turn about y."""
    return ca.vertcat(0, rate, 0)


def flat(vectors: Mapping[str, ca.SX]) -> dict[str, ca.SX]:
    """Return what a planar state holds of vectors by name; attitudes are left out."""
    return {
        name: v[1] if name.startswith('w_') else ca.vertcat(v[0], v[2])
        for name, v in vectors.items()
        if not name.startswith('q_')
    }


class PlanarRolling(WrittenSystem):
    """
    A convex object that rolls on a plate in the plane x-z, 9 states and 3 controls.

    Attributes
    ----------
    object_surface
        Surface of the object; x-z is a plane of symmetry.
    contact_system
        The system in space of which this is a part.

    """

    name = 'planar_rolling'
    state, control = STATE, CONTROL

    def __init__(self, object_surface: Surface) -> None:
        """Build the system; raise SurfaceError for a surface without a support function."""
        if object_surface.support is None or object_surface.side != 'outside':
            raise SurfaceError(
                f'planar rolling needs a convex object with a support function, '
                f'{object_surface.name!r} has none'
            )
        self.object_surface = object_surface
        self.contact_system = ContactSystem(object_surface, Plane())
        self.parameters = Layout(
            (
                Entry('mass', ('mass',), 'kg', text='mass of the object'),
                Entry('inertia', ('inertia',), 'kg m^2', text='about y and the centre of mass'),
                vector_entry('gravity_W', 'm/s^2', 'W', 'gravity', 'xz'),
                Entry('mu', ('mu',), '', text='coefficient of static friction'),
                Entry('object_surface', tuple(f'object_{n}' for n in object_surface.values), 'm'),
                Entry('hand_edges', ('u_min', 'u_max'), 'm', 'hand'),
            ),
            defaults={'object_surface': tuple(object_surface.values.values())},
        )

    def pack_parameters(
        self,
        *,
        mass: float,
        inertia: float,
        gravity_W: ArrayLike = (0.0, -GRAVITY),
        mu: float = 1.0,
        edges: tuple[float, float] = (-FAR, FAR),
    ) -> Array:
        """
        Return the vector p.

        Parameters
        ----------
        mass
            Mass of the object [kg].
        inertia
            Moment of inertia about y through the centre of mass [kg m^2].
        gravity_W
            Gravity along x and z of the world [m/s^2].
        mu
            Coefficient of static friction.
        edges
            Edges of the plate along x of the hand [m].

        Raises
        ------
        ParameterError
            A value that no body has.

        """
        for name, value in (('inertia', inertia), ('mu', mu)):
            if not (np.isfinite(value) and value > 0):
                raise ParameterError(f'{name} must be positive and finite, got {value!r}')
        if not edges[0] < edges[1]:
            raise ParameterError(f'edges must be increasing [m], got {edges!r}')
        return self.parameters.pack(
            mass=mass, inertia=inertia, gravity_W=gravity_W, mu=mu, hand_edges=edges
        )

    @cached_property
    def _whole(self) -> tuple[tuple[ca.SX, ca.SX, ca.SX], tuple[ca.SX, ca.SX, ca.SX]]:
        """Symbols x, u, p of the plane, and the vectors in space that they stand for."""
        s, symbols = self.contact_system, self.symbols
        (x, u, _, p), d, q = symbols, symbols.values, symbols.params
        state = {
            **{f'q_{k}': turn(d[f'beta_{k}']) for k in ('WH', 'HO')},
            **{name: spread(d[name]) for name in ('p_WH', 'v_WH_H')},
            **{name: about_y(d[name]) for name in ('w_WH_H', 'w_HO_H')},
            'contact_h': ca.vertcat(d['contact_h'], 0),
        }
        j = q['inertia']
        params = {
            'mass': q['mass'],
            # what turns about x and z does not matter in the plane
            'inertia': ca.vertcat(j, j, j, 0, 0, 0),
            'gravity_W': spread(q['gravity_W']),
            'mu': q['mu'],
            'mu_spin': ca.SX(0),
            'object_surface': q['object_surface'],
            'hand_surface': ca.SX(0, 1),
            'hand_edges': ca.vertcat(q['hand_edges'], -1, 1),
        }
        whole_x = ca.vertcat(*(state[e.name] for e in s.state.entries))
        whole_p = ca.vertcat(*(params[e.name] for e in s.parameters.entries))
        whole_u = ca.vertcat(0, u[0], 0, u[1], 0, u[2])
        return (x, u, p), (whole_x, whole_u, whole_p)

    def function(self, name: str, of_space: ca.Function | ca.SX) -> ca.Function:
        """Return ``(x, u, t, p)`` of the plane, of a function in space or an expression."""
        (x, u, p), whole = self._whole
        t = ca.SX.sym('t')
        value = of_space
        if isinstance(of_space, ca.Function):
            value = of_space(whole[0], whole[1], t, whole[2])
        return ca.Function(name, [x, u, t, p], [ca.densify(value)], ['x', 'u', 't', 'p'], [name])

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """One mode: rolling inside the envelope of contact."""
        (x, _, _), whole = self._whole
        s, mode = self.contact_system, self.contact_system.mode
        rate = mode.dynamics(whole[0], whole[1], 0, whole[2])
        rates = s.state.split(rate)
        point = rates.pop('contact_h')
        rates = flat(rates) | {
            'beta_WH': x[STATE.slice('w_WH_H')],
            'beta_HO': x[STATE.slice('w_HO_H')],
            'contact_h': point[0],
        }
        xdot = ca.vertcat(*(rates[e.name] for e in STATE.entries))
        return {
            'rolling': Mode(
                dynamics=self.function('dynamics', xdot),
                wrench=self.function('wrench', mode.wrench),
                guards={name: self.function(name, g) for name, g in mode.guards.items()},
            )
        }

    @cached_property
    def envelope(self) -> Mapping[str, ca.Function]:
        """The limits of contact as smooth functions ``(x, u, t, p)``, positive inside."""
        return {n: self.function(n, g) for n, g in self.contact_system.envelope.items()}

    def rest_goal(self, x_start: Array) -> dict[str, Array]:
        """Return what a goal at rest has by default: hand turned as at the start, no motion."""
        rest = {name: np.zeros(STATE.entry(name).size) for name in ('w_WH_H', 'v_WH_H', 'w_HO_H')}
        return {'beta_WH': np.asarray(x_start)[STATE.slice('beta_WH')], **rest}

    def state_bounds(self, p: Array) -> dict[str, tuple[float, float]]:
        """Return the edges of the plate as bounds of the contact point."""
        low, high = np.asarray(p, dtype=float)[self.parameters.slice('hand_edges')]
        return {'u_h': (float(low), float(high))} if max(-low, high) < FAR else {}

    @cached_property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Energy of the object [J]."""
        return {'energy': self.function('energy', self.contact_system.invariants['energy'])}

    @cached_property
    def pose(self) -> ca.Function:
        """``(x, p) -> X_WH, X_WO, X_WCh`` homogeneous matrices; names hand, object, contact."""
        (x, _, p), whole = self._whole
        names = ['hand', 'object', 'contact']
        poses = self.contact_system.pose(whole[0], whole[2])
        return ca.Function('pose', [x, p], [ca.densify(X) for X in poses], ['x', 'p'], names)
