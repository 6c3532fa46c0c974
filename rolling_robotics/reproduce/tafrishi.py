"""
What Tafrishi et al. print of the spin-rolling sphere, beside what is computed here.

The paper prints formulas and two figures, hardly a number. The rows compare the numbers that its
text and formulas give with those of the corrected model; the inputs of figure 4 are not printed.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.control_affine import affine_fields, AffineFields
from rolling_dynamics.controllability import divergence, lie_algebra, lie_bracket
from rolling_dynamics.spin_rolling_sphere import induced_curvature, SpinRollingSphere
from rolling_dynamics.surfaces import Plane

SUMMARY = 'spin-rolling sphere: Darboux-frame kinematics and controllability (Tafrishi et al.)'
STATED = (
    'Eq. (12) prints a sine where (10) gives a cosine: printed = the paper, computed = corrected',
    'no numbers are printed for figure 4; chosen: R = 1 m, G_f = 30 degrees, 6 m of arc length,',
    '    alpha_s, beta_s, gamma_s = (0, -0.2, 0), (0.8, -0.6, 0.2), (-1.5, -1, -0.4) 1/m',
    'figure 5: R = 1 m, drift alone, phi = 0, theta from -pi to pi',
    'formulas are evaluated at R = 1 m, v_o = 0.4, psi = 0.3, theta = 0.5, phi = 0.2',
)
RADIUS, V_O, PSI, THETA, PHI = 1.0, 0.4, 0.3, 0.5, 0.2
STATE, HELD = [0.0, 0.0, 0.3, V_O, PSI], [RADIUS, THETA, PHI]
VARIANTS = ('as_published', 'corrected')


def rows() -> list[dict[str, Any]]:
    """Return name, printed, computed, unit."""
    return [*_drift_rows(), *_controllability_rows(), *_curvature_rows()]


def _row(name: str, printed: float, computed: float, unit: str) -> dict[str, Any]:
    return {'name': name, 'printed': float(printed), 'computed': float(computed), 'unit': unit}


def fields(variant: str) -> AffineFields:
    """Return the vector fields of Eq. (14), theta and phi held."""
    return affine_fields(
        SpinRollingSphere(variant=variant, inputs='virtual_surface', representation='coordinates')
    )


def drift_of(of: AffineFields) -> ca.SX:
    """Return f of Eq. (18)."""
    return ca.SX.zeros(of.x.numel(), 1) if of.drift is None else of.drift


def value(of: AffineFields, expression: ca.SX) -> NDArray[np.float64]:
    """Return an expression at the state of the rows."""
    return np.array(of.function(expression)(STATE, HELD))


def determinant(variant: str) -> float:
    """Return the determinant of {g1, g2, g3, [f, g3], [f, [f, g3]]}."""
    f = fields(variant)
    g1, g2, g3 = (f.fields[n] for n in ('gamma_s', 'beta_s', 'alpha_s'))
    first = lie_bracket(drift_of(f), g3, f.x)
    second = lie_bracket(drift_of(f), first, f.x)
    return float(value(f, ca.det(ca.horzcat(g1, g2, g3, first, second)))[0, 0])


def _drift_rows() -> list[dict[str, Any]]:
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
            'deg',
        ),
        _row(
            'speed of the drift per arc length',
            math.sqrt(2) * abs(math.sin(a)),
            math.hypot(*drift[:2]),
            '',
        ),
        _row(
            'divergence of the drift, (19)',
            math.sin(a) * (math.sin(PSI) + math.cos(PSI)) * math.tan(V_O),
            plain[0, 0],
            '1/m',
        ),
        _row('the same in the volume cos v_o', 0.0, natural[0, 0], '1/m'),
    ]


def _controllability_rows() -> list[dict[str, Any]]:
    a = THETA + PHI
    printed = (
        -2
        * math.sin(V_O)
        / math.cos(V_O) ** 2
        * math.cos(PHI)
        * math.sin(a) ** 3
        * (math.sin(a) + math.cos(a))
    )
    by_rank = lie_algebra(fields('corrected'), depth=3)
    without = lie_algebra(fields('corrected').without('beta_s'), depth=5)
    return [
        _row('determinant (33), size', abs(printed), abs(determinant('corrected')), ''),
        _row('the same, published model', abs(printed), abs(determinant('as_published')), ''),
        _row('rank of the Lie algebra', 5, by_rank.rank(STATE, HELD), ''),
        _row(
            'rank at v_o = 0, where (33) vanishes',
            4,
            by_rank.rank([0, 0, 0.3, 0.0, PSI], HELD),
            '',
        ),
        _row(
            'rank at theta + phi = 0, where (33) vanishes',
            4,
            by_rank.rank(STATE, [RADIUS, -PHI, PHI]),
            '',
        ),
        _row('rank without beta_s, (34)', 4, max(without.generic_growth), ''),
        _row('independent inputs of the transformed model', 5, _independent_inputs(), ''),
    ]


def _independent_inputs() -> int:
    """Return the rank of alpha_s, beta_s, gamma_s, G_f, delta in the rates of the state."""
    system = SpinRollingSphere(
        inputs='direction', independent_variable='time', representation='coordinates'
    )
    x, u, t, p = system.symbols
    slope = ca.Function('slope', [x, u, p], [ca.jacobian(system.mode.dynamics(x, u, t, p), u)])
    matrix = np.array(slope(STATE, [0.3, 0.4, 0.2, 0.5, 0.7], [RADIUS]))
    return int(np.linalg.matrix_rank(matrix, tol=1e-9))


def _curvature_rows() -> list[dict[str, Any]]:
    circle = induced_curvature(Plane(), [RADIUS, 0.0], math.pi / 2, 1 / RADIUS)
    return [
        _row('geodesic curvature of a circle in the plane, (77)', 0.0, circle.k_g, '1/m'),
        _row('normal rate of a disc, (6), gamma_s = 0.5', 1.5, 1 / RADIUS - 0.5, '1/m'),
    ]


def figures(folder: Path) -> list[Path]:
    """Draw figures 4 and 5, as published and corrected, and return the files."""
    from rolling_robotics.reproduce.tafrishi_figures import (  # noqa: PLC0415
        draw_figure_4,
        draw_figure_5,
    )

    folder.mkdir(parents=True, exist_ok=True)
    return [
        draw_figure_4(folder / 'tafrishi_figure_4.png'),
        draw_figure_5(folder / 'tafrishi_figure_5.png'),
    ]
