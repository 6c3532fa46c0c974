"""A push of the simulated plant: the impulse of a force through the centre of mass."""

from contact_samples import ball_state
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.surfaces import Ellipsoid, Plane, Sphere

MASS, RADIUS = 0.3, 0.1


def plant(shape, inertia, friction='rolling', **start):
    system = ContactSystem(shape, Plane(), friction=friction)
    p = system.pack_parameters(mass=MASS, inertia=inertia, mu=2.0, mu_spin=1.0)
    return EmulatedObject(system, p, ball_state(system, **start))


def velocity(plant):
    machine = plant.emulation
    w = machine.state.x[machine.system.state.slice('w_HO_H')]
    X = np.array(machine.system.pose(machine.state.x, machine.p)[1])
    return w, (X[:3, :3] @ np.array(plant.observe().object_[10:13]))


def test_ball_takes_of_a_push_along_the_plate_what_its_inertia_leaves():
    ball = plant(Sphere(RADIUS), 0.4 * MASS * RADIUS**2)
    ball.push([0.07, 0.0, 0.0])
    w, v = velocity(ball)
    assert_allclose(v, [0.05, 0.0, 0.0], atol=1e-12)  # 5/7 of it
    assert_allclose(w, [0.0, 0.5, 0.0], atol=1e-12)


@pytest.mark.parametrize('friction', ['rolling', 'pure_rolling'])
def test_push_is_what_a_great_force_does_in_a_short_time(friction):
    inertia, turning = [1e-3, 1.2e-3, 0.9e-3], {'w_HO_H': [0.5, -0.4, 0.0]}
    body = Ellipsoid(0.1, 0.12, 0.09)
    struck, forced = (plant(body, inertia, friction, **turning) for _ in range(2))
    impulse, short = np.array([0.03, -0.05, 0.02]), 1e-6
    struck.push(impulse)
    struck, forced = struck.emulation, forced.emulation
    p = forced.p.copy()
    p[forced.system.parameters.slice('gravity_W')] += impulse / short
    x = Stepper(forced.system, p).step(forced.state.x, forced.u, short, 0.0)
    assert np.linalg.norm(struck.state.x - forced.state.x) > 0.05
    assert_allclose(struck.state.x, x, atol=1e-5)
