"""
Second derivation for any machine: Kane's equations from the poses of its bodies.

Velocities are derivatives of ``pose`` along the rates of the configuration, partial velocities
their derivatives by the speeds; nothing goes along a tree. Shares only the kinematics.
"""

import casadi as ca


def rates_by_kane(system, speeds, applied=None, constraints=None):
    """
    Return (x, u, t, p) -> rates of the speeds.

    ``speeds`` are the entries whose rates are looked for, and ``applied`` a function of the
    angular velocities in W by body, of the controls, and of the velocities of the bodies' origins,
    that gives the power of controls and other forces. ``constraints`` gives velocities that
    vanish, of the poses, the velocities of origins and the angular velocities, by body: along them
    forces act that do no work.
    """
    s = system.symbols
    rates = system.modes['rolling'].dynamics(*s)
    where = [k for name in speeds for k in range(*system.state.slice(name).indices(10**6))]
    v_speeds = s.x[where]
    kinematic = ca.SX(rates)
    for k in where:
        kinematic[k] = 0
    g = system.machine.gravity_W
    M, f = ca.SX.zeros(len(where), len(where)), ca.SX.zeros(len(where))
    poses = dict(zip(system.pose.name_out(), system.pose.call([s.x, s.p]), strict=True))
    turning, moving = {}, {}

    def rate(value):
        return ca.reshape(ca.jtimes(ca.vec(value), s.x, kinematic), *value.shape)

    for name, body in system.machine.bodies.items():
        R, origin = poses[name][:3, :3], poses[name][:3, 3]
        spin = rate(R) @ R.T
        w = (
            ca.vertcat(spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1])
            / 2
        )
        turning[name], moving[name] = w, rate(origin)
        if body.mass is None:
            continue
        J_W = R @ body.mass.about_centre @ R.T
        v = rate(origin + R @ ca.SX(body.mass.centre))
        Jv, Jw = ca.jacobian(v, v_speeds), ca.jacobian(w, v_speeds)
        m = body.mass.mass
        M += m * Jv.T @ Jv + Jw.T @ J_W @ Jw
        f -= m * Jv.T @ (rate(v) - g) + Jw.T @ (J_W @ rate(w) + ca.cross(w, J_W @ w))
    if applied is not None:
        f += ca.gradient(applied(turning, s.u, moving), v_speeds)
    if constraints is None:
        return s.function('kane', ca.solve(M, f))
    slips = constraints(poses, moving, turning)
    J, n = ca.jacobian(slips, v_speeds), slips.numel()
    bordered = ca.blockcat([[M, J.T], [J, ca.SX(n, n)]])
    found = ca.solve(bordered, ca.vertcat(f, -rate(slips)))
    return s.function('kane', found[: len(where)])
