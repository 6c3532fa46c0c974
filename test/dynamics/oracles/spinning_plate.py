"""
Closed solution of a ball that rolls on a plate spinning at a constant rate.

Frame W is fixed to the world. The plate turns at the constant rate Omega about its unit normal n
through the origin of W; its surface passes through that origin. The ball has radius R, mass m and
inertia J = k m R^2 about its centre (k = 2/5 if homogeneous). r is the place of contact, measured
from the origin, so n . r = 0, and the centre is r + R n. f is the force of the plate on the ball,
g the gravity vector, with parts g_n n and g_t along and across the normal.

Derivation, every vector in W. Centre and place of contact have the same velocity v = dr/dt.

    Newton    m dv/dt = f + m g
    Euler     k m R^2 dw/dt = -R n x f
    rolling   v - R w x n = Omega n x r

Euler times n gives d(w . n)/dt = 0: the spin is free and never changes. From Euler,
R dw/dt x n = -(n x f) x n / (k m) = -f_t / (k m), where f_t is the part of f across the normal,
which by Newton is m (dv/dt - g_t). The derivative of the rolling condition is therefore

    dv/dt = Omega n x v + R dw/dt x n = Omega n x v - (dv/dt - g_t) / k
    dv/dt = omega_c n x v + g_t / (1 + k),     omega_c = k / (1 + k) Omega

which for k = 2/5 is the 2/7 law. Where g_t = 0 the velocity turns at the rate omega_c, and the
place of contact runs round a circle with centre r(0) - v(0) x n / omega_c; otherwise that circle
drifts with the velocity v_d that leaves dv/dt = 0, v_d = n x g_t / (k Omega). Both hold in W, not
in the frame that turns with the plate. The angular velocity across the normal follows from
rolling, w_t = (n x v + Omega r) / R, and the normal force from Newton, as nothing accelerates
along n: N = -m g_n, for a horizontal plate the weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SpinningPlate:
    """
    A ball on a plate and where it starts.

    Attributes
    ----------
    rate
        Omega [rad/s], may be zero.
    radius, mass
        R [m] and m [kg] of the ball.
    inertia_ratio
        k = J / (m R^2).
    gravity_W
        g in W [m/s^2], shape (3,).
    n_W
        Unit normal n out of the plate, in W, shape (3,).
    p_WC_start
        r(0) in W [m], across n, shape (3,).
    v_WC_start
        v(0) in W [m/s], across n, shape (3,).
    spin
        w . n, constant [rad/s].

    """

    rate: float
    radius: float
    mass: float
    gravity_W: Array
    p_WC_start: Array
    v_WC_start: Array
    n_W: Array
    inertia_ratio: float = 0.4
    spin: float = 0.0

    @property
    def orbit_rate(self) -> float:
        """Return omega_c = k / (1 + k) Omega [rad/s]; 002 (14) is k = 2/5."""
        return self.inertia_ratio / (1.0 + self.inertia_ratio) * self.rate

    @property
    def drift_W(self) -> Array:
        """Return v_d = n x g / (k Omega) [m/s]; 002 (17) is its magnitude for k = 2/5."""
        return np.cross(self.n_W, self.gravity_W) / (self.inertia_ratio * self.rate)

    @property
    def orbit_centre_W(self) -> Array:
        """Return the centre of the circle at t = 0 [m], 002 (15) for a horizontal plate."""
        swing = self.v_WC_start - self.drift_W
        return self.p_WC_start - np.cross(swing, self.n_W) / self.orbit_rate

    @property
    def normal_force(self) -> float:
        """Return N = -m g . n [N]."""
        return float(-self.mass * self.gravity_W @ self.n_W)

    def _turn(self, vector: Array, angle: Array) -> Array:
        """Turn a vector across n about n; angle of shape (...,)."""
        return np.cos(angle)[..., None] * vector + np.sin(angle)[..., None] * np.cross(
            self.n_W, vector
        )

    def contact_velocity(self, t: ArrayLike) -> Array:
        """Return v(t) in W [m/s], shape (..., 3) for t of shape (...,)."""
        t = np.asarray(t, float)
        if self.rate == 0.0:
            g_t = self.gravity_W - self.gravity_W @ self.n_W * self.n_W
            return self.v_WC_start + t[..., None] * g_t / (1.0 + self.inertia_ratio)
        return self.drift_W + self._turn(self.v_WC_start - self.drift_W, self.orbit_rate * t)

    def contact_point(self, t: ArrayLike) -> Array:
        """Return r(t) in W [m], shape (..., 3) for t of shape (...,)."""
        t = np.asarray(t, float)
        if self.rate == 0.0:
            average = 0.5 * (self.v_WC_start + self.contact_velocity(t))
            return self.p_WC_start + t[..., None] * average
        arm = self.p_WC_start - self.orbit_centre_W
        return (
            self.orbit_centre_W
            + t[..., None] * self.drift_W
            + self._turn(arm, self.orbit_rate * t)
        )

    def centre(self, t: ArrayLike) -> Array:
        """Return the centre of the ball in W [m], shape (..., 3) for t of shape (...,)."""
        return self.contact_point(t) + self.radius * self.n_W

    def centre_acceleration(self, t: ArrayLike) -> Array:
        """Return dv/dt in W [m/s^2], shape (..., 3) for t of shape (...,)."""
        g_t = self.gravity_W - self.gravity_W @ self.n_W * self.n_W
        turning = self.orbit_rate * np.cross(self.n_W, self.contact_velocity(t))
        return turning + g_t / (1.0 + self.inertia_ratio)

    def angular_velocity(self, t: ArrayLike) -> Array:
        """Return w(t) of the ball in W [rad/s], shape (..., 3) for t of shape (...,)."""
        across = np.cross(self.n_W, self.contact_velocity(t)) + self.rate * self.contact_point(t)
        return across / self.radius + self.spin * self.n_W

    def contact_force(self, t: ArrayLike) -> Array:
        """Return f(t) of the plate on the ball in W [N], shape (..., 3) for t of shape (...,)."""
        return self.mass * (self.centre_acceleration(t) - self.gravity_W)
