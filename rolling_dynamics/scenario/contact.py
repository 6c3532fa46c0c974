"""The scenario of a contact system: an object that rolls on a moving hand."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contact.layouts import FAR, GRAVITY
from rolling_dynamics.contact.touch import closest_points, Touch
from rolling_dynamics.errors import ScenarioError, SurfaceError
from rolling_dynamics.scenario.attitude import read_attitude
from rolling_dynamics.scenario.contact_velocity import read_relative_velocity
from rolling_dynamics.scenario.hand_motion import HandStart, read_hand_motion, read_hand_start
from rolling_dynamics.scenario.placement import (
    placed_at,
    placed_by_attitude,
    placed_by_coordinates,
    Placement,
)
from rolling_dynamics.scenario.registry import ScenarioReader
from rolling_dynamics.scenario.scenario import (
    read_events,
    read_output_times,
    read_tolerances,
    Scenario,
)
from rolling_dynamics.scenario.section import located, Section
from rolling_dynamics.scenario.surface_section import read_edges, read_inertia, read_surface
from rolling_dynamics.scenario.validation import check, load_schema
from rolling_dynamics.surfaces.atlas import best_chart, contact_frame, locate_on_chart, POLE
from rolling_dynamics.surfaces.surface import Surface
from transforms3d.quaternions import qconjugate, qmult, quat2mat

TOUCH = 1e-6  # m, a gap below which bodies touch
DEFAULT_EVENTS = {'friction': 'record', 'spin': 'record'}  # the others stop the simulation
CONTACT_ENTRIES = ('u_o', 'v_o', 'psi')


def contact_schema() -> dict[str, Any]:
    """Return the schema of a scenario with ``system: contact``."""
    return load_schema('rolling_dynamics.scenario', 'common', 'contact')


@np.errstate(all='ignore')  # what overflows is refused by its path, not warned of
def read_contact(document: dict[str, Any], name: str) -> Scenario:
    """Return the scenario of a plain document with ``system: contact``."""
    check(document, contact_schema())
    top = Section(document)
    system, p = _system(top)
    duration = top.number('duration')
    motion = read_hand_motion(top, duration)
    hand = read_hand_start(top.section('initial'), motion)
    placement = _placement(top, system, hand)
    system = _off_pole(system, placement)
    x0 = _state(top, system, hand, placement)
    _check_contact(top, system, p, x0)
    return Scenario(
        name=document.get('name', name),
        description=document.get('description', ''),
        system=system,
        p=p,
        x0=x0,
        control=motion.control(system.state, system.control),
        duration=duration,
        output_times=read_output_times(top, duration),
        events=read_events(top, system.mode.guards, DEFAULT_EVENTS),
        control_limits=_control_limits(top, system),
        tolerances=read_tolerances(top),
        raw=document,
    )


def _friction(top: Section) -> dict[str, float]:
    """Return the coefficients of friction; pure rolling has no default for that of spin."""
    section = top.section('friction')
    if section.get('model') == 'pure_rolling' and 'mu_spin' not in section:
        raise section.fail(
            'mu_spin',
            'is missing (coefficient of spin friction [m]): pure rolling holds only as '
            'far as it reaches',
        )
    return {'mu': section.number('mu', 1.0), 'mu_spin': section.number('mu_spin', 0.0)}


def _system(top: Section) -> tuple[ContactSystem, NDArray[np.float64]]:
    """Return the system and its parameters."""
    body, hand, friction = top.section('object'), top.section('hand'), top.section('friction')
    edges = hand.section('edges')
    object_surface, hand_surface = read_surface(body), read_surface(hand, edges)
    has_support = object_surface.support is not None and object_surface.side == 'outside'
    representation = top.get('representation', 'attitude' if has_support else 'coordinates')
    if representation == 'attitude' and not has_support:
        raise top.fail(
            'representation',
            "'attitude' needs an object with a support function, touched from "
            f"outside; use 'coordinates' for this {object_surface.name}",
        )
    system = ContactSystem(
        object_surface,
        hand_surface,
        friction=friction.get('model', 'rolling'),
        representation=representation,
    )
    gravity_W, coefficients = read_gravity(top), _friction(top)
    with located(body.at('inertia')):
        p = system.pack_parameters(
            mass=body.number('mass'),
            inertia=read_inertia(body, object_surface),
            gravity_W=gravity_W,
            **coefficients,
        )
    if edges.values:
        p[system.parameters.slice('hand_edges')] = np.clip(read_edges(edges), -FAR, FAR)
    return system, p


def read_gravity(top: Section) -> NDArray[np.float64]:
    """Return gravity in the world [m/s^2]: a vector, or a magnitude and a tilt."""
    if isinstance(top.get('gravity'), list):
        return top.numbers('gravity')
    section = top.section('gravity')
    tilt, azimuth = section.number('tilt', 0.0), section.number('azimuth', 0.0)
    direction = [
        np.sin(tilt) * np.cos(azimuth),
        np.sin(tilt) * np.sin(azimuth),
        -np.cos(tilt),
    ]
    return section.number('magnitude', GRAVITY) * np.array(direction)


def _placement(top: Section, system: ContactSystem, hand: HandStart) -> Placement:
    """Return where the bodies touch at the start."""
    initial = top.section('initial')
    given = [key for key in ('contact', 'object') if key in initial]
    if len(given) != 1:
        got = ' and '.join(given) or 'neither'
        raise ScenarioError(
            f'initial: exactly one of contact (coordinates) and object (pose) is needed, got {got}'
        )
    section = initial.section(given[0])
    with located(section.path):
        return _PLACERS[given[0]](section, system, hand)


def _off_pole(system: ContactSystem, placement: Placement) -> ContactSystem:
    """Return the system on a chart of the hand that is regular at the start."""
    surface, uv = system.hand_surface, placement.contact_h
    if len(surface.charts) == 1 or surface.regularity(uv) > POLE:
        return system
    chart = best_chart(surface, surface.point(uv))
    name = system.representation.name
    return system.with_representation(name, object_chart=system.object_chart, hand_chart=chart)


def _from_contact(section: Section, system: ContactSystem, _: HandStart) -> Placement:
    contact_h = np.array([section.number('u_h'), section.number('v_h')])
    bodies = system.object_surface, system.hand_surface
    if 'attitude' not in section:
        missing = [k for k in ('u_o', 'v_o') if k not in section]
        if missing:
            raise section.fail(missing[0], 'is missing (or give the attitude of the object)')
        contact_o = np.array([section.number('u_o'), section.number('v_o')])
        return placed_by_coordinates(*bodies, contact_o, contact_h, section.number('psi', 0.0))
    clash = [k for k in CONTACT_ENTRIES if k in section]
    if clash:
        raise section.fail(clash[0], 'follows from the attitude; leave one of the two out')
    _needs_support(section, 'attitude', system)
    return placed_by_attitude(*bodies, read_attitude(section, 'attitude'), contact_h)


def _from_pose(section: Section, system: ContactSystem, hand: HandStart) -> Placement:
    R_WH = quat2mat(hand.q_WH)
    q_HO = qmult(qconjugate(hand.q_WH), read_attitude(section, 'attitude'))
    p_HO = R_WH.T @ (section.numbers('position') - hand.p_WH)
    bodies = system.object_surface, system.hand_surface
    touch = _touch(*bodies, quat2mat(q_HO), p_HO)
    if abs(touch.gap) > TOUCH:
        shift = -touch.gap * (R_WH @ touch.frame_H[:, 2])
        what = 'does not touch the hand, the gap is' if touch.gap > 0 else 'cuts into the hand by'
        at = ', '.join(f'{v:.9g}' for v in section.numbers('position') + shift)
        raise section.fail(
            'position', f'the object {what} {abs(touch.gap):.6g} m; it touches at [{at}]'
        )
    if np.all(np.isfinite(touch.contact_o)):
        return placed_at(*bodies, q_HO, touch.contact_h, touch.contact_o)
    return placed_by_attitude(*bodies, q_HO, touch.contact_h)  # found by the support function


def _touch(
    object_surface: Surface,
    hand_surface: Surface,
    R_HO: NDArray[np.float64],
    p_HO: NDArray[np.float64],
) -> Touch:
    """Return where the bodies touch, in the first chart of the hand, at its poles too."""
    found: list[Touch] = []
    failed: SurfaceError | None = None
    for chart in range(len(hand_surface.charts)):
        try:
            touch = closest_points(object_surface, hand_surface, R_HO, p_HO, hand_chart=chart)
        except SurfaceError as e:
            failed = failed or e
            continue
        if chart:
            contact_h = locate_on_chart(hand_surface, touch.p_HC_h, 0)
            touch = touch._replace(contact_h=contact_h)
        found.append(touch)
        if abs(touch.gap) <= TOUCH:
            break
    if not found:
        raise failed or SurfaceError(f'{hand_surface.name}: no chart')
    return min(found, key=lambda t: abs(t.gap))


_PLACERS = {'contact': _from_contact, 'object': _from_pose}


def _needs_support(section: Section, key: str, system: ContactSystem) -> None:
    surface = system.object_surface
    if surface.support is None or surface.side != 'outside':
        raise section.fail(
            key,
            f'does not tell where this {surface.name} touches (it has no support function); '
            'give initial.contact with u_o, v_o, u_h, v_h, psi',
        )


def _state(
    top: Section, system: ContactSystem, hand: HandStart, placement: Placement
) -> NDArray[np.float64]:
    """Return x0."""
    initial = top.section('initial')
    w_HO_H = read_relative_velocity(initial.section('relative_velocity'), system, hand, placement)
    values = {
        'q_WH': hand.q_WH,
        'p_WH': hand.p_WH,
        'w_WH_H': hand.w_WH_H,
        'v_WH_H': hand.v_WH_H,
        'q_HO': placement.q_HO,
        'contact_h': placement.contact_h,
        'w_HO_H': w_HO_H.in_H,
        'w_HO_Ch': w_HO_H.in_Ch,
    }
    if system.representation.name == 'coordinates':
        if placement.contact_o is None:
            raise initial.fail(
                'contact' if 'contact' in initial else 'object',
                'the object touches at a pole of its chart, where coordinates do not exist; '
                "choose another `pole` of its surface, or the representation 'attitude'",
            )
        values |= {'contact_o': placement.contact_o, 'psi': np.array([placement.psi])}
    if system.hand_chart:
        values |= _on_chart(system, placement, w_HO_H.in_H)
    return system.state.pack(**{e.name: values[e.name] for e in system.state.entries})


def _on_chart(
    system: ContactSystem, placement: Placement, w_HO_H: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return what of a state depends on the chart of the hand, on that of the system."""
    surface, chart = system.hand_surface, system.hand_chart
    contact_h = locate_on_chart(surface, surface.point(placement.contact_h), chart)
    R_HCh = np.array(surface.numeric(chart)(contact_h, surface.parameter_values)[1])
    values = {'contact_h': contact_h, 'w_HO_Ch': R_HCh.T @ w_HO_H}
    if placement.contact_o is not None:
        R_OCo = contact_frame(system.object_surface, placement.contact_o)
        R = R_HCh.T @ quat2mat(placement.q_HO) @ R_OCo
        values['psi'] = np.array([np.arctan2(-R[0, 1], R[0, 0])])
    return values


def _check_contact(
    top: Section, system: ContactSystem, p: NDArray[np.float64], x0: NDArray[np.float64]
) -> None:
    """Refuse a start off the hand, bodies that touch in a line, and bodies that cut each other."""
    initial = top.section('initial')
    key = 'contact' if 'contact' in initial else 'object'
    u = np.zeros(system.control.size)
    guard = {n: float(g(x0, u, 0, p)) for n, g in system.mode.guards.items()}
    point = x0[system.state.slice('contact_h')]
    edges = p[system.parameters.slice('hand_edges')]
    if guard['edge'] < 0:
        raise initial.fail(
            key,
            f'(u_h, v_h) = ({point[0]:g}, {point[1]:g}) lies off the hand, whose edges are u '
            f'{edges[0]:g} to {edges[1]:g}, v {edges[2]:g} to {edges[3]:g}',
        )
    least = guard['relative_curvature']
    if not least > 1e-9 * _curvature_scale(system, p, x0):
        what = 'touch in a line or an area' if least > -1e-9 else 'cut into each other'
        raise top.fail(
            'object.surface',
            f'object and hand {what} at the start: the least relative curvature '
            f'is {least:.6g} 1/m; it must be positive: the object must be rounder than the '
            'hand is hollow, in every direction',
        )


def _curvature_scale(
    system: ContactSystem, p: NDArray[np.float64], x0: NDArray[np.float64]
) -> float:
    e = system.expressions
    f = ca.Function('curvature', [e.x, e.p], [e.state.relative_curvature])
    return float(np.abs(np.array(f(x0, p))).max())


def _control_limits(top: Section, system: ContactSystem) -> NDArray[np.float64]:
    section = top.section('limits')
    parts = [
        np.broadcast_to(section.numbers(e.name, np.inf), (e.size,)) for e in system.control.entries
    ]
    return np.concatenate(parts)


READER = ScenarioReader(schema=contact_schema, read=read_contact)
