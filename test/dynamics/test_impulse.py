"""An impulse on a body, against forces in the equations and by hand."""

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.impulse import Impulse
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation.guards import in_mode, projection

STRUCK = np.array([0.3, -0.2, 0.1])  # N s


def moving(scenario, seed=3):
    d = 0.3 * np.random.default_rng(seed).normal(size=scenario.system.tangent.size)
    return np.array(scenario.system.retract(scenario.x0, d)).ravel()


def test_an_object_on_a_hand_moves_as_forces_on_its_centre_move_it():
    """Gravity is such a force: one more of it does in a second what its impulse does at once."""
    scenario = load_scenario('ball_on_plate_hard')
    system, p, x = scenario.system, np.asarray(scenario.p), moving(scenario)
    impulse, more = Impulse(system, p), p.copy()
    more[system.parameters.slice('gravity_W')] += STRUCK / impulse.mass
    rate, u = next(iter(system.modes.values())).dynamics, np.zeros(system.control.size)
    wanted = x + np.array(rate(x, u, 0.0, more) - rate(x, u, 0.0, p)).ravel()
    assert impulse.body == 'object'
    np.testing.assert_allclose(impulse.after(x, STRUCK), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ('name', 'body'),
    [
        ('pendulum_start', 'shell'),
        ('bicycle', 'front'),
        ('two_wheeler', 'body'),
        ('hamster_ball', 'chassis'),
        ('ball_in_groove', 'ball'),
    ],
)
def test_a_machine_gains_the_energy_of_the_stroke(name, body):
    """By the mean velocity of what is struck, before and after: constraints do no work."""
    scenario = load_scenario(name)
    system, p = scenario.system, np.asarray(scenario.p)
    kept = projection(in_mode(system, next(iter(system.modes))))
    x = moving(scenario)
    for _ in range(5):
        x = np.array(kept(x, p)).ravel()
    impulse = Impulse(system, p, body)
    after = impulse.after(x, STRUCK)
    np.testing.assert_allclose(np.array(kept(after, p)).ravel(), after, rtol=0, atol=1e-10)
    energy = system.invariants['energy']
    u, h = np.zeros(system.control.size), 1e-6
    gained = float(energy(after, u, 0.0, p) - energy(x, u, 0.0, p))
    f, pose = next(iter(system.modes.values())).dynamics, system.pose
    which, centre = pose.name_out().index(body), system.rigid_bodies(p)[body].centre

    def velocity(y):
        a, b = (np.array(pose(y + s * h * np.array(f(y, u, 0.0, p)).ravel(), p)[which])
                for s in (-1, 1))  # fmt: skip
        return ((b - a)[:3, 3] + (b - a)[:3, :3] @ centre) / (2 * h)

    work = STRUCK @ (velocity(x) + velocity(after)) / 2
    assert gained == pytest.approx(work, rel=1e-6)
    assert abs(work) > 1e-4


@pytest.mark.parametrize(
    ('name', 'body', 'text'),
    [
        ('spin_rolling_pure', '', 'cannot be struck'),
        ('pendulum_start', 'wheel', "no body 'wheel' with a mass; there are shell, pendulum"),
    ],
)
def test_what_cannot_be_struck_is_refused(name, body, text):
    scenario = load_scenario(name)
    with pytest.raises(ParameterError, match=text):
        Impulse(scenario.system, scenario.p, body).after(scenario.x0, STRUCK)
