"""A sphere that rolls and spins on a plane."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import (
    Entry,
    Layout,
    Mode,
    number_entry,
    quaternion_entry,
    RegulatorWeights,
    vector_entry,
    WrittenSystem,
)
from rolling_dynamics.errors import check_choice, ParameterError
from rolling_dynamics.rotations import homogeneous, rate_space, rotation_matrix

POLE = math.pi / 2  # |v_o| of the poles
TURN = 2 * math.pi


RADIUS = number_entry('radius', 'm', 'radius of the sphere', 'positive')


def check_radius(radius: object) -> None:
    """Raise ParameterError unless a radius [m] is a number, positive and finite."""
    if isinstance(radius, bool) or not isinstance(radius, (int, float, np.number)):
        raise ParameterError(f'radius must be a number [m], got {radius!r}')
    RADIUS.check(radius)


def attitude_expression(contact_o: ca.SX, psi: ca.SX) -> ca.SX:
    """Return R_SO of contact coordinates: R_psi with opposite normals after the Gauss frame."""
    u, v, c, s = contact_o[0], contact_o[1], ca.cos(psi), ca.sin(psi)
    gauss = ca.horzcat(  # columns e_u, e_v, outward normal, in O
        ca.vertcat(-ca.cos(u), 0, ca.sin(u)),
        ca.vertcat(ca.sin(u) * ca.sin(v), ca.cos(v), ca.cos(u) * ca.sin(v)),
        ca.vertcat(-ca.sin(u) * ca.cos(v), ca.sin(v), -ca.cos(u) * ca.cos(v)),
    )
    turn = ca.vertcat(ca.horzcat(-c, s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, -1))
    return turn @ gauss.T


def contact_normal(R_SO: ca.SX) -> ca.SX:
    """Return the outward normal of the sphere at the contact, in O: minus the plane's normal."""
    return -R_SO[2, :].T


def attitude_from_coordinates(contact_o: ArrayLike, psi: float) -> Array:
    """Return the rotation matrix R_SO, shape (3, 3), of (u_o, v_o) and psi [rad]."""
    contact_o = np.asarray(contact_o, dtype=float)
    R_SO = attitude_expression(ca.SX(ca.DM(contact_o)), ca.SX(float(psi)))
    return np.array(ca.evalf(R_SO))


def coordinates_from_attitude(R_SO: ArrayLike, near: ArrayLike | None = None) -> Array:
    """
    Return (u_o, v_o, psi) of an attitude.

    Parameters
    ----------
    R_SO
        Rotation matrix, shape (3, 3).
    near
        Coordinates (u_o, v_o, psi) that select the turns of u_o and psi.

    Returns
    -------
    NDArray
        Shape (3,) [rad].

    Raises
    ------
    ParameterError
        The contact lies on a pole of the chart, where u_o and psi are not defined.

    """
    R = np.asarray(R_SO, dtype=float)
    n = -R[2]
    if math.hypot(n[0], n[2]) < 1e-12:
        raise ParameterError(
            f'the contact lies on a pole of the chart, v_o = {math.copysign(POLE, n[1]):.6g}, '
            'where u_o and psi are not defined; use the attitude'
        )
    u, v = math.atan2(-n[0], -n[2]), math.atan2(n[1], math.hypot(n[0], n[2]))
    e_u = np.array([-math.cos(u), 0.0, math.sin(u)])
    x, y = R[0] @ e_u, R[1] @ e_u  # (-cos psi, sin psi)
    out = np.array([u, v, math.atan2(y, -x)])
    if near is not None:
        for k in (0, 2):
            out[k] += TURN * round((float(np.asarray(near)[k]) - out[k]) / TURN)
    return out


def coordinate_rates(v_o: ca.SX, psi: ca.SX, w_SO_S: ca.SX) -> ca.SX:
    """
    Return (u_o, v_o, psi)-dot [rad/s].

    Parameters
    ----------
    v_o, psi
        Latitude of the contact on the sphere and angle of spin [rad].
    w_SO_S
        Angular velocity of the sphere in S [rad/s].

    Returns
    -------
    casadi.SX
        Tafrishi et al., Eq. (13), rows 3 to 5; singular at v_o = +-pi/2.

    """
    s, c, sec, tan = ca.sin(psi), ca.cos(psi), 1 / ca.cos(v_o), ca.tan(v_o)
    matrix = ca.vertcat(
        ca.horzcat(-s * sec, -c * sec, 0), ca.horzcat(-c, s, 0), ca.horzcat(-s * tan, -c * tan, -1)
    )
    return matrix @ w_SO_S


REPRESENTATIONS = {
    'attitude': (quaternion_entry('q_SO', 'attitude of the sphere'),),
    'coordinates': (
        Entry('contact_o', ('u_o', 'v_o'), 'rad', 'O', 'vector', 'contact on the sphere'),
        Entry('psi', ('psi',), 'rad', '', 'angle', 'angle of spin'),
    ),
}


def attitude(values: Mapping[str, ca.SX]) -> ca.SX:
    """Return R_SO (3, 3) of the entries of a state."""
    if 'q_SO' in values:
        return rotation_matrix(values['q_SO'])
    return attitude_expression(values['contact_o'], values['psi'])


def attitude_rates(values: Mapping[str, ca.SX], w_SO_S: ca.SX) -> ca.SX:
    """Return the rates of the entries of the attitude."""
    if 'q_SO' in values:
        return rate_space(values['q_SO'], w_SO_S)
    return coordinate_rates(values['contact_o'][1], values['psi'], w_SO_S)


def tan_v_o(values: Mapping[str, ca.SX]) -> ca.SX:
    """Return the tangent of the latitude of the contact on the sphere."""
    if 'q_SO' not in values:
        return ca.tan(values['contact_o'][1])
    n = contact_normal(attitude(values))
    return n[1] / ca.sqrt(n[0] ** 2 + n[2] ** 2)


VARIANTS = ('corrected', 'as_published')


def frame_angle(G_f: ca.SX, beta: ca.SX, gamma: ca.SX, radius: ca.SX) -> ca.SX:
    """Return theta + phi [rad] of the corrected model for the direction G_f [rad]."""
    return G_f + ca.atan2(radius * beta, 1 - radius * gamma)


def published_angles(G_f: ca.SX, beta: ca.SX, gamma: ca.SX, radius: ca.SX) -> tuple[ca.SX, ca.SX]:
    """
    Return theta and phi [rad] as Eq. (15) prints them.

    The inverse cotangent has values in (-pi/2, pi/2). With it the path keeps its line. For beta <
    0, gamma < 1/R it also keeps its direction, except for G_f between pi/4 and atan(k/(k + beta)),
    k = 1/R - gamma, where the inverse cotangent jumps. For beta > 0 the sphere runs backwards. The
    second branch is read as pi/4 <= G_f <= pi.

    Parameters
    ----------
    G_f
        Desired direction [rad], in (-pi, pi].
    beta, gamma
        Torsion and normal curvature of the virtual surface [1/m].
    radius
        Radius [m].

    """
    tangent = ca.tan(G_f)
    cotangent = ((1 - tangent) / radius + gamma * (tangent - 1) - beta * tangent) / beta
    theta = ca.atan(1 / cotangent)
    quarter = math.pi / 4
    shifted = ca.logic_and(G_f > -3 * quarter, G_f < quarter)
    return theta, ca.if_else(shifted, math.pi, 0.0)


_SURFACE = (
    Entry('alpha_s', ('alpha_s',), '1/m', text='geodesic curvature of the virtual surface'),
    Entry('beta_s', ('beta_s',), '1/m', text='geodesic torsion of the virtual surface'),
    Entry('gamma_s', ('gamma_s',), '1/m', text='normal curvature of the virtual surface'),
)
_DELTA = Entry('delta', ('delta',), 'm/s', text='rolling rate ds/dt')
INPUTS = {
    'angular_velocity': (vector_entry('w_SO_S', 'rad/s', 'S', 'angular velocity'),),
    'virtual_surface': (
        *_SURFACE,
        Entry('theta', ('theta',), 'rad', '', 'angle', 'angle between the contact frames'),
        Entry('phi', ('phi',), 'rad', '', 'angle', "angle from the sphere's e_u to the path"),
    ),
    'direction': (
        *_SURFACE,
        Entry('G_f', ('G_f',), 'rad', 'S', 'angle', 'direction of the path'),
    ),
}


def control_layout(inputs: str, independent_variable: str) -> Layout:
    """Return the layout of u; for the Darboux frame over time it includes the rolling rate."""
    timed = inputs != 'angular_velocity' and independent_variable == 'time'
    return Layout((*INPUTS[inputs], _DELTA) if timed else INPUTS[inputs])


def angular_velocity(
    u: Mapping[str, ca.SX], radius: ca.SX, tan_v_o: ca.SX, variant: str, phi: float
) -> ca.SX:
    """
    Return the angular velocity of the sphere in S, per arc length for the Darboux frame.

    Parameters
    ----------
    u
        Entries of the control.
    radius
        Radius [m].
    tan_v_o
        Tangent of the latitude of the contact on the sphere.
    variant
        ``corrected``, or ``as_published`` with the sine that Eq. (12) prints twice, and Eq. (15).
    phi
        Angle phi [rad] of the corrected direction law.

    """
    if 'w_SO_S' in u:
        return u['w_SO_S']
    alpha, beta, gamma = (u[entry.name] for entry in _SURFACE)
    if 'G_f' not in u:
        theta, angle = u['theta'], u['phi']
    elif variant == 'corrected':
        theta, angle = frame_angle(u['G_f'], beta, gamma, radius) - phi, ca.SX(phi)
    else:
        theta, angle = published_angles(u['G_f'], beta, gamma, radius)
    kn = 1 / radius - gamma  # Eq. (5) with (8), (9)
    tau = -beta
    kg = tan_v_o * ca.cos(angle) / radius - alpha
    s, c = ca.sin(theta + angle), ca.cos(theta + angle)
    cosine = c if variant == 'corrected' else s
    return ca.vertcat(-c * tau - s * kn, -s * tau + cosine * kn, -kg)  # Eq. (12)


ATTITUDE = {'contact_s': 100.0, 'd_SO': 10.0}
_TRACKING = {**ATTITUDE, 'contact_o': 10.0, 'psi': 10.0}
SPIN_ROLLING_WEIGHTS = RegulatorWeights(
    tracking=_TRACKING, terminal={k: 1e3 * v for k, v in _TRACKING.items()}, control=1.0
)


POLE_MARGIN = 1e-3  # least cos v_o of the coordinates
CONTACT_S = Entry('contact_s', ('u_s', 'v_s'), 'm', 'S', 'vector', 'contact on the plane')


class SpinRollingSphere(WrittenSystem):
    """
    A sphere that rolls and spins on a plane without slipping; a kinematic model, no wrench.

    Attributes
    ----------
    variant
        ``corrected`` or ``as_published``; differs for the inputs of the Darboux frame.
    inputs
        ``angular_velocity``: w_SO_S over time, Eq. (13). ``virtual_surface``: alpha_s, beta_s,
        gamma_s, theta, phi over the arc length, Eq. (14). ``direction``: alpha_s, beta_s, gamma_s,
        G_f over the arc length, Eq. (14) with the direction law.
    independent_variable
        ``time`` or ``arc length``; the inputs of the Darboux frame over time also include the
        rolling rate delta.
    representation
        ``attitude``, without singularity, or ``coordinates``, as in the paper.
    phi
        Angle phi [rad] of the corrected direction law; pi/2 takes the chart's geodesic curvature,
        and with it the poles, out of the equations.

    Examples
    --------
    >>> from rolling_dynamics import SpinRollingSphere
    >>> system = SpinRollingSphere()
    >>> system.control.names, system.pack_parameters(radius=0.3)
    (['w_SO_S_x', 'w_SO_S_y', 'w_SO_S_z'], array([0.3]))

    """

    name = 'spin_rolling_sphere'

    def __init__(
        self,
        *,
        variant: str = 'corrected',
        inputs: str = 'angular_velocity',
        independent_variable: str | None = None,
        representation: str = 'attitude',
        phi: float = 0.0,
    ) -> None:
        """Build the system; see the attributes for the options."""
        check_choice('representation', representation, REPRESENTATIONS)
        check_choice('inputs', inputs, INPUTS)
        check_choice('variant', variant, VARIANTS)
        self.variant, self.inputs, self.phi = variant, inputs, float(phi)
        self.representation = representation
        default = 'time' if inputs == 'angular_velocity' else 'arc length'
        self.independent_variable = independent_variable or default
        check_choice('independent_variable', self.independent_variable, ('time', 'arc length'))
        if inputs == 'angular_velocity' and self.independent_variable != 'time':
            raise ParameterError(
                "independent_variable: 'angular_velocity' is over 'time'; use the inputs "
                "'virtual_surface' or 'direction' for 'arc length'"
            )
        self.control = control_layout(inputs, self.independent_variable)
        self.state = Layout((CONTACT_S, *REPRESENTATIONS[representation]))
        self.parameters = Layout((RADIUS,))

    def pack_parameters(self, *, radius: float) -> Array:
        """Return the vector p; raise ParameterError unless the radius [m] is positive."""
        check_radius(radius)
        return self.parameters.pack(radius=radius)

    def check_state(self, p: ArrayLike, x: ArrayLike) -> None:
        """Raise ParameterError if no motion can start: no sphere, or a pole of the chart."""
        RADIUS.check(p)
        if 'contact_o' in self.state:
            v_o = float(np.asarray(x, dtype=float)[self.state.slice('contact_o')][1])
            if not np.cos(v_o) > POLE_MARGIN:
                raise ParameterError(
                    f'contact_o: v_o = {v_o:.6g} lies on a pole of the chart, +-pi/2; use the '
                    "representation 'attitude'"
                )

    @cached_property
    def angular_velocity(self) -> ca.SX:
        """Angular velocity of the sphere in S, per independent variable, in ``symbols``."""
        s = self.symbols
        u = self.control.split(s.u)
        w = angular_velocity(u, s.p[0], tan_v_o(s.values), self.variant, self.phi)
        return u.get('delta', 1) * w

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """One mode, rolling without slip; its guard is the pole of the coordinates."""
        s, w = self.symbols, self.angular_velocity
        moved = s.p[0] * ca.vertcat(w[1], -w[0])  # Eq. (13), rows 1 and 2
        xdot = ca.vertcat(moved, attitude_rates(s.values, w))
        guards = {}
        if 'contact_o' in self.state:
            guards['pole'] = self.function('pole', ca.cos(s.values['contact_o'][1]) - POLE_MARGIN)
        dynamics = ca.Function(
            'dynamics', [*s], [ca.densify(xdot)], ['x', 'u', 't', 'p'], ['xdot']
        )
        return {'rolling': Mode(dynamics=dynamics, guards=guards)}

    @property
    def invariants(self) -> Mapping[str, ca.Function]:
        """None: the model is kinematic."""
        return {}

    @property
    def default_weights(self) -> RegulatorWeights:
        """Default weights of a regulator."""
        return SPIN_ROLLING_WEIGHTS.of(self.tangent)

    @cached_property
    def attitude(self) -> ca.Function:
        """``x -> R_SO``."""
        R_SO = ca.densify(attitude(self.symbols.values))
        return ca.Function('attitude', [self.symbols.x], [R_SO], ['x'], ['R_SO'])

    @cached_property
    def pose(self) -> ca.Function:
        """``(x, p) -> X_WO, X_WC``: sphere, and contact frame of the plane."""
        x, _, _, p = self.symbols
        low = ca.vertcat(x[0:2], 0)
        body = homogeneous(attitude(self.symbols.values), low + ca.vertcat(0, 0, p[0]))
        contact = homogeneous(ca.SX.eye(3), low)
        return self.of_state('pose', body, contact, names=['object', 'contact'])
