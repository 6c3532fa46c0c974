# ruff: noqa: ARG005
"""Nothing that no body, no contact and no simulation can be gets through, nor any traceback."""

from contact_samples import ball_state, level_ball, parameters_of, random_state, system_of
import numpy as np
import pytest
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.errors import ParameterError, SimulationError, SurfaceError
from rolling_dynamics.simulation import simulate, Stepper
from rolling_dynamics.surfaces import Cylinder, Ellipsoid, ExpressionSurface, Plane, Sphere, Torus

SYSTEM, P = level_ball()
X = ball_state(SYSTEM, w_HO_H=[0, 1, 0])
BOX = [[1.0, 0.3, 0], [0.2, 1.0, 0], [0, 0, 1.0]]


@pytest.mark.parametrize(
    ('values', 'text'),
    [
        ({'mass': -1}, 'mass must be positive'),
        ({'mass': 0}, 'mass must be positive'),
        ({'mass': float('nan')}, 'mass must be positive'),
        ({'inertia': -1}, 'positive definite'),
        ({'inertia': [1, 1, 3]}, 'exceeds the sum'),
        ({'inertia': BOX}, 'symmetric'),
        ({'inertia': [1, 2]}, 'inertia takes'),
        ({'inertia': [1, np.inf, 1]}, 'finite'),
        ({'gravity_W': [0, 0]}, 'gravity_W takes 3'),
        ({'gravity_W': [0, 0, np.nan]}, 'gravity_W must be finite'),
        ({'mu': -0.1}, 'mu must be zero or positive'),
        ({'mu_spin': np.nan}, 'mu_spin must be zero or positive'),
    ],
)
def test_parameters(values, text):
    with pytest.raises(ParameterError, match=text):
        SYSTEM.pack_parameters(**({'mass': 1.0, 'inertia': 1.0} | values))


@pytest.mark.parametrize(
    ('options', 'error', 'text'),
    [
        ({'friction': 'sticky'}, ParameterError, 'friction must be one of'),
        ({'representation': 'euler'}, ParameterError, 'representation must be one of'),
    ],
)
def test_systems(options, error, text):
    with pytest.raises(error, match=text):
        ContactSystem(Sphere(1), Plane(), **options)


def test_an_object_without_support_function_needs_coordinates():
    with pytest.raises(SurfaceError, match="use the representation 'coordinates'"):
        _ = ContactSystem(Torus(1, 0.2), Plane()).expressions


@pytest.mark.parametrize(
    ('given', 'error', 'text'),
    [
        ({'p': P[:-1]}, ParameterError, 'p takes'),
        ({'p': np.full_like(P, np.nan)}, ParameterError, 'p must be finite'),
        ({'x0': X[:-1]}, ParameterError, 'x0 takes 22 numbers'),
        ({'x0': np.where(np.arange(22) == 3, np.nan, X)}, ParameterError, 'x0 must be finite'),
        ({'x0': np.where(np.arange(22) == 0, 2.0, X)}, ParameterError, 'q_WH must be a unit'),
        ({'control': [0, 0]}, ParameterError, 'control takes 6 numbers'),
        ({'control': [0, 0, 0, 0, 0, np.nan]}, ParameterError, 'finite'),
        ({'control': ([0, 1], np.zeros((3, 6)))}, ParameterError, 'control samples'),
        ({'control': ([1, 0], np.zeros((2, 6)))}, ParameterError, 'must not decrease'),
        ({'control': lambda t: [0, 0]}, ParameterError, 'gave 2 numbers'),
        (
            {'control': lambda t: [np.nan] * 6},
            SimulationError,
            'at t = 0 s the control alpha_WH_H_x is nan',
        ),
        ({'duration': 0}, ParameterError, 'duration must be positive'),
        ({'duration': -1}, ParameterError, 'duration must be positive'),
        ({'duration': float('nan')}, ParameterError, 'duration must be'),
        ({'duration': 'long'}, ParameterError, 'duration must be'),
        ({'t_eval': [0, 2]}, ParameterError, 't_eval takes'),
        ({'t_eval': [0.5, 0.5]}, ParameterError, 't_eval takes'),
        ({'t_eval': []}, ParameterError, 't_eval takes'),
        ({'rtol': 0}, ParameterError, 'rtol must be positive'),
        ({'atol': float('nan')}, ParameterError, 'atol must be positive'),
        ({'method': 'Euler'}, ParameterError, 'method must be one of'),
        ({'mode': 'flying'}, ParameterError, 'mode must be one of'),
        (
            {'events': ('fall',)},
            ParameterError,
            "events: no guard 'fall'; there are: ",
        ),
        ({'events': {'edge': 'explode'}}, ParameterError, 'one of'),
        ({'dense': False}, ParameterError, 't_eval are needed'),
        ({'guards': {'edge': SYSTEM.mode.guards['edge']}}, ParameterError, 'exists already'),
        ({'guards': {'own': SYSTEM.pose}}, ParameterError, 'must be a function'),
    ],
)
def test_simulations(given, error, text):
    arguments = {'p': P, 'x0': X, 'control': None, 'duration': 1.0} | given
    with pytest.raises(error, match=text):
        simulate(SYSTEM, **arguments)


def coordinates_state(system, **values):
    given = {
        'q_WH': [1, 0, 0, 0],
        'p_WH': [0] * 3,
        'contact_o': [1, 0],
        'contact_h': [1, 0],
        'psi': 0.2,
        'w_WH_H': [0] * 3,
        'v_WH_H': [0] * 3,
        'w_HO_Ch': [1, 0, 0],
    }
    return system.state.pack(**(given | values))


@pytest.mark.parametrize(
    ('obj', 'hand', 'text'),
    [
        (Cylinder(0.1), Plane(), 'along a line'),
        (Plane(), Plane(), 'relative curvature|along a line'),
        (Sphere(0.2), Sphere(0.1, side='inside'), 'more curved than the object'),
        (Sphere(0.2), Sphere(0.2, side='inside'), 'along a line|overlap|not finite'),
        (Ellipsoid(0.2, 0.2, 1.0), Sphere(0.5, side='inside'), 'more curved|overlap'),
        (
            ExpressionSurface(['u', 'v', 'u^2 - v^2']),
            Plane(),
            'overlap',
        ),
    ],
)
def test_bodies_that_cannot_roll_on_each_other(obj, hand, text):
    system = ContactSystem(obj, hand, representation='coordinates')
    p = system.pack_parameters(mass=1.0, inertia=1.0)
    with pytest.raises(SurfaceError, match=text):
        simulate(system, p, coordinates_state(system), None, 1.0)


def test_a_start_on_a_pole_is_refused_by_name():
    system = ContactSystem(Sphere(0.2), Plane(), representation='coordinates')
    p = system.pack_parameters(mass=1.0, inertia=1.0)
    with pytest.raises(SurfaceError, match=r"contact_o: sphere: the chart 'z' is degenerate"):
        simulate(system, p, coordinates_state(system, contact_o=[0, 0]), None, 1.0)


def test_spin_in_pure_rolling_is_refused():
    system = system_of('sphere on plane', 'pure_rolling')
    p = parameters_of(system)
    x = random_state(system, p, np.random.default_rng(0))
    x[-1] += 0.1
    with pytest.raises(ParameterError, match='pure rolling has no spin'):
        simulate(system, p, x, None, 1.0)


@pytest.mark.parametrize('dt', [-1.0, float('nan'), float('inf')])
def test_steps(dt):
    stepper = Stepper(SYSTEM, P)
    with pytest.raises(ParameterError, match='dt must be zero or positive'):
        stepper.step(X, np.zeros(6), dt)


def test_stepper_refuses_what_is_not_finite():
    with pytest.raises(ParameterError, match='max_step'):
        Stepper(SYSTEM, P, max_step=0)
    with pytest.raises(ParameterError, match='p takes'):
        Stepper(SYSTEM, P[:-1])
    with pytest.raises(SimulationError, match='no longer finite'):
        Stepper(SYSTEM, P).step(X, np.full(6, np.nan), 1e-3)
    assert np.abs(Stepper(SYSTEM, P).step(X, np.zeros(6), 0.0) - X).max() < 1e-15
