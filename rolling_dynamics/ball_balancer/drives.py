"""Mechanisms between servos and a plate that they tilt."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from rolling_dynamics.contract.rolling_system import Entry, Layout

Parameters = Mapping[str, ca.SX]


class Gimbal:
    """Two axes: the outer one along y, the inner one along -x, both through the origin of W."""

    servos, parameters = 2, Layout(())

    def pose(self, angles: ca.SX, p: Parameters) -> tuple[ca.SX, ca.SX]:
        """Return R_WH and the origin of the surface."""
        R = tilted(angles)
        return R, p['surface_height'] * R[:, 2]

    def servo_angles(self, tilt: ca.SX, p: Parameters) -> ca.SX:  # noqa: ARG002
        """Return the tilts: each servo turns an axis."""
        return tilt


class Legs:
    """
    Three servos whose arms carry the plate by ball joints, each in a groove towards its middle.

    The arms turn in vertical planes at 0, 120 and 240 degrees from x; at angle zero they point
    outwards and are level. The plane of the joints is that of the plate. Its middle is the point
    from which they are seen 120 degrees apart, the Fermat point of their triangle.
    """

    servos = 3
    parameters = Layout(
        (
            Entry('axle_radius', ('axle_radius',), 'm', text='of the servos about the middle'),
            Entry('arm_length', ('arm_length',), 'm', text='from axle to ball joint'),
        )
    )

    def pose(self, angles: ca.SX, p: Parameters) -> tuple[ca.SX, ca.SX]:
        """Return R_WH and the origin of the surface."""
        reach = p['axle_radius'] + p['arm_length'] * ca.cos(angles)
        rise = p['arm_length'] * ca.sin(angles)
        joints = [ca.vertcat(reach[k] * _outwards(k), rise[k]) for k in range(3)]
        across = ca.cross(joints[1] - joints[0], joints[2] - joints[0])
        double_area = ca.norm_2(across)
        weights = _fermat_weights(joints, double_area)
        middle = sum(w * joint for w, joint in zip(weights, joints, strict=True)) / sum(weights)
        z = across / double_area
        x = (joints[0] - middle) / ca.norm_2(joints[0] - middle)
        return ca.horzcat(x, ca.cross(z, x), z), middle + p['surface_height'] * z

    def servo_angles(self, tilt: ca.SX, p: Parameters) -> ca.SX:
        """Return where each joint's circle meets a plane through the middle of the axles."""
        n = tilted(tilt)[:, 2]
        out = []
        for k in range(3):
            radial = ca.dot(n[:2], _outwards(k))
            to_go = -radial * p['axle_radius'] / p['arm_length']
            size = ca.sqrt(radial**2 + n[2] ** 2)
            out.append(ca.atan2(n[2], radial) - ca.acos(to_go / size))
        return ca.vertcat(*out)


def tilted(tilt: ca.SX) -> ca.SX:
    """Return R of a turn about y and then about the turned -x."""
    c, s = ca.cos(tilt[0]), ca.sin(tilt[0])
    outer = ca.vertcat(ca.horzcat(c, 0, s), ca.horzcat(0, 1, 0), ca.horzcat(-s, 0, c))
    c, s = ca.cos(tilt[1]), ca.sin(tilt[1])
    inner = ca.vertcat(ca.horzcat(1, 0, 0), ca.horzcat(0, c, s), ca.horzcat(0, -s, c))
    return outer @ inner


def _outwards(leg: int) -> ca.SX:
    angle = leg * 2 * ca.pi / 3
    return ca.vertcat(ca.cos(angle), ca.sin(angle))


def _fermat_weights(joints: list[ca.SX], double_area: ca.SX) -> list[ca.SX]:
    """Return the barycentric coordinates of the Fermat point, X(13) of Kimberling."""
    sides = [ca.sumsqr(joints[(k + 1) % 3] - joints[(k + 2) % 3]) for k in range(3)]
    out = []
    for k in range(3):
        a, b, c = sides[k], sides[(k + 1) % 3], sides[(k + 2) % 3]
        out.append(a**2 - 2 * (b - c) ** 2 + a * (b + c + 2 * ca.sqrt(3) * double_area))
    return out


Drive = Gimbal | Legs
DRIVES: Mapping[str, type[Drive]] = {'gimbal': Gimbal, 'legs': Legs}
