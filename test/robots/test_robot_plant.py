"""A robot that nobody commands comes to rest, and one that leaves its envelope says so."""

import numpy as np
import pytest
from robot_plants import DT, make_plant
from rolling_dynamics.errors import ParameterError, SimulationError


def coast(plant, seconds):
    for _ in range(round(seconds / DT)):
        plant.step(plant.brake(), DT)


@pytest.mark.parametrize('scenario', ['point_mass_straight.yaml', 'point_mass_disk.yaml'])
def test_uncommanded_masses_stop_on_their_rails(scenario):
    """theta' decays with the time constant of the brake, by (1 - dt / T) a step."""
    plant = make_plant(scenario, brake_time=0.05)
    for _ in range(100):
        plant.step(np.full(plant.emulation.u.size, 0.2), DT)
    rates = plant.emulation.state.x[plant.view.system.state.slice('theta_rate')].copy()
    assert rates == pytest.approx(0.02)
    coast(plant, 0.1)
    left = plant.emulation.state.x[plant.view.system.state.slice('theta_rate')]
    assert left == pytest.approx(0.02 * (1 - DT / 0.05) ** 100, rel=1e-6)


def test_the_brake_of_the_pendulum_only_takes_energy_out():
    plant = make_plant('pendulum_torque.yaml')
    energy, machine = plant.view.system.invariants['energy'], plant.emulation

    def present():
        return float(energy(machine.state.x, machine.u, 0.0, machine.p))

    last = present()
    for _ in range(3000):
        plant.step(plant.brake(), DT)
        now = present()
        assert now <= last + 1e-9
        last = now
    assert not plant.fault


def test_an_uncommanded_pendulum_sphere_comes_to_rest():
    plant = make_plant('pendulum_torque.yaml')
    coast(plant, 15.0)
    seen = plant.observe()
    assert np.linalg.norm(seen.velocity) < 1e-3
    assert not plant.fault


def test_an_uncommanded_pendulum_sphere_does_not_roll_down_its_slope():
    plant = make_plant('pendulum_slope.yaml')
    coast(plant, 5.0)
    assert plant.observe().centre[:2] == pytest.approx([0.0, 0.0], abs=1e-9)
    for _ in range(300):  # a free pendulum lets it go
        plant.step(np.zeros(3), DT)
    assert np.linalg.norm(plant.observe().velocity) > 1e-3


def test_an_uncommanded_kinematic_sphere_stands_still():
    plant = make_plant('spin_rolling_ball.yaml')
    assert plant.brake().tolist() == [0.0, 0.0, 0.0]
    assert not plant.shown.has_wrench


def test_controls_are_held_to_the_limits_of_the_scenario():
    plant = make_plant('point_mass_straight.yaml')
    plant.step(np.array([1e9]), 1e-6)
    assert plant.emulation.u.tolist() == [100.0]


@pytest.mark.parametrize('u', [[np.nan], [np.inf], [1.0, 2.0], []])
def test_a_control_that_is_none_is_refused(u):
    plant = make_plant('point_mass_straight.yaml')
    with pytest.raises(ParameterError, match='takes 1 finite numbers'):
        plant.step(np.array(u), DT)


def push(plant, u, most=2000):
    for _ in range(most):
        plant.step(np.asarray(u, dtype=float), DT)
        if plant.fault:
            return
    raise AssertionError('it never left its envelope')


@pytest.mark.parametrize(
    ('scenario', 'u', 'guard', 'mode'),
    [
        ('point_mass_straight.yaml', [100.0], 'friction', 'slipping'),
        ('pendulum_torque.yaml', [0.0, 8.0, 0.0], 'friction', 'slipping'),
        ('point_mass_wind.yaml', [30.0, 0.0], 'stop_1', 'stopped'),
    ],
)
def test_leaving_the_envelope_stops_it_and_names_the_margin(scenario, u, guard, mode):
    plant = make_plant(scenario)
    assert plant.contact_mode == 'rolling'
    push(plant, u)
    assert plant.fault == f'{guard}: the margin falls through zero'
    assert plant.contact_mode == mode
    there, time = plant.observe().x.copy(), plant.time
    plant.step(np.zeros(len(u)), DT)
    assert (plant.observe().x == there).all()
    assert plant.time == pytest.approx(time + DT)
    plant.reset()
    assert (plant.fault, plant.contact_mode) == ('', 'rolling')


def test_lift_off_is_separation():
    """A mass beside the centre that is thrown down takes the weight off the floor at once."""
    plant = make_plant('point_mass_straight.yaml', control_limits=None)
    plant.start[plant.view.system.state.slice('theta')] = 0.0
    plant.reset()
    push(plant, [-150.0])
    assert (plant.fault.split(':')[0], plant.contact_mode) == ('normal_force', 'separated')


def test_two_wheels_carry_the_weight_each_its_half():
    plant = make_plant('two_wheeler.yaml')
    force, mu, X = plant.shown.contact_forces()
    given = plant.view.system.parameters.unpack(plant.emulation.p)
    weight = 9.81 * sum(value[0] for name, value in given.items() if name.endswith('_mass'))
    np.testing.assert_allclose(force, [[0, 0, weight / 2]] * 2, atol=1e-9)
    np.testing.assert_allclose(mu, [given['left_mu'][0], given['right_mu'][0]])
    np.testing.assert_allclose(X[:, :3, 3], [[0, 0.12, 0], [0, -0.12, 0]], atol=1e-12)
    push(plant, [0.2, 0.1])
    force, _, X = plant.shown.contact_forces()
    total = sum(frame[:3, :3] @ f for frame, f in zip(X, force, strict=True))
    summed = X[0, :3, :3] @ plant.observe().wrench[3:]
    np.testing.assert_allclose(total, summed, atol=1e-9)


def test_a_reset_that_does_not_roll_is_refused_and_changes_nothing():
    plant = make_plant('point_mass_wind.yaml')
    plant.start[plant.view.system.state.slice('w_WB_B')] = [0.0, 400.0, 0.0]
    before = plant.observe().x.copy()
    with pytest.raises(SimulationError, match=r'no motion starts here: .* already so'):
        plant.reset(position=(0.1, 0.0))
    assert (plant.observe().x == before).all()
    assert plant.observe().margins['normal_force'] > 0.0


def test_motion_ends_where_the_guard_falls():
    """Not a step later: the margin is zero there."""
    plant = make_plant('point_mass_wind.yaml')
    push(plant, [30.0, 0.0])
    assert plant.emulation.state.t < plant.time
    assert plant.observe().margins['stop_1'] == pytest.approx(0.0, abs=1e-9)


def test_a_sphere_that_has_come_to_rest_does_not_seem_to_turn():
    """Below 5 hundredths of a radius a second the direction of travel says nothing."""
    plant = make_plant('pendulum_slope.yaml')
    for k in range(2000):
        pushed = np.array([0.3 * np.sin(0.01 * k), 0.1, 0.0])
        plant.step(pushed if k < 250 else plant.brake(), 4e-3)
        seen = plant.observe()
        if np.hypot(*seen.velocity[:2]) < 0.05 * plant.view.radius:
            assert seen.yaw_rate == 0.0
    assert seen.yaw_rate == 0.0
