"""Shipped machines in general motion against Kane's equations, with contacts as multipliers."""

import casadi as ca
from kane_oracle import rates_by_kane
import numpy as np
import pytest
from rolling_dynamics.scenario import load_scenario

BALL, PRESS = 0.05, 5.0  # m, N: the ball between plates
TIP, CYLINDER, STIFFNESS = 0.015, 0.04, 2000.0  # m, m, N/m: fingertips


def passes_on(poses, moving, turning, name, place):
    """Return the velocity in W of a body's point that is at a place."""
    return moving[name] + ca.cross(turning[name], place - poses[name][:3, 3])


def wheels_roll(poses, moving, turning):
    """Return the velocities of the lowest points of the bicycle's wheels."""
    rows = []
    for name, radius in (('rear', 0.3), ('front', 0.35)):
        centre, axis = poses[name][:3, 3], poses[name][:3, 1]
        down = ca.vertcat(0, 0, -1) + axis * axis[2]
        lowest = centre + radius * down / ca.norm_2(down)
        rows.append(passes_on(poses, moving, turning, name, lowest))
    return ca.vertcat(*rows)


def steered(poses):
    fork = poses['fork'][:3, :3] @ ca.DM([-np.sin(np.pi / 10), 0, np.cos(np.pi / 10)])
    return lambda turning, u, _moving: u * ca.dot(fork, turning['fork'] - turning['frame'])


def driven(poses):
    """Motors about y of the shell and x of the yoke."""
    y, x = poses['shell'][:3, 1], poses['yoke'][:3, 0]

    def power(turning, u, _moving):
        axle = ca.dot(y, turning['yoke'] - turning['shell'])
        return u[0] * axle + u[1] * ca.dot(x, turning['pendulum'] - turning['yoke'])

    return power


def at_upper(poses):
    """Return the free side of the upper plate, and the point of the ball on it."""
    normal = poses['upper'][:3, 2]
    return normal, poses['ball'][:3, 3] - BALL * normal


def rolls_above(poses, moving, turning):
    _normal, place = at_upper(poses)
    slip = passes_on(poses, moving, turning, 'ball', place)
    slip -= moving['upper'] + ca.cross(turning['upper'], place - poses['upper'][:3, 3])
    return poses['upper'][:3, :2].T @ slip


def pressed(poses):
    normal, place = at_upper(poses)

    def power(turning, _u, moving):
        return PRESS * ca.dot(normal, passes_on(poses, moving, turning, 'ball', place))

    return power


def on_cylinder(poses, tip):
    """Return the outward normal at the point of a tip that is nearest to the axis, and it."""
    axis, centre = poses['cylinder'][:3, 2], poses[tip][:3, 3]
    away = centre - poses['cylinder'][:3, 3]
    away -= axis * ca.dot(axis, away)
    normal = away / ca.norm_2(away)
    return normal, centre - TIP * normal, ca.norm_2(away) - TIP - CYLINDER


def tips(poses):
    return [name for name in poses if name not in ('cylinder', 'contact')]


def tips_roll(poses, moving, turning):
    rows, axis = [], poses['cylinder'][:3, 2]
    for tip in tips(poses):
        normal, place, _ = on_cylinder(poses, tip)
        slip = passes_on(poses, moving, turning, tip, place)
        slip -= passes_on(poses, moving, turning, 'cylinder', place)
        rows += [ca.dot(axis, slip), ca.dot(ca.cross(normal, axis), slip)]
    return ca.vertcat(*rows)


def squeezed(poses):
    def power(turning, _u, moving):
        total = 0
        for tip in tips(poses):
            normal, place, gap = on_cylinder(poses, tip)
            moved = passes_on(poses, moving, turning, 'cylinder', place)
            total += STIFFNESS * gap * ca.dot(normal, moved)
        return total

    return power


@pytest.mark.parametrize(
    ('name', 'forces', 'constraints'),
    [
        ('bicycle', steered, wheels_roll),
        ('driven_shell', driven, None),
        ('ball_between_plates', pressed, rolls_above),
        ('two_fingertips', squeezed, tips_roll),
        ('three_fingertips', squeezed, tips_roll),
    ],
)
def test_machine_moves_as_by_kane(name, forces, constraints):
    scenario = load_scenario(name)
    system, p, s = scenario.system, scenario.p, scenario.system.symbols
    poses = dict(zip(system.pose.name_out(), system.pose.call([s.x, s.p]), strict=True))
    own = [k for n in system.speed_names for k in range(system.state.size)[system.state.slice(n)]]
    kane = rates_by_kane(system, system.speed_names, forces(poses), constraints)
    rng = np.random.default_rng(5)
    for _ in range(5):
        x = system.retract(scenario.x0, rng.normal(size=system.tangent.size) * 0.1)
        for _ in range(2):  # what one leaves of gaps from so far would come back
            x = x if system.projection is None else system.projection(x, p)
        x = np.array(x).ravel()
        u = rng.normal(size=system.control.size)
        expected = np.array(kane(x, u, 0, p)).ravel()
        found = np.array(system.mode.dynamics(x, u, 0, p)).ravel()[own]
        np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())
