"""Tafrishi et al.: numbers and figures of the spin-rolling sphere."""

from __future__ import annotations

from functools import partial
import math
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
from evidence.papers.row import Row, write_drawings
from matplotlib.figure import Figure
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.controllability import (
    affine_fields,
    AffineFields,
    divergence,
    lie_algebra,
    lie_bracket,
)
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation import simulate
from rolling_dynamics.spin_rolling_sphere.system import SpinRollingSphere
from rolling_dynamics.surfaces import Plane, Surface
from rolling_robotics.figures.states import COLOURS, GREY

NORMALS = ('outward', 'inward')


class InducedCurvature(NamedTuple):
    """Normal curvature, geodesic torsion and geodesic curvature of a curve on a surface [1/m]."""

    k_n: float
    tau_g: float
    k_g: float


def induced_curvature(
    surface: Surface,
    uv: ArrayLike,
    phi: float,
    phi_rate: float = 0.0,
    *,
    normal: str = 'outward',
    chart: int = 0,
) -> InducedCurvature:
    """
    Return k_n, tau_g, k_g of the curve through a point of a surface in a direction.

    Parameters
    ----------
    surface
        Any surface of the suite; its chart need not be orthogonal.
    uv
        Chart coordinates of the point.
    phi
        Angle from the contact frame's x, along increasing u, to the curve, counted about the
        normal out of the material [rad].
    phi_rate
        d phi/ds [rad/m], which Eqs. (47), (77) leave out.
    normal
        Side to which e_3 points, ``outward`` or ``inward``.
    chart
        Index of the chart.

    Raises
    ------
    SurfaceError
        The chart is degenerate there.

    """
    if normal not in NORMALS:
        raise ParameterError(f'normal must be one of {NORMALS}, got {normal!r}')
    surface.check_regular(uv, chart)
    place, p = ca.SX(np.array(uv, float)), ca.SX(surface.parameter_values)
    at = surface.geometry(place, p, chart)
    e1, e2 = np.array([[math.cos(phi), math.sin(phi)], [-math.sin(phi), math.cos(phi)]])
    scale, bend, connection = (
        np.array(ca.evalf(values)) for values in (at.scale, at.curvature, at.connection)
    )
    k_n, tau_g = e1 @ bend @ e1, e2 @ bend @ e1  # Eq. (77), lines 1 and 2
    along = np.linalg.solve(scale, e1)  # (u', v') at unit speed
    k_g = (connection @ along).item() + phi_rate  # line 3, with Liouville's term
    sign = 1 if normal == 'outward' else -1
    return InducedCurvature(sign * float(k_n), float(tau_g), sign * float(k_g))


RADIUS, V_O, PSI, THETA, PHI = 1.0, 0.4, 0.3, 0.5, 0.2
GAMMA = 0.5  # of the rolling disc [1/m]
ROUNDING = 1e-9  # of formulas that are evaluated in two ways
# figure 4: arc length [m], direction [rad], and alpha_s, beta_s, gamma_s [1/m]; beta_s < 0, for
# which the published shift is right
LENGTH, G_F = 6.0, math.radians(30)
SETS = ((0.0, -0.2, 0.0), (0.8, -0.6, 0.2), (-1.5, -1.0, -0.4))
STATE, HELD = [0.0, 0.0, 0.3, V_O, PSI], [RADIUS, THETA, PHI]


def rows() -> list[Row]:
    """Return every number that text and formulas of the paper give."""
    return [*_drift_rows(), *_controllability_rows(), *_curvature_rows()]


def stated(_: list[Row]) -> list[str]:
    """Return what was corrected and chosen."""
    sets = ', '.join(f'({", ".join(f"{v:g}" for v in inputs)})' for inputs in SETS)
    return [
        'Eq. (12) prints a sine where (10) gives a cosine: computed = with the cosine',
        f'no numbers are printed for figure 4; chosen: R = {RADIUS:g} m, G_f =',
        f'    {math.degrees(G_F):g} degrees, {LENGTH:g} m of arc length, alpha_s, beta_s,',
        f'    gamma_s = {sets} 1/m',
        f'figure 5: R = {RADIUS:g} m, drift alone, phi = 0, theta from -pi to pi',
        f'formulas are evaluated at R = {RADIUS:g} m, v_o = {V_O:g}, psi = {PSI:g},',
        f'    theta = {THETA:g}, phi = {PHI:g}',
    ]


_row = partial(Row, tolerance=ROUNDING)
_count = partial(Row, tolerance=0.0)


def fields(variant: str) -> AffineFields:
    """Return the vector fields of Eq. (14), theta and phi held."""
    return affine_fields(
        SpinRollingSphere(variant=variant, inputs='virtual_surface', representation='coordinates')
    )


def drift_of(of: AffineFields) -> ca.SX:
    """Return f of Eq. (18)."""
    return ca.SX.zeros(of.x.numel(), 1) if of.drift is None else of.drift


def value(of: AffineFields, expression: ca.SX) -> Array:
    """Return an expression at the state of the rows."""
    return np.array(of.function(expression)(STATE, HELD))


def determinant(variant: str) -> float:
    """Return the determinant of {g1, g2, g3, [f, g3], [f, [f, g3]]}."""
    f = fields(variant)
    g1, g2, g3 = (f.fields[n] for n in ('gamma_s', 'beta_s', 'alpha_s'))
    first = lie_bracket(drift_of(f), g3, f.x)
    second = lie_bracket(drift_of(f), first, f.x)
    return float(value(f, ca.det(ca.horzcat(g1, g2, g3, first, second)))[0, 0])


def _drift_rows() -> list[Row]:
    a = THETA + PHI
    corrected = fields('corrected')
    f, x = drift_of(corrected), corrected.x
    drift = value(corrected, f).ravel()
    natural = value(corrected, divergence(f, x, ca.cos(x[3])))
    plain = value(corrected, divergence(f, x))
    return [
        _row(
            'direction of the drift, Fig. 5',
            45.0,
            math.degrees(math.atan2(drift[1], drift[0])),
            unit='deg',
            expected=math.degrees(a),
        ),
        _row(
            'speed of the drift per arc length',
            math.sqrt(2) * abs(math.sin(a)),
            math.hypot(*drift[:2]),
            expected=1.0,
        ),
        _row(
            'divergence of the drift, (19)',
            math.sin(a) * (math.sin(PSI) + math.cos(PSI)) * math.tan(V_O) / RADIUS,
            plain[0, 0],
            unit='1/m',
            expected=math.sin(a + PSI) * math.tan(V_O) / RADIUS,
        ),
        _row('the same in the volume cos v_o', 0.0, natural[0, 0], unit='1/m'),
    ]


def _controllability_rows() -> list[Row]:
    a = THETA + PHI
    printed = (
        2
        * math.sin(V_O)
        / math.cos(V_O) ** 2
        * math.cos(PHI)
        * abs(math.sin(a) ** 3 * (math.sin(a) + math.cos(a)))
    )
    right = math.sin(V_O) * math.cos(PHI) / (RADIUS * math.cos(V_O) ** 2)
    by_rank = lie_algebra(fields('corrected'), depth=3)
    return [
        _row('determinant (33), size', printed, abs(determinant('corrected')), expected=right),
        _row('the same, published model', printed, abs(determinant('as_published'))),
        _count('rank of the Lie algebra', 5, by_rank.rank(STATE, HELD)),
        _count(
            'rank at v_o = 0, where (33) vanishes',
            4,
            by_rank.rank([0, 0, 0.3, 0.0, PSI], HELD),
            expected=5,
        ),
        _count(
            'rank at theta + phi = 0, where (33) vanishes',
            4,
            by_rank.rank(STATE, [RADIUS, -PHI, PHI]),
            expected=5,
        ),
        _count('rank without beta_s, (34)', 4, _rank_without('corrected', 'beta_s')),
        *(
            # Proposition 2: all three are needed, "in particular gamma_s and beta_s"
            _count(
                f'rank without {name}, {words} model (Prop. 2: below)',
                4,
                _rank_without(variant, name),
                expected=5,
            )
            for name in ('gamma_s', 'alpha_s')
            for variant, words in (('corrected', 'corrected'), ('as_published', 'published'))
        ),
        _count(
            'independent inputs of the transformed model', 5, _independent_inputs(), expected=3
        ),
    ]


def _rank_without(variant: str, name: str) -> int:
    """Return the rank of the Lie algebra at a general state without one of the inputs."""
    return max(lie_algebra(fields(variant).without(name), depth=5).generic_growth)


def _independent_inputs() -> int:
    """Return the rank of alpha_s, beta_s, gamma_s, G_f, delta in the rates of the state."""
    system = SpinRollingSphere(
        inputs='direction', independent_variable='time', representation='coordinates'
    )
    x, u, t, p = system.symbols
    slope = ca.Function('slope', [x, u, p], [ca.jacobian(system.mode.dynamics(x, u, t, p), u)])
    matrix = np.array(slope(STATE, [0.3, 0.4, 0.2, 0.5, 0.7], [RADIUS]))
    return int(np.linalg.matrix_rank(matrix, tol=1e-9))


def _disc_rate() -> float:
    """Return the rate at which the model turns a disc that rolls along x, per arc length [1/m]."""
    system = SpinRollingSphere(inputs='virtual_surface')
    x, u, _, p = system.symbols
    rate = ca.Function('rate', [x, u, p], [system.angular_velocity])
    inputs = system.control.pack(alpha_s=0, beta_s=0, gamma_s=GAMMA, theta=0, phi=0)
    upright = system.state.pack(contact_s=[0, 0], q_SO=[1, 0, 0, 0])
    return float(rate(upright, inputs, [RADIUS])[1])


def _curvature_rows() -> list[Row]:
    circle = induced_curvature(Plane(), [RADIUS, 0.0], math.pi / 2, 1 / RADIUS)
    return [
        _row(
            'geodesic curvature of a circle in the plane, (77)',
            0.0,
            circle.k_g,
            unit='1/m',
            expected=1 / RADIUS,
        ),
        _row(
            f'normal rate of a disc, (6), gamma_s = {GAMMA:g}',
            1 / RADIUS + GAMMA,
            _disc_rate(),
            unit='1/m',
            expected=1 / RADIUS - GAMMA,
        ),
    ]


VARIANT_TITLES = {'as_published': 'as published', 'corrected': 'corrected'}
THETAS = np.linspace(-math.pi, math.pi, 241)


def figures(folder: Path) -> list[Path]:
    """Draw figures 4 and 5, as published and corrected, and return the files."""
    return write_drawings(folder, 'tafrishi', {'figure_4': figure_4, 'figure_5': figure_5})


def figure_4() -> Figure:
    """Return figure 4: a direction on the plane by several inputs, and the paths on the sphere."""
    figure = Figure(figsize=(9.0, 7.6), layout='constrained')
    for column, (variant, title) in enumerate(VARIANT_TITLES.items()):
        plane = figure.add_subplot(2, 2, 1 + column)
        sphere = figure.add_subplot(2, 2, 3 + column, projection='3d')
        _wire(sphere)
        for colour, inputs in zip(COLOURS, SETS, strict=False):
            points, normals = _roll(variant, inputs)
            words = ', '.join(f'{v:g}' for v in inputs)
            plane.plot(*points.T, color=colour, label=rf'$\alpha,\beta,\gamma$ = {words}')
            plane.plot(*points[-1], 'o', color=colour, markersize=5)
            sphere.plot(*normals.T, color=colour)
        end = LENGTH * np.array([math.cos(G_F), math.sin(G_F)])
        plane.plot([0, end[0]], [0, end[1]], '--', color=GREY, linewidth=1, zorder=0)
        plane.set(title=f'plane, {title}', xlabel=r'$u_s$ [m]', ylabel=r'$v_s$ [m]')
        plane.set_aspect('equal', adjustable='datalim')
        plane.legend(loc='upper left')
        sphere.set_title(f'sphere, {title}')
    figure.suptitle(r'Figure 4: $G_f$ = 30 deg for 6 m of arc length; inputs chosen, not printed')
    return figure


def _roll(variant: str, inputs: tuple[float, float, float]) -> tuple[Array, Array]:
    """Return the contact on the plane [m] and on the unit sphere along the arc length."""
    system = SpinRollingSphere(inputs='direction', variant=variant)
    x0 = system.state.pack(contact_s=[0, 0], q_SO=[1, 0, 0, 0])
    run = simulate(
        system,
        [RADIUS],
        x0,
        np.r_[inputs, G_F],
        LENGTH,
        t_eval=np.linspace(0, LENGTH, 301),
        rtol=1e-9,
        atol=1e-10,
    )
    normals = np.array([-np.array(system.attitude(x))[2] for x in run.states])
    return run.states[:, :2], normals


def _wire(axes: Any) -> None:  # noqa: ANN401 (axes in space have no types)
    """Draw the sphere as lines."""
    u, v = np.mgrid[-math.pi : math.pi : 25j, -math.pi / 2 : math.pi / 2 : 13j]
    axes.plot_wireframe(
        -np.sin(u) * np.cos(v),
        np.sin(v),
        -np.cos(u) * np.cos(v),
        color=GREY,
        linewidth=0.4,
        alpha=0.5,
    )
    axes.set_box_aspect((1, 1, 1))
    axes.set(
        xlabel='x', ylabel='y', zlabel='z', xticks=[-1, 0, 1], yticks=[-1, 0, 1], zticks=[-1, 0, 1]
    )


def figure_5() -> Figure:
    """Return figure 5: the drift on the plane for all theta: its components, its direction."""
    figure = Figure(figsize=(9.0, 6.4), layout='constrained')
    for column, (variant, title) in enumerate(VARIANT_TITLES.items()):
        velocity = np.array([_drift(variant, theta) for theta in THETAS])
        parts, arrows = (figure.add_subplot(2, 2, k + column) for k in (1, 3))
        degrees = np.degrees(THETAS)
        parts.plot(degrees, velocity[:, 0], color=COLOURS[0], label=r"$u_s'$")
        parts.plot(degrees, velocity[:, 1], '--', color=COLOURS[1], label=r"$v_s'$")
        speed = np.hypot(*velocity.T)
        parts.plot(degrees, speed, color=GREY, linewidth=1, label='speed')
        parts.set(
            title=f'drift, {title}',
            xlabel=r'$\theta$ [deg], $\phi = 0$',
            xticks=range(-180, 181, 90),
            ylim=(-1.9, 1.6),
        )
        parts.legend(loc='lower center', ncols=3)
        arrows.plot(*velocity.T, color=COLOURS[2])
        arrows.set(
            title=f"$(u_s', v_s')$ for all theta, {title}",
            xlabel=r"$u_s'$",
            ylabel=r"$v_s'$",
            xlim=(-1.6, 1.6),
            ylim=(-1.6, 1.6),
        )
        arrows.set_aspect('equal')
    figure.suptitle('Figure 5: the drift is always along 45 deg only with the printed sine')
    return figure


def _drift(variant: str, theta: float) -> Array:
    """Return the velocity of the contact on the plane per arc length without inputs."""
    system = SpinRollingSphere(inputs='virtual_surface', variant=variant)
    x = system.state.pack(contact_s=[0, 0], q_SO=[1, 0, 0, 0])
    return np.array(system.mode.dynamics(x, [0, 0, 0, theta, 0], 0, [RADIUS])).ravel()[:2]
