"""Robot view of a rolling body with internal masses, in all modes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.masses import Box, rail_masses, RailMass
from rolling_dynamics.internal_masses.system import MassDrivenSystem
from rolling_dynamics.robots.view import (
    AllModes,
    Ball,
    Block,
    Curve,
    Disk,
    Floor,
    general_view,
    Link,
    RobotView,
    Shape,
    tangent_columns,
)
from rolling_dynamics.rotations import homogeneous


def all_modes(
    system: MassDrivenSystem,
    view: RobotView,
    p: ArrayLike,
    make: Callable[[MassDrivenSystem], RobotView],
    *,
    sliding: bool,
) -> AllModes:
    """
    Return the motion of a robot through rolling, sliding and flight.

    Parameters
    ----------
    system, view
        The robot: one that only rolls, or a unilateral one, with one state for all modes.
    p
        Its parameters, and the unilateral system's.
    make
        Returns the view of the unilateral system.
    sliding
        Whether the motion continues after slip starts.

    Raises
    ------
    ParameterError
        The state holds coordinates along a path, which a ball in flight does not have.

    """
    if system.unilateral:
        body = system if sliding else system.ending_at_slip
        return AllModes(body, view, lambda x: x, lambda x: x)
    if 'path' in system.state:
        raise ParameterError(
            f'a {system.name} with coordinates along a path can only roll: leave out the entry '
            "'path' of the scenario to have it slide and fly"
        )
    body = system.freed()
    values, s = np.asarray(p, dtype=float), view.symbols
    centre = ca.Function('centre', [s.x, s.p], [view.centre, view.velocity])

    def lift(x: Array) -> Array:
        place, velocity = (np.array(a).reshape(-1)[list(body.plane)] for a in centre(x, values))
        kept = {n: v for n, v in system.state.unpack(x).items() if n != 'p'}
        return body.state.pack(**kept, p_WB=place, v_WB_W=velocity)

    def project(x: Array) -> Array:
        held = body.state.unpack(x)
        known = {n: held[n] for n in held if n in system.state}
        return system.state.pack(**known, p=held['p_WB'][:-1])

    return AllModes(body if sliding else body.ending_at_slip, make(body), lift, project)


DISK_SHARE = 0.04  # thickness of a disk, of its radius
MASS_SHARE = 0.06  # radius of the heaviest mass that is drawn, of the shell's


def view(system: MassDrivenSystem, p: ArrayLike) -> RobotView:
    """Return the view of a ball or a disk with parameters p."""
    values, s = np.asarray(p, dtype=float), system.symbols
    general, bodies = general_view(system, p, s), system.machine.links
    rates = s.values.get('theta_rate', ca.SX(0, 1))
    driven = [k for k, m in enumerate(rail_masses(system.masses)) if m.drive is None]
    shift, turn = _perturbations(system)
    on_rails = [n for n, m in enumerate(system.masses, 1) if isinstance(m, RailMass)]
    made = replace(
        general,
        on_floor=True,
        velocity=system.velocity_W,  # also in flight
        links=[Link(f'{n}_link', homogeneous(b.R_WB, b.p_WB)) for n, b in bodies.items()],
        joints={f'mass_{n}_joint': s.values['theta'][k] for k, n in enumerate(on_rails)},
        safe_control=-rates[driven] / general.symbols.brake_time,
        holds_at=frozenset(),
        shift=shift,
        turn=turn,
        shapes=_shapes(system, general.radius),
    )
    return replace(
        made,
        all_modes=lambda sliding: all_modes(
            system, made, values, lambda body: view(body, values), sliding=sliding
        ),
    )


def _perturbations(system: MassDrivenSystem) -> tuple[Array, Array]:
    """Return the entries that shift the robot on the floor and that turn it about its own axes."""
    place = next(n for n in ('p_WB', 'p', 'path') if n in system.state)
    along = system.plane if system.unilateral else system.plane[:-1]
    shift = tangent_columns(system, place, along, 3)[:, :2]
    if system.axis is None:
        return shift, tangent_columns(system, 'd_WB', range(3), 3)
    return shift, tangent_columns(system, 'phi', [0], 1) @ np.array([system.axis])


def _block(box: Box, longest: float) -> Block:
    """Return an obstacle; one that is unbounded along y is drawn as long as the floor."""
    (x0, x1), (y0, y1) = box.x, (max(min(y, longest / 2), -longest / 2) for y in box.y)
    return Block(
        name='obstacle',
        link='odom',
        centre=((x0 + x1) / 2, (y0 + y1) / 2, box.height / 2),
        sides=(x1 - x0, y1 - y0, box.height),
    )


def _shapes(system: MassDrivenSystem, radius: float) -> list[Shape]:
    shell: Shape = Ball(name='shell', link='shell_link', radius=radius)
    if system.planar:
        shell = Disk(
            name='shell',
            link='shell_link',
            radius=radius,
            thickness=DISK_SHARE * radius,
            axis=(0.0, 1.0, 0.0),
        )
    side = 20 * radius
    out = [shell, Floor(name='floor', link='odom', side=side)]
    out += [_block(box, side) for box in system.obstacles]
    heaviest = max((m.mass for m in system.masses), default=0.0)
    for k, m in enumerate(system.masses, 1):
        size = MASS_SHARE * radius * (m.mass / heaviest) ** (1 / 3) if heaviest else 0.0
        size = system.mass_size / 2 or size or MASS_SHARE * radius
        out.append(Ball(name='mass', link=f'mass_{k}_link', radius=size))
        if isinstance(m, RailMass):
            points = m.rail.sample(100)
            out.append(Curve(name='rail', link='shell_link', points=points, width=0.01 * radius))
    return out
