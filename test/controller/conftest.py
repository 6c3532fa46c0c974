"""Plans that several tests follow."""

from pathlib import Path
import sys

import numpy as np
import pytest
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.surfaces import Plane, Sphere
from rolling_planner import plan_rolling, PlanProblem

sys.path.insert(0, str(Path(__file__).parent))  # robot_cases, which test/ros uses too


def ball_on_plate(radius, **options):
    """Return Table II's task: 33 mm in -y, turned by a quarter about x, two tilts of the plate."""
    mass = 0.1
    system = ContactSystem(Sphere(radius), Plane())
    p = system.pack_parameters(mass=mass, inertia=0.4 * mass * radius**2)
    x = system.state.pack(
        q_WH=[1, 0, 0, 0],
        p_WH=np.zeros(3),
        q_HO=[1, 0, 0, 0],
        contact_h=[0, 0],
        w_WH_H=np.zeros(3),
        v_WH_H=np.zeros(3),
        w_HO_H=np.zeros(3),
    )
    goal = {'contact_h': [0, -0.033], 'q_HO': [np.cos(np.pi / 4), np.sin(np.pi / 4), 0, 0]}
    return PlanProblem(
        system=system,
        p=p,
        x_start=x,
        goal=goal,
        horizon=2.0,
        active_controls=('alpha_WH_H_x', 'alpha_WH_H_y'),
        control_limits=50.0,
        **options,
    )


@pytest.fixture(scope='session')
def hard():
    """Return problem and plan of the ball of 0.1 m, which needs a loop."""
    problem = ball_on_plate(0.1)
    return problem, plan_rolling(problem)


@pytest.fixture(scope='session')
def straight():
    """Return problem and plan of the ball that has only to roll straight."""
    problem = ball_on_plate(0.033 / (np.pi / 2))
    return problem, plan_rolling(problem)
